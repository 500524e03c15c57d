"""Refused models in `tests/refusals/*.txt`, and the messages that they get.

A file holds blocks: a title after `==`, the model, and in it, below the refused line, carets with the reason and what
to write instead. A message without a line comes after `---`. `python -m tests.helpers.refusal` writes them.
"""

import contextlib
import importlib.util
import inspect
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.explorers.program.subset.program import Program, check
from fencepost.model.language import Property, action, always, step
from fencepost.model.language.errors import ModelError

from tests.helpers.blocks import Block, blocks
from tests.helpers.places import ROOT
from tests.refusals import schema

FOLDER = ROOT / "tests" / "refusals"
ACTION = "def act(s, c):\n"
HEAD = """from fencepost.model.language import action, always, bits, choose, fits, require, step
from tests.refusals.schema import *

"""
MARK = re.compile(r"^( *)(\^+|~+) (.*?)(?:(?: |\n *)(Instead, .*))?(?:\n|\Z)", re.MULTILINE)
"""A mark below a line: carets, or tildes if the message shows the line without its indentation, and what it says."""
MESSAGE = re.compile(r"(?:model|lease)\.py:(\d+): (.*)\n  (.*)\n  ( *)(\^+)(?:\n(Instead, .*))?")
COLUMNS = 120


def mark_of(said: re.Match[str], gap: str = "") -> str:
    _, reason, _, indent, carets, instead = said.groups()
    indent = gap + indent
    mark = f"{indent}{'~' * len(carets) if gap else carets} {reason}"
    if instead is None:
        return mark
    return mark + (f" {instead}" if len(f"{mark} {instead}") < COLUMNS else f"\n{indent}{instead}")


def message_of(mark: re.Match[str], file: str, number: int, line: str) -> str:
    indent, carets, reason, instead = mark.groups()
    gap = len(line) - len(line.lstrip()) if "~" in carets else 0
    said = f"{file}:{number}: {reason}\n  {line[gap:]}\n  {indent[gap:]}{'^' * len(carets)}"
    return said + (f"\n{instead}" if instead else "")


class Refusal(NamedTuple):
    title: str
    model: str
    message: str

    @property
    def block(self) -> Block:
        body = self.model.removeprefix(ACTION)
        said = MESSAGE.fullmatch(self.message)
        if said is None:
            return Block(self.title, body, self.message)
        lines = body.split("\n")
        lines.insert(int(said[1]) - HEAD.count("\n") - (body != self.model), mark_of(said))
        return Block(self.title, "\n".join(lines))


def read(path: Path) -> list[Refusal]:
    """Return the blocks of a file; a body without a definition is that of an action."""
    found = []
    for title, text, answer in blocks(path):
        mark, body = MARK.search(text), MARK.sub("", text).rstrip("\n")
        model, message = f"{ACTION}{body}" if body.startswith(" ") else body, answer
        if mark is not None:
            above = f"{HEAD}{ACTION if model != body else ''}{text[: mark.start()]}".splitlines()
            message = message_of(mark, "model.py", len(above), above[-1])
        found.append(Refusal(title, model, message))
    return found


def all_refusals() -> list[Refusal]:
    return [item for path in sorted(FOLDER.glob("*.txt")) for item in read(path)]


def ask(model: str) -> Program:
    """Check a model: `act` is an action, `judge` a property; `initial`, `normalize` and `State` may be its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("model.py").write_text(f"{HEAD}{model}\n")
        name = "refused_model"
        spec = importlib.util.spec_from_file_location(name, Path(folder, "model.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return check(*_machine(vars(module)))


def _machine(names: dict[str, Any]) -> tuple[Any, tuple[Property, ...]]:
    actions: dict[str, Any] = {}
    more: dict[str, Any] = {"state": names["State"], "normalize": names.get("normalize")}
    properties = []
    for name, item in names.items():
        if inspect.isfunction(item) and name in {"act", "initial"}:
            domains = {param: schema.PARAMETERS[param] for param in list(inspect.signature(item).parameters)[2:]}
            (actions if name == "act" else more)[name] = action(**domains)(item)
        elif inspect.isfunction(item) and name == "judge":
            made = step() if next(iter(inspect.signature(item).parameters)) == "before" else always
            properties.append(made(item))
    return replace(schema.machine(**actions), **more), tuple(properties)


def message_for(model: str) -> tuple[str, list[tuple[str, int]]]:
    """Return the message for a model, with the lines of Fencepost that raised it; empty if it is accepted."""
    try:
        ask(model)
    except ModelError as error:
        return str(error), list(_places(error))
    return "", []


def _places(error: BaseException) -> Iterator[tuple[str, int]]:
    trace = error.__traceback__
    while trace is not None:
        yield Path(trace.tb_frame.f_code.co_filename).name, trace.tb_lineno
        trace = trace.tb_next


def main() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        path.write_text("".join(item._replace(message=message_for(item.model)[0]).block.text for item in read(path)))


if __name__ == "__main__":
    main()
