"""One state on the plain and on the symbolic engine: steps, guards and properties, compared.

There are two ways. `folded` puts the values of the state into the walk, which then computes with plain values only.
`solved` walks once with variables for the whole state and the parameters, and asks z3 for the terms at these values.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import z3
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.explorers.symbolic.places import Bag, Cell, Lifting, Rec, Slot, agree, inner, key_under, plain, zero
from fencepost.explorers.symbolic.system import Happening, Move, System
from fencepost.explorers.symbolic.terms import boolean, equal
from fencepost.model.language import Machine, Property
from fencepost.model.language.domains import Domain, InFlight
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key, Record, key_of

from tests.helpers.search import walk


def load(lifting: Lifting, record: type[Record], key: Key) -> Rec:
    made = zero(lifting, record)
    _load(made, key)
    return made


def _load(place: Any, key: Any) -> None:
    if isinstance(place, Cell | Slot):
        place.put(int(key), where=True)
    elif isinstance(place, Bag):
        for slot, value in enumerate(key):
            place.present[slot] = True
            _load(place.slots[slot], value)
    else:
        for item, value in zip(inner(place, len(key)), key, strict=True):
            _load(item, value)


class Outcome(NamedTuple):
    """An engine's result for a step: the refusing guard, whether a bound was left, or the successor."""

    refused: int | None
    cut: bool
    after: Key | None
    judged: tuple[tuple[str, bool], ...]


class Symbols:
    """A machine on both engines, without `normalize`, which is a step of its own."""

    def __init__(self, machine: Machine, values: Mapping[str, int], properties: tuple[Property, ...] = ()) -> None:
        self.machine = machine
        self.constants = machine.set_constants(values)
        self.plain = Interpreter(machine, self.constants, normalize=False)
        self.properties = properties
        self.system = System(machine, self.constants, properties)
        self.guards = guards_of(check(machine, properties))
        self.before = self.system.state("s.")
        self.walked = {move: self.system.happening(self.before, move, "a.") for move in self.system.moves}
        self.judged = {item.name: self.system.holds(item, self.before) for item in properties if not item.over_steps}

    # -- the definition

    def ask_plain(self, key: Key, step: Step) -> Outcome:
        try:
            found = self.plain.apply(key, step)
        except DisabledError as error:
            return Outcome(self.guards.refused(step.action, error), False, None, ())
        except DomainError:
            return Outcome(None, True, None, ())
        judged = [
            (item.name, _or_error(self.plain.holds_step, item, key, found))
            for item in self.properties
            if item.over_steps and (item.on is None or item.on.name == step.action.name)
        ]
        return Outcome(None, False, found.raw, tuple(judged))

    # -- the symbolic engine

    def folded(self, key: Key, step: Step) -> Outcome:
        before = load(self.system.lifting, self.machine.state, key)
        found = self.system.happening(before, Move(step.action, self.choices(key, step)))
        return self.outcome(found, before, bool)

    def solved(self, key: Key, step: Step) -> Outcome:
        """Return z3's result for the terms of the walk with variables."""
        choices = self.choices(key, step)
        move = Move(step.action, tuple(
            choice if isinstance(domain, InFlight) or free is not None else None
            for choice, free, (_, domain) in zip(choices, self.free(step, choices), step.action.params, strict=True)
        ))  # fmt: skip
        found = self.walked[move]
        model = self.model(key, [equal(have, want) for have, want in zip(found.args, choices, strict=True)])
        return self.outcome(
            found, self.before, lambda term: z3.is_true(model.eval(boolean(term), model_completion=True)), model
        )

    def free(self, step: Step, choices: tuple[int, ...]) -> tuple[int | None, ...]:
        """Return the arguments of the move with variables that covers a step."""
        for move in self.walked:
            if move.action is step.action and all(
                have is None or have == want for have, want in zip(move.args, choices, strict=True)
            ):
                return move.args
        raise AssertionError(f"no move is {self.plain.show(step)}")

    def model(self, key: Key, more: list[Any]) -> Any:
        """Return a z3 model in which the state has this content."""
        solver = z3.Solver()
        solver.add(boolean(agree(load(self.system.lifting, self.machine.state, key), self.before)))
        solver.add(boolean(self.system.typed(self.before)), *map(boolean, more))
        assert solver.check() == z3.sat, key
        return solver.model()

    def outcome(self, found: Happening, before: Rec, holds: Callable[[Any], bool], model: Any = None) -> Outcome:
        assert holds(found.present)
        refused = [holds(item) for item in self.system.refusals(found)]
        assert sum(refused) <= 1
        if any(refused):
            return Outcome(refused.index(True), False, None, ())
        assert holds(found.cut) is not holds(found.happens)
        if holds(found.cut):
            return Outcome(None, True, None, ())
        after = key_under(
            found.after,
            lambda term: _number(model, term),
            lambda length: plain(length, lambda term: _number(model, term)),
        )
        judged = [
            (item.name, holds(self.system.holds_step(item, before, found)))
            for item in self.properties
            if item.over_steps and (item.on is None or item.on.name == found.move.action.name)
        ]
        return Outcome(None, False, after, tuple(judged))

    def choices(self, key: Key, step: Step) -> tuple[int, ...]:
        found = []
        state = self.plain.schema.restore(key)
        for (_, domain), value in zip(step.action.params, step.args, strict=True):
            if isinstance(domain, Domain):
                found.append(value)
            else:
                found.append([key_of(item) for item in getattr(state, domain.bag)._items].index(value))
        return tuple(found)

    # -- comparisons

    def compare(self, key: Key, *, solve: bool) -> list[Key]:
        """Compare every step from a state, and every property of it; return the successors."""
        reached = []
        ask = self.solved if solve else self.folded
        for item in self.machine.actions:
            for step in self.plain.steps(item, key):
                expected = self.ask_plain(key, step)
                assert ask(key, step) == expected, f"the engines differ on {self.plain.show(step)} in {key}"
                if expected.after is not None:
                    reached.append(expected.after)
        before = load(self.system.lifting, self.machine.state, key)
        model = self.model(key, []) if solve else None
        for prop in self.properties:
            if not prop.over_steps:
                wanted = _or_error(self.plain.holds, prop, key)
                found = self.judged[prop.name] if solve else self.system.holds(prop, before)
                got = z3.is_true(model.eval(boolean(found), model_completion=True)) if solve else found
                assert got is wanted, f"the engines differ on {prop.name} in {key}"
        if self.machine.normalize is not None and not solve:
            wanted = self.normalized(key)
            happened = self.system.happening(before, self.system.moves[-1])
            assert happened.passes is (wanted is not None), f"the engines differ on an error of normalize in {key}"
            found = key_under(happened.after, int, int) if wanted is not None else None
            assert found == wanted, f"normalize differs in {key}"
            reached = [item for item in map(self.normalized, reached) if item is not None]
        return reached

    def normalized(self, key: Key) -> Key | None:
        state = self.plain.schema.restore(key)
        try:
            self.machine.normalize(state, self.constants)
        except (DomainError, ValueError):
            return None
        return self.plain.schema.key(state)

    def walk(self, steps: int, seed: int, *, solve: bool, longest: int = 60) -> int:
        """Walk at random and compare every state on the way; return the number of different ones."""
        starts = self.plain.initial_states()
        return walk(starts, lambda key, _: self.compare(key, solve=solve), steps, seed, longest)

    def uncovered(self) -> list[str]:
        """Return the moves whose guards and checks z3 does not prove to cover and partition all cases."""
        found = []
        for move, happened in self.walked.items():
            parts = [*self.system.refusals(happened), happened.happens, happened.cut]
            solver = z3.Solver()
            solver.add(boolean(self.system.typed(self.before)), boolean(happened.present))
            covered = z3.Sum(*(z3.If(boolean(part), 1, 0) for part in parts)) == 1
            solver.add(z3.Not(covered))
            if solver.check() != z3.unsat:
                found.append(move.title)
        return found


def _or_error(ask: Callable[..., bool], *given: Any) -> bool:
    """Return what a predicate says; one that ends with an error holds for none."""
    try:
        return ask(*given)
    except DomainError:
        return False


def _number(model: Any, term: Any) -> int:
    found = model.eval(term, model_completion=True)
    return int(z3.is_true(found)) if z3.is_bool(found) else int(found.as_long())
