"""Whole machines that engines may get wrong: they get every comparison of the random machines."""

from pathlib import Path

import pytest
from fencepost.explorers.native import store
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.symbolic.proof import Settings, prove
from fencepost.explorers.verdict import Options, Verdict
from fencepost.explorers.walk.walker import Walker
from fencepost.model.language.errors import DomainError, ModelError

from tests.helpers.parameters import few
from tests.helpers.written import HEAD, texts
from tests.random_machines.case import Case, said
from tests.random_machines.comparisons import ALWAYS, SOMETIMES
from tests.random_machines.engines import compare_typed, load

CASES, LIFTED = texts("whole.txt"), texts("lifted.txt")
ASKED = ALWAYS | {name: ask for name, (_, ask) in SOMETIMES.items()}


@pytest.mark.parametrize("text", few(CASES.values(), 8), ids=CASES)
def test_every_engine_says_of_a_hard_machine_what_the_plain_semantics_says(text: str, tmp_path: Path) -> None:
    machine, properties = load(HEAD + text, tmp_path)
    for seed in range(2):  # choices of guards that are turned off
        case = Case(machine, properties, machine.set_constants({}), seed)
        found = {name: ask(case) for name, ask in ASKED.items() if seed == 0 or name == "masks"}
        assert {name: how for name, how in found.items() if how} == {}
    assert not compare_typed(machine, properties)


@pytest.mark.parametrize("name", [name for name in CASES if name.startswith("an error of a ")])
def test_the_error_that_ended_the_search_is_told_in_its_words(name: str, tmp_path: Path) -> None:
    machine, properties = load(HEAD + CASES[name], tmp_path)
    constants = machine.set_constants({})
    expected = said(lambda: plain(machine, constants, properties, Options(workers=1)))["error"]
    assert said(lambda: native(machine, constants, properties, Options(workers=1)))["error"] == expected
    walker = Walker(machine, constants, properties)
    if len(walker.initial) == 1:  # a walk has only one of several states
        with pytest.raises(DomainError) as caught:
            walker.walk(0, 50, seed=0, depth=9)
        assert str(caught.value) == expected


def test_initial_states_find_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(store, "FIRST_SLOTS", 16)
    machine, properties = load(HEAD + CASES["many initial states"], tmp_path)
    found = native(machine, machine.set_constants({}), properties, Options(workers=1))
    assert (found.distinct, found.levels[0], found.properties[0].verdict) == (4096, 4096, Verdict.HOLDS)


@pytest.mark.parametrize("havoc", [False, True])
@pytest.mark.parametrize("text", LIFTED.values(), ids=LIFTED)
def test_what_goes_wrong_with_constants_is_not_proved_without_them(text: str, havoc: bool, tmp_path: Path) -> None:
    machine, properties = load(HEAD + text, tmp_path)
    constants = machine.set_constants({})
    wrong = said(lambda: plain(machine, constants, properties, Options(workers=1)))
    assert "error" in wrong or wrong["properties"][0][1] is Verdict.VIOLATED
    for depth in (None, 6):
        try:
            found = prove(machine, constants, properties, Settings({"n": None}, havoc_loops=havoc, depth=depth))
        except (DomainError, ModelError):  # reported, or refused
            continue
        assert found.verdict is not Verdict.PROVED or ("error" in wrong and found.cuts)
        assert found.verdict is not Verdict.NOT_FOUND
