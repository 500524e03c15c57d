"""Evaluation of an action's guards in columns, for several states at once; then the surviving steps are executed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from fencepost.explorers.native.layout import BITS
from fencepost.explorers.native.llvm.builder import counted
from fencepost.explorers.native.llvm.types import CELLS, Sort, Struct, Value, Vector, number
from fencepost.explorers.native.lower.choosing import Choosing
from fencepost.explorers.native.lower.columns import Columns
from fencepost.explorers.native.lower.lanes import LANES, Places, Thing, Unsuited
from fencepost.explorers.program.ir.nest import Compute, Guarded, Over
from fencepost.explorers.program.ir.nodes import Slot
from fencepost.explorers.program.ir.program import Parameter
from fencepost.model.language.domains import InFlight

MOST_WORDS = 8
"""Columns are not used if an action's parameter combinations take more than this many words."""
_CELL = CELLS["i64"]


class Sifted(Choosing, ABC):
    """An action's function whose guards are evaluated in columns. `Acting` documents the methods."""

    given: dict[str, Value]
    counters: dict[int, str]
    waiting: str | None

    @abstractmethod
    def enter(self, at: Value) -> None: ...

    @abstractmethod
    def step(self, place: int, following: str, effect: str) -> None: ...

    @abstractmethod
    def refuse(self, node: Guarded, times: Value) -> None: ...

    @abstractmethod
    def times(self, node: Guarded) -> Value: ...


class GroupSpace(NamedTuple):
    states: str
    """Bit mask of states with a surviving choice."""
    many: str
    """The largest number of choices that survive in a single state."""
    bits: str
    """The surviving choices of each state."""
    choices: str


class Sieve:
    def __init__(self, acting: Sifted) -> None:
        self.acting, self.build, self.module = acting, acting.build, acting.module
        self.columns = Columns(acting.module, acting.build, acting.e, acting.c)
        self.steps = acting.nest.steps
        self.most = prod(self.extent(item.parameter) for item in self.steps if isinstance(item, Over))
        self.words = -(-self.most // BITS)
        self.chosen: list[tuple[Parameter, Value]] = []
        self.rest = 0
        """The first step of the loop nest that is executed for each state separately."""
        self.ends = False
        """Whether one of the guards evaluated in columns never holds, so that no step survives."""
        self.group = number(0)
        """Index of the group's first state within the block."""

    def extent(self, parameter: Parameter) -> int:
        if not isinstance(parameter.domain, InFlight):
            return self.module.shape.most(parameter.domain)
        _, items = self.bag(self.module.state, parameter.domain).fields["items"]
        assert isinstance(items, Vector)
        return items.count

    def bag(self, state: Struct, domain: InFlight) -> Struct:
        found = state.fields[domain.bag][1]
        assert isinstance(found, Struct)
        return found

    def write(self, effect: str) -> bool:
        """Write the action for all states of the block. If columns would be slower, write nothing and return False."""
        if not self.module.in_columns or not 0 < self.words <= MOST_WORDS:
            return False
        before = self.mark()
        kept = self.room()
        groups = self.build.shifted(
            ">>", self.build.wrapped("+", self.acting.given["size"], number(LANES - 1)), number(4)
        )
        with counted(self.build, number(0), groups) as item:
            done = self.build.label()
            found = self.sift(item.at, kept, done)
            self.build.begin(done)
            if found and not self.ends:
                self.take(kept, effect)
        if not found:
            self.undo(before)
        return found

    def room(self) -> GroupSpace:
        build = self.build
        bits, choices = (
            build.room(8 * LANES * self.words),
            build.room(8 * self.most * max(1, len(self.acting.nest.parameters))),
        )
        for place in range(LANES * self.words):
            build.emit(f"store i64 0, ptr {build.offset(bits, 8 * place)}, align 8")
        return GroupSpace(build.slot(Sort.NUMBER), build.slot(Sort.NUMBER), bits, choices)

    # -- in columns

    def sift(self, place: Value, kept: GroupSpace, done: str) -> bool:
        """Keep the steps that pass the guards in a group of states. Return whether columns can evaluate any guard."""
        build, columns, acting = self.build, self.columns, self.acting
        self.group = build.wrapped("*", place, number(LANES))
        size = build.least([build.wrapped("-", acting.given["size"], self.group), number(LANES)])
        active = build.wrapped("-", build.shifted("<<", number(1), size), number(1))
        columns.base = build.value(
            f"getelementptr [{LANES * self.module.state.bytes} x i8], ptr "
            f"{acting.given['columns'].text}, i64 {place.text}"
        )
        columns.slots[acting.made.parameters[0]] = columns.state()
        build.keep(kept.states, number(0))
        build.keep(kept.many, number(0))
        active = self.where_there_are_values(active)
        self.columns.goes_on(active, done)
        return self.step(0, active, kept, done)

    def where_there_are_values(self, active: Value) -> Value:
        build, columns, shape = self.build, self.columns, self.module.shape
        for parameter in self.acting.nest.parameters:
            if isinstance(parameter.domain, InFlight):
                some = columns.compared(
                    ">", columns.count(columns.field(columns.state(), parameter.domain.bag)), number(0)
                )
                active = build.bitwise("&", active, columns.bits(some))
            elif shape.least(parameter.domain) <= 0:
                some = build.compared("<=", *self.acting.span(parameter.domain))
                active = build.wrapped("*", active, build.number(some))
        return active

    def step(self, place: int, active: Value, kept: GroupSpace, following: str) -> bool:
        before = self.mark()
        self.columns.active = active
        if place < len(self.steps):
            try:
                match self.steps[place]:
                    case Over() as over:
                        if self.over(place, over.parameter, active, kept, following):
                            return True
                    case Compute() as compute:
                        self.columns.compute(compute.statements)
                        return self.step(place + 1, active, kept, following)
                    case Guarded() as guarded:
                        holds = self.guard(guarded, active)
                        self.columns.goes_on(holds, following)
                        if guarded.never_holds:
                            self.ends = True
                            self.build.jump(following)
                        else:
                            self.step(place + 1, holds, kept, following)
                        return True
            except Unsuited:
                pass
            self.undo(before)
        self.rest = place
        self.keep(active, kept)
        self.build.jump(following)
        return False

    def guard(self, node: Guarded, active: Value) -> Value:
        build = self.build
        condition = self.columns.bits(self.columns.flag(node.statement.condition))
        holds = build.bitwise("&", active, condition)
        refused = build.bitwise("^", active, holds)
        if any(isinstance(item.domain, InFlight) for item in node.unchosen):
            for lane in self.ones(refused):
                self.enter(lane)
                self.acting.refuse(node, self.acting.times(node))
            return holds
        slot = self.acting.counters[node.guard.number]
        count = Value(build.value(f"call i64 @llvm.ctpop.i64(i64 {refused.text})"), Sort.NUMBER, 0, LANES)
        count = build.wrapped("*", count, self.acting.times(node))
        build.keep(slot, build.wrapped("+", build.kept(slot, Sort.NUMBER), count))
        if self.acting.waiting is not None and node.guard.bound is not None:
            waiting = build.kept(self.acting.waiting, Sort.NUMBER)
            build.keep(self.acting.waiting, build.bitwise("|", waiting, build.shifted("<<", refused, self.group)))
        return holds

    def over(self, place: int, parameter: Parameter, active: Value, kept: GroupSpace, following: str) -> bool:
        build, columns = self.build, self.columns
        if isinstance(parameter.domain, InFlight):
            bag = columns.field(columns.state(), parameter.domain.bag)
            items = columns.field(bag, "items")
            with columns.messages(bag, active) as (item, _, there):
                message = columns.element(items, item.at)
                assert isinstance(message, Places)
                new = self.new(items, item.at, message, there)
                self.columns.goes_on(new, item.following)
                columns.slots[parameter.slot] = message
                self.chosen.append((parameter, item.at))
                found = self.step(place + 1, new, kept, item.following)
        else:
            first, last = self.acting.span(parameter.domain)
            with counted(build, first, build.wrapped("+", last, number(1))) as item:
                columns.slots[parameter.slot] = item.at
                self.chosen.append((parameter, item.at))
                found = self.step(place + 1, active, kept, item.following)
        if found:
            build.jump(following)
        return found

    def new(self, items: Places, at: Value, message: Places, there: Value) -> Value:
        build = self.build
        previous = self.columns.element(items, build.greatest([build.wrapped("-", at, number(1)), number(0)]))
        same = self.columns.bits(self.columns.same(message, previous))
        other = build.number(build.compared(">", at, number(0)))
        return build.bitwise("&", there, build.bitwise("^", build.wrapped("*", same, other), number(-1)))

    def keep(self, active: Value, kept: GroupSpace) -> None:
        build = self.build
        build.keep(kept.states, build.bitwise("|", build.kept(kept.states, Sort.NUMBER), active))
        if not self.chosen:
            return
        count = build.kept(kept.many, Sort.NUMBER)._replace(low=0, high=self.most - 1)
        for number_, (_, value) in enumerate(self.chosen):
            build.store(self.choice(kept, count, number_), _CELL, value)
        bit = build.shifted("<<", number(1), build.bitwise("&", count, number(BITS - 1)))
        word = build.shifted(">>", count, number(BITS.bit_length() - 1))
        for lane in self.ones(active):
            address = self.word(kept, lane, word)
            build.store(address, _CELL, build.bitwise("|", build.load(address, _CELL), bit))
        build.keep(kept.many, build.wrapped("+", count, number(1)))

    def choice(self, kept: GroupSpace, count: Value, parameter: int) -> str:
        build = self.build
        place = build.wrapped("+", build.wrapped("*", count, number(len(self.chosen))), number(parameter))
        return build.scaled(kept.choices, _CELL, place)

    def word(self, kept: GroupSpace, lane: Value, word: Value) -> str:
        build = self.build
        return build.scaled(kept.bits, _CELL, build.wrapped("+", build.wrapped("*", lane, number(self.words)), word))

    # -- state by state

    def take(self, kept: GroupSpace, effect: str) -> None:
        build = self.build
        parameters = [item for item, _ in self.chosen]
        for lane in self.ones(build.kept(kept.states, Sort.NUMBER)):
            following = build.label()
            self.enter(lane)
            if not parameters:
                self.finish(following, effect)
            else:
                with counted(build, number(0), number(self.words)) as item:
                    address = self.word(kept, lane, item.at)
                    bits = build.load(address, _CELL)
                    build.store(address, _CELL, number(0))
                    for bit in self.ones(bits):
                        again = build.label()
                        count = build.wrapped("+", build.wrapped("*", item.at, number(BITS)), bit)
                        for place, parameter in enumerate(parameters):
                            self.choose(parameter, build.load(self.choice(kept, count, place), _CELL))
                        self.finish(again, effect)
                        build.begin(again)
                build.jump(following)
            build.begin(following)

    def enter(self, lane: Value) -> None:
        build = self.build
        self.acting.enter(build.wrapped("+", self.group, lane)._replace(low=0, high=BITS - 1))

    def choose(self, parameter: Parameter, value: Value) -> None:
        if isinstance(parameter.domain, InFlight):
            self.acting.choose(parameter, self.module.bags.item(self.build, self.acting.bag(parameter.domain), value))
        else:
            low, high = self.acting.span(parameter.domain)
            self.acting.choose(parameter, value._replace(low=low.low, high=high.high))

    def finish(self, following: str, effect: str) -> None:
        if self.rest < len(self.steps):
            for item in self.steps[: self.rest]:
                if isinstance(item, Compute):
                    self.acting.code.block(item.statements)
        self.acting.step(self.rest, following, effect)

    # -- bits

    def ones(self, bits: Value) -> Iterator[Value]:
        build = self.build
        left, top, body, end = build.slot(Sort.NUMBER), build.label(), build.label(), build.label()
        build.keep(left, bits)
        build.jump(top)
        build.begin(top)
        now = build.kept(left, Sort.NUMBER)
        build.branch(build.compared("!=", now, number(0)), body, end)
        build.begin(body)
        build.keep(left, build.bitwise("&", now, build.wrapped("-", now, number(1))))
        yield Value(build.value(f"call i64 @llvm.cttz.i64(i64 {now.text}, i1 true)"), Sort.NUMBER, 0, BITS - 1)
        build.jump(top)
        build.begin(end)

    # -- actions

    def mark(self) -> "_Mark":
        return _Mark(self.build.mark(), dict(self.columns.slots), dict(self.acting.code.slots), list(self.chosen))

    def undo(self, before: "_Mark") -> None:
        self.build.undo(before.build)
        self.columns.slots, self.acting.code.slots, self.chosen = before.columns, before.code, before.chosen


class _Mark(NamedTuple):
    build: tuple[int, int, str | None]
    columns: dict[Slot, Thing]
    code: dict[Slot, tuple[str, Value]]
    chosen: list[tuple[Parameter, Value]]
