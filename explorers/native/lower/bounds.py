"""Detection of reached bounds: the guards of an action are evaluated again, but guards that are bounds always pass.

`model/language/bounds.py` defines reached bounds. To keep the search fast, a separate function detects them, and
runs only if a guard for a bound refused a step in a state, and the bound is not yet recorded for that state.
"""

from collections.abc import Iterable

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.types import Memory, Sort, Value, number
from fencepost.explorers.native.lower.choosing import Choosing
from fencepost.explorers.native.lower.module import BLOCK, NUMBERS, Module
from fencepost.explorers.native.lower.shape import ERROR
from fencepost.explorers.program.ir.nest import Compute, Guarded, Over, can_fail


class Bounds:
    """Reached bounds: their cells in the check array, and their counters.

    Sets of bounds are bit masks. The caller sets `counting` to the bounds to count. `reached` contains the bounds
    reached in each state of the block, `known` the bounds reached in any state, and `dropped` the bounds that made the
    current step omit an effect. The first counters count states by bound. A second set of counters, for bounds that
    have not refused any step alone, counts the steps that each of them refused together with others.
    """

    def __init__(self, module: Module) -> None:
        program, shape = module.program, module.shape
        self.module = module
        self.bits = {name: place for place, name in enumerate(program.bounds)}
        self.alone = len(program.guards)
        self.together = self.alone + len(self.bits)
        self.counting, self.known, self.dropped = shape.reserve(), shape.reserve(), shape.reserve()
        self.reached = shape.reserve_all(BLOCK)

    def mask(self, names: Iterable[str | None]) -> int:
        return sum(1 << self.bits[name] for name in {item for item in names if item is not None})

    def of_state(self, build: Builder, e: Value, at: Value) -> tuple[str, Memory]:
        return build.element(e, build.wrapped("+", number(self.reached), at))

    def clear(self, build: Builder, e: Value, at: Value) -> None:
        build.write(*self.of_state(build, e, at), number(0))

    def drop(self, build: Builder, e: Value, bound: str) -> None:
        before = self.module.cell(build, e, self.dropped)
        self.module.note(build, e, self.dropped, build.bitwise("|", before, number(self.mask([bound]))))

    def note(self, build: Builder, e: Value, refused: Value, at: Value, found: Value, among: int) -> None:
        cell = self.of_state(build, e, at)
        before = build.read(*cell)
        wanted = build.bitwise("&", found, self.module.cell(build, e, self.counting))
        new = build.bitwise("&", wanted, build.bitwise("^", before, number(-1)))
        with only_if(build, build.compared("!=", new, number(0))):
            build.write(*cell, build.bitwise("|", before, new))
            self.count(build, e, refused, self.alone, new, among)

    def count(self, build: Builder, e: Value, refused: Value, first: int, found: Value, among: int) -> None:
        known = self.module.cell(build, e, self.known)
        self.module.note(build, e, self.known, build.bitwise("|", known, found))
        for place in self.bits.values():
            if among >> place & 1:
                one = build.compared("!=", build.bitwise("&", found, number(1 << place)), number(0))
                address, memory = build.element(refused, number(first + place))
                build.write(address, memory, build.wrapped("+", build.read(address, memory), build.number(one)))

    def note_dropped(self, build: Builder, e: Value, refused: Value, at: Value) -> None:
        dropped = self.module.cell(build, e, self.dropped)
        with only_if(build, build.compared("!=", dropped, number(0))):
            self.module.note(build, e, self.dropped, number(0))
            self.note(build, e, refused, at, dropped, (1 << len(self.bits)) - 1)


class Trying(Choosing):
    """Code generator for a function that finds the bounds without which an action would be enabled in a state.

    The function evaluates guards as the action does, except that a guard for a bound refuses nothing; instead, the
    function sets the bound's bit and records it in the innermost loop. A check that fails after a guard for a bound is
    not an error, but counts as a refusal by the bound. The remaining code is skipped if no count can change.
    """

    def __init__(self, module: Module, bounds: Bounds, place: int) -> None:
        super().__init__(module, place, f"try.{place}", [Sort.NUMBER, Sort.NUMBER, NUMBERS])
        self.bounds = bounds
        self.size, self.waiting, self.refused = self.more
        self.mask = bounds.mask(item.bound for item in self.action.guards)
        self.order = [bounds.mask([item.guard.bound]) if isinstance(item, Guarded) else 0 for item in self.nest.steps]

    def write(self) -> str:
        build, module = self.build, self.module
        build.result = Sort.NOTHING
        wanted = build.bitwise("&", module.cell(build, self.e, self.bounds.counting), number(self.mask))
        counts = build.compared("!=", wanted, number(0))
        with only_if(build, counts), only_if(build, build.negated(module.failed(build, self.e))):
            self.states_that_wait()
        build.give()
        module.texts.append(build.text())
        return self.name

    def states_that_wait(self) -> None:
        build = self.build
        with counted(build, number(0), self.size) as item:
            begin, waits = build.label(), build.label()
            bit = build.bitwise("&", build.shifted(">>", self.waiting, item.at), number(1))
            build.branch(build.flag(bit), waits, item.following)
            build.begin(waits)
            self.at, self.state = item.at, build.read(*build.element(self.states, item.at))
            self.code.bind(self.made.parameters[0], self.state)
            self.worth(number(0), self.mask, begin, item.following)
            build.begin(begin)
            self.where_there_are_values(item.following)
            self.step(0, item.following, None)

    def step(self, place: int, following: str, refusing: str | None) -> None:
        build = self.build
        if place == len(self.nest.steps):
            self.note(refusing, following)
            return
        match self.nest.steps[place]:
            case Over() as over:
                self.over(over.parameter, lambda inner: self.round(place, inner, refusing))
                build.jump(following)
            case Compute() as compute:
                self.code.block(compute.statements)
                if any(can_fail(self.module.program, item) for item in compute.statements):
                    self.where_it_went_well(refusing, following)
                self.step(place + 1, following, refusing)
            case Guarded() as guarded:
                self.guard(place, guarded, following, refusing)

    def round(self, place: int, following: str, refusing: str | None) -> None:
        if refusing is not None:
            inside = self.build.label()
            self.worth(self.build.kept(refusing, Sort.NUMBER), self.later(place), inside, following)
            self.build.begin(inside)
        self.step(place + 1, following, refusing)

    def guard(self, place: int, node: Guarded, following: str, refusing: str | None) -> None:
        build, holds, refused = self.build, self.build.label(), self.build.label()
        fails = can_fail(self.module.program, node.statement)
        if fails:
            condition = build.flag(self.code.expression(node.statement.condition))
            self.where_it_went_well(refusing, following)
            build.branch(condition, holds, refused)
        else:
            self.code.decide(node.statement.condition, holds, refused)
        if node.guard.bound is None:
            build.begin(refused)
            build.jump(following)
            build.begin(holds)
            self.step(place + 1, following, refusing)
            return
        more, inside = build.slot(Sort.NUMBER), build.label()
        goes_on = build.label()
        for label, bits in ((holds, 0), (refused, self.order[place])):
            build.begin(label)
            before = number(0) if refusing is None else build.kept(refusing, Sort.NUMBER)
            build.keep(more, build.bitwise("|", before, number(bits)))
            build.jump(goes_on)
        build.begin(goes_on)
        self.worth(build.kept(more, Sort.NUMBER), self.later(place), inside, following)
        build.begin(inside)
        self.step(place + 1, following, more)

    def later(self, place: int) -> int:
        found = 0
        for bits in self.order[place + 1 :]:
            found |= bits
        return found

    def worth(self, refusing: Value, later: int, yes: str, no: str) -> None:
        """Continue only if bounds that have refused so far, or that may refuse later, can still change the counts."""
        build, bounds = self.build, self.bounds
        seen = build.read(*bounds.of_state(build, self.e, self.at))
        wanted = self.module.cell(build, self.e, bounds.counting)
        unseen = build.bitwise("&", wanted, build.bitwise("^", seen, number(-1)))
        known = self.module.cell(build, self.e, bounds.known)
        unknown = build.bitwise("&", wanted, build.bitwise("^", known, number(-1)))
        several, none, single, alone = (build.label() for _ in range(4))
        build.branch(self.is_one(refusing), single, several)
        build.begin(single)
        build.branch(build.compared("==", refusing, number(0)), none, alone)
        build.begin(none)
        some = build.bitwise("&", number(later), build.bitwise("|", unseen, unknown))
        build.branch(build.compared("!=", some, number(0)), yes, no)
        build.begin(alone)
        with_later = build.bitwise("|", refusing, number(later)) if later else number(0)
        some = build.bitwise("|", build.bitwise("&", refusing, unseen), build.bitwise("&", with_later, unknown))
        build.branch(build.compared("!=", some, number(0)), yes, no)
        build.begin(several)
        some = build.bitwise("&", build.bitwise("|", refusing, number(later)), unknown)
        build.branch(build.compared("!=", some, number(0)), yes, no)

    def is_one(self, refusing: Value) -> Value:
        build = self.build
        rest = build.bitwise("&", refusing, build.wrapped("-", refusing, number(1)))
        return build.compared("==", rest, number(0))

    def where_it_went_well(self, refusing: str | None, following: str) -> None:
        """Continue if no check has failed. If a check fails after a bound has refused, the bound counts as having
        prevented the error. If a number exceeds 64 bits, the consequences are unknown, so the search ends.
        """
        build = self.build
        failed, well = build.label(), build.label()
        build.branch(self.module.failed(build, self.e), failed, well)
        build.begin(failed)
        if refusing is None:  # the action itself fails, and has recorded the error
            build.jump(following)
        else:
            wrong, own = build.label(), build.label()
            build.branch(build.compared("==", build.kept(refusing, Sort.NUMBER), number(0)), own, wrong)
            build.begin(own)
            build.jump(following)
            build.begin(wrong)
            with only_if(build, checks.too_long(build, self.module.cell(build, self.e, ERROR)), checks.RARE):
                build.give()
            self.module.note(build, self.e, ERROR, number(0))
            self.note(refusing, following)
        build.begin(well)

    def note(self, refusing: str | None, following: str) -> None:
        build, bounds = self.build, self.bounds
        assert refusing is not None, "an action without a bound need not be tried"
        found = build.kept(refusing, Sort.NUMBER)
        alone, together = build.label(), build.label()
        build.branch(self.is_one(found), alone, together)
        build.begin(alone)
        bounds.note(build, self.e, self.refused, self.at, found, self.mask)
        build.jump(following)
        build.begin(together)
        known = self.module.cell(build, self.e, bounds.known)
        new = build.bitwise("&", found, build.bitwise("^", known, number(-1)))
        bounds.count(build, self.e, self.refused, bounds.together, new, self.mask)
        build.jump(following)
