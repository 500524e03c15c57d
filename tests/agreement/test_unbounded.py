"""Loops and sets that --unbounded leaves without an end may do all that they can, and nothing beyond is proved."""

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import z3
from fencepost.explorers.symbolic import loops
from fencepost.explorers.symbolic.places import agree
from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.explorers.symbolic.system import Happening, System
from fencepost.explorers.symbolic.terms import boolean, choose, endless_members, equal, member, with_member
from fencepost.explorers.verdict import Verdict
from fencepost.model.language import Action, Machine, Property, bits
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import DomainError, ModelError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key

from tests.agreement.test_differential import machine_of
from tests.agreement.test_proofs_of_errors import WAYS, proved
from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import few, words
from tests.helpers.symbols import load
from tests.helpers.written import module_of

sweeper = module_of("""
class C(Constants):
    cells = capacity(2, low=1, high=4, room=1, meaning="cells in the row")
    most = bound(2, low=1, high=9, meaning="the largest number in a cell")
Number = Annotated[int, Range(0, C.most)]
Place = Annotated[int, Range(0, C.cells)]
class State(Record):
    row: Annotated[Array[Number], Size(C.cells)]
    swept_from: Place
    found: Place
    level: Number
    seal: Number
@action()
def initial(s, c):
    s.found = c.cells
def sweep(s, start):
    for place in range(start, len(s.row)):
        s.row[place] = 0
@action(place=Place, number=Number)
def put(s, c, place, number):
    require(place < c.cells)
    s.row[place] = number
    s.swept_from = max(s.swept_from, place + 1)
@action(start=Place)
def clear(s, c, start):
    require(start < c.cells)
    sweep(s, start)
    s.swept_from = min(s.swept_from, start)
@action()
def find(s, c):
    first = c.cells
    for place in range(c.cells):
        if first == c.cells and s.row[place] > 0:
            first = place
    s.found = first
@action(number=Number)
def flatten(s, c, number):
    for place in range(1, c.cells):
        for later in range(place, c.cells):
            if s.row[later] <= number:
                continue
            s.row[later] = number
            s.level = min(number, c.most)
@always
def seal_is_whole(s, c):
    return s.seal == 0
@always
def swept_cells_are_empty(s, c):
    return all(s.row[place] == 0 for place in range(s.swept_from, c.cells))
@always
def first_is_found(s, c):
    return s.found <= c.cells
@always
def never_swept_from_three(s, c):
    return s.swept_from != 3
@action()
def sweep_too_far(s, c):
    for place in range(c.cells):
        s.row[place + 1] = 0
@action()
def fill_too_high(s, c):
    for place in range(c.cells):
        s.row[place] = c.most + 1
        break
@action()
def shift_too_low(s, c):
    for place in range(c.cells):
        s.level = min(1 << 0 - place, c.most)
@action()
def return_early(s, c):
    for place in range(c.cells):
        if s.row[place] > 0:
            s.seal = s.row[place]
            return
MACHINE = Machine("sweeper", "a row of cells is swept", State, C, initial, (put, clear, find, flatten))
PROPERTIES = (seal_is_whole, swept_cells_are_empty, first_is_found)
""")
"""A row of cells that is swept, searched and levelled in loops over all of it."""
SWEEPER = sweeper.__file__
WALKS: dict[str, tuple[dict[str, int], tuple[str, ...], int]] = {
    "sweeper": ({}, ("cells",), 25),
    "kip320": ({"replicas": 2}, ("log_size", "max_leader_epoch"), 25),
    "replication": ({"brokers": 2, "initial_isr": 1}, ("max_records", "max_leader_epoch"), 6),
}
"""By machine: constants, the lifted ones, and steps of the walk."""


def steps_of(plain: Interpreter, walk: int, seed: int) -> Iterator[tuple[Key, Step, Key]]:
    """Yield (state, step, successor) along a random walk, without `normalize`."""
    draw = random.Random(seed)  # noqa: S311 (no secret)
    key = plain.initial_states()[0]
    for _ in range(walk):
        found = [(key, item.step, item.raw) for item in plain.transitions(key)]
        if not found:
            return
        yield from found
        key = draw.choice(found)[2]


class Relation:
    """The terms of every step with some constants lifted, queried for single steps under the given constants."""

    def __init__(self, machine: Machine, values: dict[str, int], lifted: tuple[str, ...]) -> None:
        self.plain = Interpreter(machine, machine.set_constants(values), normalize=False)
        self.system = System(machine, self.plain.constants, (), dict.fromkeys(lifted), havoc_loops=True)
        self.before = self.system.state("s.")
        self.happenings = [self.system.happening(self.before, move, "a.") for move in self.system.moves]

    def allows(self, key: Key, step: Step, after: Key) -> bool:
        return any(self._allows(item, key, step, after) for item in self.happenings if item.move.action is step.action)

    def _allows(self, happened: Happening, key: Key, step: Step, after: Key) -> bool:
        solver = z3.Solver()
        for name, value in self.system.lifting.values.items():
            solver.add(boolean(equal(value, int(self.plain.constants.values[name]))))
        for have, want, (_, domain) in zip(happened.args, step.args, step.action.params, strict=True):
            if not isinstance(domain, InFlight):
                solver.add(boolean(equal(have, want)))
        for state, content in ((self.before, key), (happened.after, after)):
            solver.add(boolean(agree(load(self.system.lifting, self.system.machine.state, content), state)))
        solver.add(boolean(self.system.typed(self.before)), boolean(happened.happens))
        return bool(solver.check() == z3.sat)

    def refused(self, walk: int) -> set[str]:
        """Return the actions of steps along a random walk that the terms forbid."""
        steps = steps_of(self.plain, walk, seed=4)
        return {step.action.label for key, step, after in steps if not self.allows(key, step, after)}


def relation(name: str) -> Relation:
    values, lifted, _ = WALKS[name]
    return Relation(sweeper.MACHINE if name == "sweeper" else machine_of(name)[0], values, lifted)


@pytest.mark.long
@pytest.mark.parametrize("name", few(WALKS, 3))
def test_every_step_of_the_model_is_among_those_after_which_a_loop_may_leave_anything(name: str) -> None:
    found = relation(name)
    assert any(item.forgotten for item in found.happenings)
    assert found.refused(WALKS[name][2]) == set()


PLANTED = {
    "a place that is forgotten to be written": (loops.Journal, "note", lambda *_: None, {"clear"}),
    "a local that keeps what it held": (loops, "_any_value", lambda *_: 0, {"find"}),
}


@pytest.mark.parametrize(("owner", "name", "wrong", "caught"), few(PLANTED.values(), 2, several=True), ids=PLANTED)
def test_a_loop_that_leaves_too_little_is_caught(
    owner: Any, name: str, wrong: Any, caught: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    assert relation("sweeper").refused(WALKS["sweeper"][2]) == caught


def sweep_proof(machine: Machine = sweeper.MACHINE) -> Proof:
    settings = Settings(dict.fromkeys(("cells", "most")), havoc_loops=True)
    return prove(machine, machine.set_constants({}), sweeper.PROPERTIES, settings)


def test_what_no_loop_writes_is_proved_and_what_a_named_one_writes_is_not() -> None:
    found = sweep_proof()
    assert found.of("seal-is-whole").verdict is Verdict.PROVED
    assert found.of("swept-cells-are-empty").verdict is Verdict.UNDETERMINED
    assert found.forgotten == ("find", "flatten", "sweep")


def test_a_step_that_only_such_a_loop_makes_is_not_shown_as_one_of_the_model() -> None:
    asked = words("--property swept-cells-are-empty --unbounded cells,most --havoc-loops --workers 1 --no-cache --json")
    done = fencepost("prove", SWEEPER, *asked, "--reach", "0s")
    assert done.exit_code == 3, done.output
    data = data_of(done)
    assert (data["verdict"], data["havoc_loops"]) == ("undetermined", ["find", "flatten", "sweep"])
    assert "counterexample" not in data


FAULTS = {
    sweeper.sweep_too_far: ("State.row: an index is outside the array", "State.row: index 2 is outside the array"),
    sweeper.fill_too_high: ("State.row leaves its domain", "State.row[0]: 3 is out of its domain"),
    sweeper.shift_too_low: ("a shift by a negative number", "negative shift count"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda item: item.name)
def test_an_error_in_such_a_loop_is_told(fault: Action) -> None:
    machine = sweeper.MACHINE.replacing(name="sweeper", sentence="one action is another", find=fault)
    cut, error = FAULTS[fault]
    settings = Settings({"cells": None}, havoc_loops=True)
    proof = prove(machine, machine.set_constants({}), (sweeper.seal_is_whole,), settings)
    assert proof.cuts[fault.label] == (cut,)
    with pytest.raises(DomainError, match=re.escape(error)):
        proved(machine, sweeper.seal_is_whole, lifted=settings.lifted, havoc_loops=True)


def test_a_loop_without_an_end_that_returns_is_refused_with_its_line() -> None:
    machine = sweeper.MACHINE.replacing(name="sweeper", sentence="one action is another", find=sweeper.return_early)
    with pytest.raises(ModelError, match=r"this unbounded loop returns, or adds or removes messages") as caught:
        sweep_proof(machine)
    assert "for place in range(c.cells):" in str(caught.value)


@pytest.mark.parametrize("way", [("--depth", "2"), ("--k", "2"), ("--every-state",)], ids=" ".join)
def test_runs_of_several_steps_are_refused_with_it(way: tuple[str, ...]) -> None:
    said = refused("prove", SWEEPER, "--unbounded", "cells", "--havoc-loops", *way)
    assert said.startswith(f"fencepost: `--havoc-loops` cannot be combined with `{way[0]}`")


bills = module_of("""
class C(Constants):
    bills = bound(2, low=1, high=5, meaning="bills")
Bill = Annotated[int, Range(0, C.bills)]
class State(Record):
    paid: Annotated[int, BitSet(C.bills + 1)]
@action(bill=Bill)
def pay(s, c, bill):
    require(bill > 0)
    require(not bits.contains(s.paid, bill))
    s.paid = bits.with_member(s.paid, bill)
@action(bill=Bill)
def refund(s, c, bill):
    require(bits.contains(s.paid, bill))
    s.paid = bits.without(s.paid, bill)
@always
def bill_0_is_not_paid(s, c):
    return not bits.contains(s.paid, 0)
@always
def bill_3_is_not_paid(s, c):
    return not bits.contains(s.paid, 3)
@always
def few_are_paid(s, c):
    return bits.size(s.paid) <= 2
@action(bill=Bill)
def pay_the_one_before(s, c, bill):
    s.paid = bits.with_member(s.paid, bill - 1)
@action(bill=Bill)
def refund_the_one_before(s, c, bill):
    s.paid = bits.without(s.paid, bill - 1)
@always
def nothing_changes_without_it(s, c):
    return bits.without(s.paid, -1) == s.paid
@always
def anything(s, c):
    return True
MACHINE = Machine("bills", "bills are paid", State, C, initial, (pay, refund))
""")
MACHINE = bills.MACHINE
ANY = Settings({"bills": None})


def test_what_holds_for_any_member_is_proved() -> None:
    assert prove(MACHINE, MACHINE.set_constants({}), (bills.bill_0_is_not_paid,), ANY).verdict is Verdict.PROVED

    constants, prop = MACHINE.set_constants({}), bills.bill_3_is_not_paid
    assert prove(MACHINE, constants, (prop,), Settings()).verdict is Verdict.PROVED
    proof = prove(MACHINE, constants, (prop,), ANY)
    assert proof.verdict is Verdict.UNDETERMINED
    pair = proved(MACHINE, prop, lifted={"bills": None}).pair
    assert (pair.args, pair.after) == ((3,), (1 << 3,))


def test_the_size_of_such_a_set_is_refused_with_its_line() -> None:
    with pytest.raises(ModelError, match="the symbolic engine has no term for"):
        prove(MACHINE, MACHINE.set_constants({}), (bills.few_are_paid,), ANY)


WRONG = {
    "it is added": (MACHINE.replacing(name="bills", sentence="x", pay=bills.pay_the_one_before), bills.anything),
    "it is taken": (MACHINE.replacing(name="bills", sentence="x", pay=bills.refund_the_one_before), bills.anything),
    "a property asks for it": (MACHINE, bills.nothing_changes_without_it),
}


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("machine", "prop"), WRONG.values(), ids=WRONG)
def test_a_negative_member_of_such_a_set_is_the_error_of_plain_sets(
    machine: Machine, prop: Property, way: dict[str, Any]
) -> None:
    with pytest.raises(DomainError, match="negative shift count"):
        proved(machine, prop, lifted={"bills": None}, **way)


def holds(flag: Any) -> bool:
    solver = z3.Solver()
    solver.add(z3.Not(boolean(flag)))
    return bool(solver.check() == z3.unsat)


def test_members_come_and_go_as_in_plain_sets() -> None:
    draw = random.Random(5)  # noqa: S311 (no secret)
    plain, made = 0b101, endless_members(0b101)
    for _ in range(40):
        item, on, other = draw.randrange(70), draw.random() < 0.7, draw.randrange(70)
        plain = bits.with_member(plain, item) if on else bits.without(plain, item)
        made = with_member(made, item, on=on)
        assert holds(equal(made, plain))
        assert holds(member(made, other)) is bits.contains(plain, other)
        assert not holds(equal(made, plain ^ (1 << other)))
    assert not holds(member(made, -1))
    assert holds(equal(choose(z3.Bool("either"), made, plain), plain))
