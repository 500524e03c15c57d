"""Random machines: they have every construct and every error of the language, and every engine says of them what the
plain semantics says."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.verdict import Verdict
from fencepost.model.language import interpreter, records
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.trees import module_of
from hypothesis import HealthCheck, given, settings

from tests.helpers.parameters import few
from tests.helpers.typed import Machinery, row_of
from tests.random_machines.case import Case, either
from tests.random_machines.choices import shrink
from tests.random_machines.constructs import accepting, lines_of_the_checker, typed_constructs, typed_constructs_of
from tests.random_machines.drawing import Choices, machine_text, machines, numbered
from tests.random_machines.engines import compare_typed, load, with_folder
from tests.random_machines.run import KINDS, added_to, kind_of, look_at, run, summary

TOGETHER = (11, 49, 14, 131, 221, 63, 114, 9, 168)
"""Machines that have every construct between them: `python -m tests.random_machines cover` finds such."""
WRONG = {
    "index": 8,
    "NONE as an index": 40,
    "value": 18,
    "shift by a negative number": 145,
    "number too long": 143,
    "full bag": 156,
    "no such message": 38,
    "full channel": 93,
    "empty channel": 15,
    "no such message in a channel": 1222,
    "negative cost": 529,
}
"""A machine for each kind of runtime error."""
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
    of_python = "str(error) or NO_ROOM"
    assert [
        text
        for text in texts
        if of_python not in text and "was stored where" not in text and "_outside(" not in text and "{what}" not in text
    ] == []


@pytest.mark.parametrize("first", few(range(0, 16, 8), 2))
def test_a_random_machine_means_the_same_as_its_typed_program(first: int) -> None:
    found = {seed: ask(numbered(seed)) for seed in range(first, first + 8)}
    assert {seed: how for seed, how in found.items() if how} == {}
    refused = [seed for seed, how in found.items() if how is None]
    assert len(refused) <= 2, "most of what is drawn is in the language"


@cache
def smallest() -> list[int]:
    """Return the numbers of the hundred machines of the shortest text among the first."""
    return sorted(range(300), key=lambda seed: len(numbered(seed)))[:100]


@pytest.mark.parametrize("part", range(10))
def test_every_engine_says_of_a_random_machine_what_the_plain_semantics_says(part: int, tmp_path: Path) -> None:
    rows = [look_at(seed, tmp_path) for seed in smallest()[part::10]]
    assert {row["seed"]: row["differs"] for row in rows if row.get("differs")} == {}
    assert sum(row.get("compared", 0) for row in rows) > 100


@pytest.mark.parametrize("seed", few([6005274, 6001950, 6006120, 6007815], 4))
def test_what_an_engine_refuses_or_meets_first_is_no_difference(seed: int, tmp_path: Path) -> None:
    """A number without a term, a cost of more than 64 bits, an error in a level that decides, an error of another
    initial state."""
    assert not look_at(seed, tmp_path)["differs"]


@pytest.mark.parametrize(
    ("text", "states", "alike"),
    [("'low': NONE", 2, True), ("'low': NONE", 1, True), ("'low': NONE", 3, False), ("'lower': NONE", 2, False)],
)
def test_a_level_that_decides_a_property_and_has_an_error_of_it_may_be_told_as_either(
    text: str, states: int, *, alike: bool
) -> None:
    error = DomainError(f"property {text} used as an index")
    error.states = ((0,),) * states
    told = {"error": str(error), "raised": error}
    found = {"properties": [("other", Verdict.VIOLATED, 3, None), ("low", Verdict.VIOLATED, 2, None)]}
    assert either(told, found) is either(found, told) is alike
    assert not either(told, told)
    assert not either(found, found)


@settings(max_examples=3, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(machines())
def test_hypothesis_draws_machines(text: str) -> None:
    assert not ask(text)


def test_a_run_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    first = run(3, 1, 60, file)
    with file.open("a") as out:
        out.write('{"seed": 5, "sta')
    with added_to(file), pytest.raises(UsageError, match="in use"):
        run(3, 3, 60, file)
    again = run(3, 3, 60, file)
    assert again[:1] == first
    assert [row["seed"] for row in again] == [3, 4, 5]
    assert summary(again)["machines"] == 3
    assert summary(again)["differences"] == 0


def test_a_number_is_the_same_machine_in_every_process() -> None:
    ask = "from tests.random_machines.drawing import numbered; print([numbered(seed) for seed in range(40)])"
    said = {
        subprocess.run(
            [sys.executable, "-c", ask],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
            timeout=300,
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1


def test_a_machine_is_drawn_again_from_what_was_chosen() -> None:
    choices = Choices(seed=7)
    text = machine_text(choices)
    assert machine_text(Choices(choices.made)) == text
    assert machine_text(Choices([])) != text


def test_a_planted_defect_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    true_add = Machinery.add

    def add(self: Machinery, frame: list[Any], item: nodes.Add) -> None:
        """Put the message in flight before its fields are evaluated."""
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
