"""Questions about versions of Kafka, drawn: of the machine that was driven, of variants, edited helpers, any constants.

What was executed is compared with the figures as they are kept, and with the code that was there when this module was
loaded: neither marks nor notes of the product are asked.
"""

import random
import re
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from types import CodeType
from typing import Any
from unittest.mock import patch

from fencepost.api.asking.targets import ask as question_of
from fencepost.api.topics.claims import Executed
from fencepost.api.topics.measured import machine_mark
from fencepost.api.topics.version_notes import executed
from fencepost.explorers.program.removal import guards, without
from fencepost.invariants.figures.store import load
from fencepost.model.cluster import controller
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.language import Machine
from fencepost.model.language.errors import ModelError, UsageError


def codes(machine: Machine) -> set[CodeType]:
    waiting: list[Any] = [machine.normalize, *(item.function for item in (machine.initial, *machine.actions))]
    found = set()
    while waiting:
        code = getattr(function := waiting.pop(), "__code__", None)
        if code is not None and code not in found:
            found.add(code)
            parts = [code, *(item for item in code.co_consts if hasattr(item, "co_names"))]
            waiting += [function.__globals__.get(name) for part in parts for name in part.co_names]
            waiting += [getattr(controller, name, None) for part in parts for name in part.co_names]
    return found


MARK = machine_mark(MACHINE)
CODES = codes(MACHINE)


def unlike(s: Any, c: Any, m: Any) -> bool:
    return bool(m.leader >= -1)


def altered(draw: random.Random) -> tuple[Machine, str]:
    how = draw.randrange(8)
    item = draw.choice(MACHINE.actions)
    if how == 0:
        return MACHINE.replacing(name=draw.choice(["own", MACHINE.name]), sentence="less", **{item.name: None}), ""
    if how == 1:
        return without(MACHINE, draw.choice([guard for guard in guards(MACHINE) if not guard.part])), ""
    if how == 2:
        return MACHINE.replacing(name=MACHINE.name, sentence=MACHINE.sentence, normalize=None), ""
    return MACHINE, draw.choice(["passes_epoch_checks", "is_eligible"]) if how == 3 else ""


def ask(seed: int) -> list[tuple[Executed, str]]:
    assert codes(MACHINE) == CODES, "an earlier question has left its helper in the model"
    draw = random.Random(seed)  # noqa: S311 (no secret)
    machine, helper = altered(draw)
    row = draw.choice(load("measured")["driven"])
    version = draw.choice([f"kafka-{row['release'].rpartition('.')[0]}", draw.choice(MACHINE.versions).name])
    declared = MACHINE.constants.declared()
    names = draw.sample(sorted(declared), draw.choice([0, 0, 1, 1, 2]))
    values = draw.choice([{}, *row["constants"]]) | {
        name: draw.randint(int(declared[name].low), int(declared[name].high)) for name in names
    }
    with patch.object(controller, helper, unlike) if helper else nullcontext():
        try:
            question = question_of(machine, (), constants=values, version=version)
        except (ModelError, UsageError):
            return []
        if executed(question, MARK) is None:  # whatever the machine
            return []
        claim = executed(question, machine_mark(machine))
        return [(claim, refute(machine, version, question.constants.values, claim))] if claim else []


def refute(machine: Machine, version: str, values: Any, claim: Executed) -> str:
    """Return why a machine under these constants is not what was executed, or how the counts differ."""
    if codes(machine) != CODES:
        return "other code was executed"
    rows = [
        (row, graph["constants"])
        for graph in load("measured")["driven"]
        for row in load("conformance")[graph["part"]]
        if row["release"] == graph["release"] and row["release"].rpartition(".")[0] == version.removeprefix("kafka-")
    ]
    usual = {**MACHINE.set_constants({}).values, **MACHINE.version(version).values}
    driven = [{**usual, **given} for given in chain.from_iterable(graphs for _, graphs in rows)]
    for name, value in values.items():
        seen = [int(one[name]) for one in driven]
        number = MACHINE.constants.declared()[name].kind is int
        if value not in seen and not (number and (min(seen) < value < max(seen) or value == 0)):
            return f"{name}={value} was not driven"
    text = "".join(path.read_text() for path in Path(controller.__file__).parent.glob("*.py"))
    bounds = set(re.findall(r"bound=C\.(\w+)", text))
    together = any(
        all(value == one[name] or (name in bounds and value < one[name]) for name, value in values.items())
        for one in driven
    )
    if claim.together is not together:
        return f"all of its constants were {'' if together else 'not '}driven at once"
    found = tuple(
        sum(int(row[key].replace(",", "") or 0) for row, _ in rows) for key in ("steps", "differences", "aside")
    )
    return "" if found == (claim.steps, claim.differences, claim.aside) else f"{found} were counted"
