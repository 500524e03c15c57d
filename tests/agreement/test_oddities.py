"""Small models of errors that engines make: the symbolic engine has the successors, guards and errors of the plain one.

States enter the walk as plain values, and the first ones also as values of z3's variables.
"""

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import pytest
from fencepost.model.language import Machine, Property

from tests.helpers.blocks import blocks
from tests.helpers.parameters import few
from tests.helpers.places import MODELS
from tests.helpers.symbols import Symbols
from tests.machines import odd_schema as schema

CASES = {block.title: f"{block.body}\n" for block in blocks(MODELS / "symbolic.txt")}
STATES, SOLVED = 24, 8
"""Number of states of each model that are compared, and of those checked with z3."""


def model_of(text: str, folder: Path) -> tuple[Machine, tuple[Property, ...]]:
    """Return the machine whose only action is `go`, with its properties: `judge` of states, `judge_step` of steps."""
    file = folder / "model.py"
    file.write_text(f"from tests.machines.odd_schema import *\n\n\n{text}")
    spec = importlib.util.spec_from_file_location("odd_model", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    known: dict[str, Any] = {**schema.PARAMETERS, **schema.RECEIVED}
    go = schema.action(**{name: known[name] for name in list(inspect.signature(module.go).parameters)[2:]})(module.go)
    properties = []
    if hasattr(module, "judge"):
        properties.append(schema.always(module.judge))
    if hasattr(module, "judge_step"):
        properties.append(schema.step(on=go)(module.judge_step))
    normalize = getattr(module, "normalize", None)
    machine = schema.Machine("odd", "an odd model", schema.State, schema.C, schema.initial, (go,), normalize=normalize)
    return machine, tuple(properties)


@pytest.mark.parametrize("text", few(CASES.values(), 3), ids=CASES)
def test_engines_agree_on_every_state_of_an_odd_model(text: str, tmp_path: Path) -> None:
    machine, properties = model_of(text, tmp_path)
    symbols = Symbols(machine, {}, properties)
    waiting = symbols.plain.initial_states()
    seen = set(waiting)
    for number, key in enumerate(waiting):
        for solve in (False, True) if number < SOLVED else (False,):
            for after in symbols.compare(key, solve=solve):
                if after not in seen and len(seen) < STATES:
                    seen.add(after)
                    waiting.append(after)
