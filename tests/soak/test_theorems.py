"""The proofs of the catalogue: lemmas hold in all visited states, proofs succeed, twins fail."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import z3
from fencepost.api.calls.theorems import settings_of, twin_fails
from fencepost.explorers.plain import search
from fencepost.explorers.symbolic.proof import prove
from fencepost.explorers.symbolic.system import System
from fencepost.explorers.symbolic.terms import boolean, equal, negate
from fencepost.explorers.verdict import Verdict
from fencepost.invariants import lineage_lemmas
from fencepost.invariants.catalogue import entries
from fencepost.invariants.protocols import protocol
from fencepost.invariants.quorum_lemmas import LAST
from fencepost.invariants.theorems import LEMMAS, THEOREMS, Theorem, theorem
from fencepost.model.language import Property, always
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.leader import is_behind
from fencepost.model.quorum.state import State
from fencepost.site import stale
from fencepost.site.figures import measured_proofs

from tests.helpers.commands import data_of, fencepost
from tests.helpers.parameters import words
from tests.helpers.symbols import load
from tests.unit.explorers.test_prove import REGISTER

QUICK = (
    "kip320-one-leader", "kip320-high-watermark", "kip320-leader-in-isr", "kip1166-parking", "token-store-algebra",
    "token-store-grows",
)  # fmt: skip
"""Proofs of a second or two; `fencepost prove` makes all of them."""
BY_ID = {item.name: item for item in THEOREMS}


def reached(name: str, values: dict[str, int], steps: int) -> Iterator[Key]:
    machine = protocol(name).machine
    plain, draw = Interpreter(machine, machine.set_constants(values)), random.Random(steps)  # noqa: S311 (no secret)
    known: set[Key] = set()
    key = start = plain.initial_states()[0]
    for step in range(steps):
        if key not in known:
            known.add(key)
            yield key
        after = [item.after for item in plain.transitions(key)]
        key = draw.choice(after) if after and step % 60 else start


@pytest.mark.parametrize("name", QUICK)
def test_the_proof_goes_through_and_its_twin_fails_at_the_rule_that_is_broken(name: str) -> None:
    item = BY_ID[name]
    settings = settings_of(item, timeout=60.0, workers=1)
    machine = item.found.machine
    proof = prove(machine, machine.set_constants(item.constants), item.properties, settings)
    assert {found.verdict for found in proof.findings} == {Verdict.PROVED}
    other = item.twin.machine or machine
    twin = prove(other, other.set_constants({**item.constants, **item.twin.constants}), item.properties, settings)
    assert twin_fails(item, twin)


def test_all_lemmas_of_kip320_hold_in_every_reachable_state() -> None:
    found = protocol("kip320").machine
    small = found.set_constants({"replicas": 2, "max_leader_epoch": 1})
    result = search(found, small, lineage_lemmas.LEMMAS)
    assert result.complete
    assert {item.name: item.verdict for item in result.properties if item.verdict is not Verdict.HOLDS} == {}


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    [
        ("replication", {"brokers": 2, "initial_isr": 1, "crashes": 2, "fences": 2}, 400),
        ("replication", {"brokers": 3}, 200),
        ("quorum", {}, 150),
        ("metadata-reads", {"exports": 1, "component_reads": 1}, 400),
    ],
)
def test_lemmas_hold_in_every_state_of_a_random_walk(name: str, values: dict[str, int], steps: int) -> None:
    machine = protocol(name).machine
    plain = Interpreter(machine, machine.set_constants(values))
    lemmas = [item for item in LEMMAS[name] if not item.over_steps]
    for key in reached(name, values, steps):
        assert [item.name for item in lemmas if not plain.holds(item, key)] == []


def test_predicates_over_epochs_without_a_bound_mean_what_they_mean_with_one() -> None:
    values = {"replicas": 2}
    machine = protocol("kip320").machine
    constants = machine.set_constants(values)
    plain = Interpreter(machine, constants)
    lemmas: tuple[Property, ...] = lineage_lemmas.LEMMAS
    system = System(machine, constants, lemmas, {"max_leader_epoch": None})
    value = equal(system.lifting.values["max_leader_epoch"], constants.values["max_leader_epoch"])
    for key in list(reached("kip320", values, 300))[::12]:
        for changed in (key, _disturbed(key)):
            state = load(system.lifting, machine.state, changed)
            for item in lemmas:
                wanted = system.holds(item, state)
                solver = z3.Solver()
                solver.add(boolean(value), boolean(negate(wanted) if plain.holds(item, changed) else wanted))
                assert solver.check() == z3.unsat, (item.name, changed)


def _disturbed(key: Any) -> Any:
    """Return a state in which the first decision has another leader and an empty ISR: some lemmas fail in it."""
    replicas, written, epoch, request, *rest = key
    return (replicas, written, epoch, ((1 - max(request[0][0], 0), 0), *request[1:]), *rest)


@pytest.mark.parametrize("item", THEOREMS, ids=lambda item: item.name)
def test_a_theorem_names_what_exists_and_the_page_shows_a_proof_whose_twin_fails(item: Theorem) -> None:
    assert theorem(item.name) is item
    assert [found.name for found in item.properties] == list(item.goals + item.lemmas)
    assert [name for name in item.entries if name not in entries()] == []
    assert item.twin.machine is not None or item.twin.constants
    measured = measured_proofs()[item.name]
    assert (measured["verdict"], measured["twin"]["fails_as_expected"]) == ("proved", True)


def test_a_proof_of_another_question_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    known = measured_proofs()
    before = "".join(stale.stale_proofs())
    name = next(item.name for item in THEOREMS if item.name not in before)
    changed = {**known, name: {**known[name], "digest": "of another model"}}
    monkeypatch.setattr(stale, "measured_proofs", lambda: changed)
    (line,) = stale.stale_proofs()
    assert line.startswith("stale: invariants/figures/proofs.json: ")
    assert name in line


ENDS = {
    "the last offset, and no field": (LAST - 1, 1, -1, False),
    "the last offset, reported": (LAST - 1, 2, LAST - 1, False),
    "the last offset, and one less reported": (LAST - 1, 2, LAST - 2, True),
    "the last offset, and unknown reported": (LAST - 1, 2, -1, True),
    "the first offset, and the last reported": (0, 2, LAST - 1, False),
    "the first offset, and unknown reported": (0, 2, -1, True),
    "unknown, and unknown reported": (-1, 2, -1, False),
}
"""The high watermark of leader 0, the follower (only 2 knows version 18), its own, and whether it is behind."""


@always
def first_is_behind(s: State, c: C) -> bool:
    """Node 1, which does not know version 18, is behind node 0."""
    return is_behind(s, c, 0, 1)


@always
def second_is_behind(s: State, c: C) -> bool:
    """Node 2, which knows version 18, is behind node 0."""
    return is_behind(s, c, 0, 2)


@pytest.mark.parametrize("case", ENDS.values(), ids=ENDS)
def test_the_parking_rule_is_asked_about_both_ends_of_64_bits(case: tuple[int, int, int, bool]) -> None:
    leader, follower, own, behind = case
    item = BY_ID["kip1166-parking"]
    machine = item.found.machine
    questions = (first_is_behind, second_is_behind)
    system = System(machine, machine.set_constants(item.constants), questions, item.unbounded)
    state = system.state("s.")
    nodes = state.parts["node"].items
    lifted = system.lifting.values["max_records"]
    given = [(lifted, item.unbounded["max_records"]), (nodes[follower].parts["leader"].value, 0)]
    given += [(nodes[node].parts["high_watermark"].value, value) for node, value in ((0, leader), (follower, own))]
    solver = z3.Solver()
    solver.add(boolean(system.typed(state)), *(boolean(equal(*pair)) for pair in given))
    assert solver.check() == z3.sat
    asked = boolean(system.holds(questions[follower - 1], state))
    assert solver.check(asked) == (z3.sat if behind else z3.unsat)
    assert solver.check(z3.Not(asked)) == (z3.unsat if behind else z3.sat)


def test_lemmas_are_found_for_a_property_that_is_not_inductive() -> None:
    register = words(f"prove {REGISTER} --property first-is-empty --workers 1 --quiet --json --no-cache --strengthen")
    done = fencepost(*register)
    assert done.exit_code == 0, done.output
    assert (data_of(done)["verdict"], data_of(done)["lemmas"]) == ("proved", ["s.second <= s.first"])
