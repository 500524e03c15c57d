"""Mistakes that a Python programmer makes in a first model, each with the whole of its answer.

Each is an edit of `lease.py`. A file holds blocks: a title after `==`, the edit as a diff, and in it, below the line
that is answered, carets with the reason and what to write instead; an answer that is not about one of these lines
stands after `---`. `python -m tests.mistakes` writes the answers again.
"""

import contextlib
import difflib
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fencepost.api.asking.model_files import load_protocol
from fencepost.cli.failures import explain
from fencepost.explorers.program.subset.program import check
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.errors import FencepostError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.blocks import Block, blocks
from tests.helpers.refusal import MARK, MESSAGE, mark_of, message_of

FOLDER = Path(__file__).parent
FEW = 20
"""States of a model that are looked at."""
MODEL = (FOLDER / "lease.py").read_text()


class Mistake(NamedTuple):
    """One edit of the model, and the answer that it gets."""

    title: str
    old: str
    new: str
    answer: str

    @property
    def block(self) -> Block:
        old, new = self.old.split("\n"), self.new.split("\n")
        edit = list(difflib.unified_diff(old, new, n=len(old), lineterm=""))[3:]
        said = MESSAGE.fullmatch(self.answer)
        place = int(said[1]) - first_line(self.old) if said else -1
        if said is None or not 0 <= place < len(new):
            return Block(self.title, "\n".join(edit), self.answer)
        below = [at for at, line in enumerate(edit, 1) if line[0] != "-"][place]
        mark = mark_of(said, new[place].removesuffix(said[3]))
        return Block(self.title, "\n".join([*edit[:below], *(f" {line}" for line in mark.split("\n")), *edit[below:]]))


def first_line(old: str) -> int:
    """Return the number of the line of the model at which an edit begins."""
    return MODEL[: MODEL.index(old)].count("\n") + 1


def read(path: Path) -> Iterator[Mistake]:
    for title, edit, given in blocks(path):
        answer = given
        old, new = ("\n".join(re.findall(f"^[{sign} ](.*)", MARK.sub("", edit), re.MULTILINE)) for sign in "-+")
        mark = MARK.search(re.sub("^.", "", edit, flags=re.MULTILINE))
        if mark is not None:
            above = MARK.split(edit)[0].split("\n")[:-1]
            shown = [line[1:] for line in above if line[0] != "-"]
            answer = message_of(mark, "lease.py", first_line(old) + len(shown) - 1, shown[-1])
        yield Mistake(title, old, new, answer)


def every() -> list[Mistake]:
    return [item for path in sorted(FOLDER.glob("*.txt")) for item in read(path)]


def answer(item: Mistake) -> str:
    """Return what Fencepost says of a model with a mistake; empty if it accepts it."""
    assert MODEL.count(item.old) == 1, item.title
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("lease.py").write_text(MODEL.replace(item.old, item.new))
        try:
            found = load_protocol(Path("lease.py"))
            check(found.machine, found.properties)
            _take_some_steps(found)
        except FencepostError as error:
            return explain(error)[1]
        finally:
            sys.modules.pop("fencepost_user_lease", None)
    return ""


def _take_some_steps(found: Protocol) -> None:
    """Run a model that was accepted, for what is only seen then; no engine is needed for it."""
    plain = Interpreter(found.machine, found.machine.set_constants({}))
    waiting = plain.initial_states()
    for state in waiting:
        for item in plain.transitions(state):
            waiting += [item.after] if item.after not in waiting and len(waiting) < FEW else []
        for prop in found.properties:
            if prop.eventual is None and not prop.over_steps:
                plain.holds(prop, state)


def main() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        path.write_text("".join(item._replace(answer=answer(item)).block.text for item in read(path)))
