"""A machine in the symbolic engine, with initial states, steps and properties as terms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from fencepost.explorers.program.ir.program import Function
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.symbolic.bags import canonical, settle
from fencepost.explorers.symbolic.frames import Check, Refs
from fencepost.explorers.symbolic.places import Bag, Kind, Lifting, Rec, clone, fresh, in_domain, zero
from fencepost.explorers.symbolic.terms import Flag, Value, both, negate, truth
from fencepost.explorers.symbolic.walk import Walk
from fencepost.model.language.actions import Action, Property
from fencepost.model.language.actions import Kind as PropertyKind
from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Domain, Index, InFlight, Member
from fencepost.model.language.domains import Flag as FlagDomain
from fencepost.model.language.errors import UsageError
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Schema

MOST_MOVES = 100_000
"""Maximum number of combinations of an action's parameters, because each one requires a separate walk."""
NORMALIZE = "normalize"
"""Name of the step that only normalizes a state; it follows every action of the machine."""


@dataclass(frozen=True)
class Move:
    """An action with its arguments: numbers, the slot of a message, or None for a parameter that is a variable."""

    action: Action | None
    args: tuple[int | None, ...]

    @property
    def name(self) -> str:
        return NORMALIZE if self.action is None else self.action.label

    @property
    def title(self) -> str:
        if self.action is None:
            return NORMALIZE
        words = [self.action.label]
        for (name, domain), value in zip(self.action.params, self.args, strict=True):
            if isinstance(domain, InFlight):
                words.append(f"{name}=slot {value}")
            elif value is not None:
                words.append(f"{name}={domain.show(value)}")
        return " ".join(words)


@dataclass(frozen=True)
class Happening:
    """A move from a state, with the condition that it is enabled, its guards, its successor, and its checks."""

    move: Move
    args: tuple[Value, ...]
    present: Flag
    """The condition that the move's message is in flight and its variables are in their domains."""
    guards: tuple[Flag, ...]
    after: Rec
    checks: tuple[Check, ...]
    branches: int
    messages: tuple[Rec, ...] = ()
    raw: Rec | None = None
    """If `after` is normalized, the state before `normalize`. Step properties are checked on `raw`."""
    forgotten: tuple[str, ...] = ()
    """Functions whose unbounded loops were havocked."""

    @property
    def enabled(self) -> Flag:
        return both(self.present, *self.guards)

    @property
    def passes(self) -> Flag:
        return both(*(item.passes for item in self.checks))

    @property
    def cut(self) -> Flag:
        """Return the condition that a value leaves its bounds in a guard or a later check (an error in a plain run)."""
        return both(self.present, negate(self.passes))

    @property
    def happens(self) -> Flag:
        return both(self.enabled, self.passes)


class System:
    """A machine with given constants. A lifted constant may have any value that is not below its low bound. With
    `havoc_loops`, everything that a step writes in an unbounded loop has an arbitrary value (see `loops`).
    """

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...] = (),
        lifted: Mapping[str, int | None] | None = None,
        *,
        havoc_loops: bool = False,
    ) -> None:
        self.machine, self.constants, self.properties = machine, constants, properties
        Schema(machine.state, constants)  # raises the ModelError of the plain semantics
        self.lifting = Lifting(constants, lifted or {})
        self.program = translate(machine, properties)
        self.functions = {item.name: self.program.of(item) for item in self.program.actions}
        self.normalize = machine.normalize
        self.havoc_loops = havoc_loops
        self.moves = tuple(self._moves())
        self._before: tuple[Rec, Flag] | None = None

    def about(self, properties: tuple[Property, ...]) -> "System":
        return System(self.machine, self.constants, properties, self.lifting.names, havoc_loops=self.havoc_loops)

    def unlifted(self) -> "System":
        return System(self.machine, self.constants, self.properties)

    def _moves(self) -> Iterator[Move]:
        for item in self.machine.actions:
            yield from self._ways_of(item)
        if self.normalize is not None:
            yield Move(None, ())

    def _ways_of(self, item: Action) -> Iterator[Move]:
        choices = [self._choices(domain) for _, domain in item.params]
        combinations = prod(map(len, choices))
        if combinations > MOST_MOVES:
            raise UsageError(
                f"protocol {self.machine.name!r}: the parameters of action {item.label!r} have {combinations:,} "
                "combinations, and a proof must examine each one: give the parameters smaller domains (at most "
                f"{MOST_MOVES:,} combinations), or use `check`."
            )
        for args in product(*choices):
            yield Move(item, args)

    def _choices(self, domain: Domain | InFlight) -> Sequence[int | None]:
        if isinstance(domain, InFlight):
            bag = zero(self.lifting, self.machine.state).parts[domain.bag]
            return range(len(bag.slots))
        if isinstance(domain, Index | BitSet):
            self.lifting.fixed(domain.count, f"the parameters of {self.machine.name}")
        if isinstance(domain, Index | BitSet | FlagDomain | Member):
            low, high = domain.bounds(self.constants.values)
            return range(max(low, 0) if low == -1 else low, high + 1)
        return [None]

    # -- states

    def state(self, prefix: str) -> Rec:
        made = fresh(self.lifting, self.machine.state, prefix)[0]
        for part in made.parts.values():
            if isinstance(part, Bag):
                part.fact = canonical(part)
        return made

    def require_known(self) -> None:
        """Walk through every step once; raise ModelError, before z3 is used, for anything that is not supported."""
        for move in self.moves:
            self.happening(self.state("s."), move)

    def kept(self) -> tuple[Rec, Flag]:
        """Return a state of variables, and the condition that every state property holds in it. Both are cached."""
        if self._before is None:
            before = self.state("s.")
            held = both(*(self.holds(item, before) for item in self.properties if item.kind is PropertyKind.ALWAYS))
            self._before = before, held
        return self._before

    def typed(self, state: Rec) -> Flag:
        return both(in_domain(state), self.lifting.domain())

    def initial(self) -> Iterator[Happening]:
        item = self.machine.initial
        before = zero(self.lifting, self.machine.state)
        for move in self._ways_of(item):
            yield self.happening(before, move, "initial.")

    def starts(self) -> list[Happening]:
        return [self.normalized(found, "initial.") for found in self.initial()]

    def normalized(self, found: Happening, prefix: str) -> Happening:
        """Return a move that leads to the normalized state. Step properties are checked on `raw`."""
        if self.normalize is None:
            return found
        then = self.happening(found.after, self.moves[-1], f"{prefix}{NORMALIZE}.")
        checks = (replace(item, where=both(found.enabled, item.where)) for item in then.checks)
        return replace(
            found,
            present=both(found.present, then.present),
            after=then.after,
            checks=(*found.checks, *checks),
            branches=found.branches + then.branches,
            raw=found.after,
            forgotten=tuple(dict.fromkeys([*found.forgotten, *then.forgotten])),
        )

    def happening(self, before: Rec, move: Move, prefix: str = "") -> Happening:
        state = clone(before)
        run = Walk(self.program, self.lifting.values, havoc_loops=self.havoc_loops, prefix=prefix)
        present: Flag = True
        args: list[Any] = []
        values: list[Value] = []
        messages: list[Rec] = []
        params = move.action.params if move.action is not None else ()
        for (name, domain), chosen in zip(params, move.args, strict=True):
            value: Value = chosen
            if isinstance(domain, InFlight):
                assert chosen is not None
                bag: Bag = state.parts[domain.bag]
                present = both(present, bag.present[chosen])
                bag.present[chosen] = True
                message = clone(bag.slots[chosen])
                message.origin = chosen
                messages.append(message)
                args.append(Refs(((True, message),)))
            elif chosen is None:
                label = f"{move.action.name if move.action else ''}.{name}"
                kind = self.lifting.kind(label, domain)
                kind = Kind(kind.label, 0 if kind.low == -1 else kind.low, kind.high)
                value = kind.fresh(f"{prefix}{label}")
                present = both(present, kind.domain(value))
                args.append(value)
            else:
                args.append(bool(chosen) if isinstance(domain, FlagDomain) else chosen)
            values.append(value)
        run.call(self._function(move), [Refs(((True, state),)), *args], True)
        state.parts.update({name: settle(part) for name, part in state.parts.items() if isinstance(part, Bag)})
        return Happening(
            move,
            tuple(values),
            both(present, *run.facts),
            tuple(run.guards),
            state,
            tuple(run.checks),
            run.branches,
            tuple(map(clone, messages)),
            forgotten=tuple(run.forgotten),
        )

    def _function(self, move: Move) -> Function:
        if move.action is None:
            assert self.program.normalize is not None
            return self.program.functions[self.program.normalize]
        is_start = move.action is self.machine.initial
        return self.program.of(self.program.initial) if is_start else self.functions[move.action.name]

    # -- properties

    def holds(self, prop: Property, state: Rec) -> Flag:
        return self._ask(prop, [Refs(((True, state),))])

    def holds_step(self, prop: Property, before: Rec, happened: Happening) -> Flag:
        """Return the condition that a step property holds for a move; for moves of other actions, it is true."""
        move = happened.move
        if move.action is None or (prop.on is not None and prop.on.name != move.action.name):
            return True
        arguments: list[Any] = [Refs(((True, before),)), Refs(((True, happened.raw or happened.after),))]
        if prop.on is not None:
            messages = iter(happened.messages)
            for (_, domain), value in zip(move.action.params, happened.args, strict=True):
                arguments.append(Refs(((True, next(messages)),)) if isinstance(domain, InFlight) else value)
        return self._ask(prop, arguments)

    def _ask(self, prop: Property, arguments: list[Any]) -> Flag:
        run = Walk(self.program, self.lifting.values)
        found = truth(run.call(self.program.functions[self.program.properties[prop.name]], arguments, True))
        return both(found, *(item.passes for item in run.checks))

    def refusals(self, happened: Happening) -> list[Flag]:
        """Return, for every guard, the condition that it is the first to refuse, before any value leaves its bounds."""
        found = []
        before = both(happened.present, happened.passes)
        for item in happened.guards:
            found.append(both(before, negate(item)))
            before = both(before, item)
        return found
