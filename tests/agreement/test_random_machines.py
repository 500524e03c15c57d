"""Random machines: they contain every construct and every error of the language, and every engine agrees with the plain
semantics.
"""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.program.ir import nodes
from fencepost.model.language import interpreter, records
from fencepost.model.language.trees import module_of

from tests.helpers.parameters import few
from tests.helpers.typed import Machinery, row_of
from tests.random_machines.case import Case
from tests.random_machines.choices import shrink
from tests.random_machines.constructs import accepting, lines_of_the_checker, typed_constructs, typed_constructs_of
from tests.random_machines.drawing import Choices, machine_text, numbered
from tests.random_machines.engines import compare_typed, load, with_folder
from tests.random_machines.run import KINDS, kind_of, look_at

TOGETHER = (11, 49, 14, 131, 221, 63, 114, 9, 168)
"""Machines that together contain every construct: `python -m tests.random_machines cover` finds such a set."""
WRONG = {
    "index": 8, "NONE as an index": 40, "value": 18, "shift by a negative number": 145, "number too long": 143,
    "full bag": 156, "no such message": 38, "full channel": 93, "empty channel": 15,
    "no such message in a channel": 1222, "negative cost": 529,
}  # fmt: skip
"""A machine for each kind of runtime error."""
SMALLEST = (
    2, 4, 7, 8, 9, 14, 15, 17, 19, 25, 26, 27, 43, 45, 46, 49, 51, 52, 58, 59, 66, 67, 69, 70, 71, 77, 82, 87, 93,
    95, 97, 98, 101, 104, 107, 109, 113, 118, 122, 124, 133, 134, 138, 141, 142, 149, 155, 157, 166, 169, 172, 173,
    174, 177, 184, 191, 201, 202, 213, 215, 219, 221, 223, 225, 227, 229, 230, 233, 235, 239, 241, 243, 244, 249,
    251, 254, 258, 259, 262, 263, 267, 268, 270, 277, 278, 281, 284, 285, 286, 287, 291, 294, 306, 308, 315, 316,
    323, 325, 327, 329,
)  # fmt: skip
"""The hundred of the first 325 machines that are compared soonest: with 40 states or more, or with an error."""
ask = with_folder(compare_typed)


def test_machines_have_every_construct_of_the_language(tmp_path: Path) -> None:
    lines, typed = set(), set()
    for seed in TOGETHER:
        with lines_of_the_checker() as seen:
            machine, properties = load(numbered(seed), tmp_path)
        lines |= seen
        typed |= typed_constructs_of(machine, properties)
    assert accepting() - lines == set(), "lines of the checker that accept what no random machine has"
    assert typed_constructs() - typed == set()


def test_machines_meet_every_kind_of_runtime_error(tmp_path: Path) -> None:
    met = set()
    for seed in WRONG.values():
        machine, properties = load(numbered(seed), tmp_path)
        met.add(kind_of(Case(machine, properties, machine.set_constants({}), seed).expected["error"]))
    assert met == set(KINDS) == set(WRONG)


def test_every_runtime_error_is_of_a_known_kind() -> None:
    raised = {
        ast.unparse(node.exc.args[0])
        for module in (records, interpreter)
        for node in ast.walk(module_of(Path(module.__file__).read_text("utf-8")))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and ast.unparse(node.exc.func) == "DomainError"
    }
    texts = [text for text in raised if not any(re.search(pattern, text) for pattern in KINDS.values())]
    elsewhere = "str(error) or NO_ROOM", "was stored where", "_outside(", "of_full_bag(", "{what}"
    assert [text for text in texts if not any(part in text for part in elsewhere)] == []


@pytest.mark.parametrize("first", few(range(0, 16, 4), 4))
def test_a_random_machine_means_the_same_as_its_typed_program(first: int) -> None:
    found = {seed: ask(numbered(seed)) for seed in range(first, first + 4)}
    assert {seed: how for seed, how in found.items() if how} == {}
    refused = [seed for seed, how in found.items() if how is None]
    assert len(refused) <= 1, "most of what is drawn is in the language"


@pytest.mark.parametrize("part", range(10))
def test_every_engine_says_of_a_random_machine_what_the_plain_semantics_says(part: int, tmp_path: Path) -> None:
    rows = [look_at(seed, tmp_path) for seed in SMALLEST[part::10]]
    assert {row["seed"]: row["differs"] for row in rows if row.get("differs")} == {}
    assert sum(row.get("compared", 0) for row in rows) > 100


@pytest.mark.parametrize("seed", few([6005274, 6001950, 6006120, 6007815], 4))
def test_what_an_engine_refuses_or_meets_first_is_no_difference(seed: int, tmp_path: Path) -> None:
    """The cases: a number without a term, a cost of more than 64 bits, an error in a level that decides, an error of
    another initial state.
    """
    assert not look_at(seed, tmp_path)["differs"]


def test_a_planted_defect_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    true_add = Machinery.add

    def add(self: Machinery, frame: list[Any], item: nodes.Add) -> None:
        """Add the message before its fields are evaluated."""
        bag = self.value(frame, item.bag)
        bag.items.append(row_of(bag.kind.record, self.zero(bag.kind.record), bag.path))
        for fill in item.fills:
            self.value(frame, fill.value)
        bag.items.pop()
        true_add(self, frame, item)

    monkeypatch.setattr(Machinery, "add", add)
    seed = next(seed for seed in (45, *range(60)) if ask(numbered(seed)))
    choices = Choices(seed=seed)
    whole = machine_text(choices)
    small = machine_text(Choices(shrink(choices.made, lambda given: bool(ask(machine_text(Choices(given)))), 25)))
    assert ask(small)
    assert len(small) < len(whole) * 0.8
