"""Code for an action over many states: loops over parameters, guards, the effect on a copy, and the new state."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.types import CELLS, Sort, Type, Value, Vector, number
from fencepost.explorers.native.lower.bounds import Bounds, Trying
from fencepost.explorers.native.lower.module import BYTES, NUMBERS, PLAIN, ROWS, Masks, Module, symbol
from fencepost.explorers.native.lower.shape import ERROR
from fencepost.explorers.native.lower.sieve import Sieve, Sifted
from fencepost.explorers.native.packed import OWNERS
from fencepost.explorers.program.ir.nest import Compute, Guarded, Over
from fencepost.explorers.program.ir.nodes import Call, Fits, Node, Slot
from fencepost.explorers.program.ir.program import Action, Program, inside
from fencepost.model.language.actions import Kind, Property

_WORDS = Vector(CELLS["u64"], 0)


class Judged(NamedTuple):
    place: int
    prop: Property
    function: int


@dataclass(frozen=True)
class Wanted:
    normalize: int | None
    steps: tuple[Judged, ...]
    masks: Masks | None = None
    bounds: Bounds | None = None
    canonical: str = ""
    code: Callable[[Builder, Module, Action, dict[Slot, Value]], Value] | None = None


class Acting(Sifted):
    """Code generator for the function that takes an action in each state of a block."""

    PARAMETERS: tuple[tuple[str, Type], ...] = (
        ("size", Sort.NUMBER), ("start", Sort.NUMBER), ("first", Sort.NUMBER), ("number", Sort.NUMBER), ("out", ROWS),
        ("hashes", _WORDS), ("parents", Vector(CELLS["u32"], 0)), ("codes", NUMBERS), ("n", Sort.NUMBER),
        ("fired", NUMBERS), ("refused", NUMBERS), ("found", NUMBERS), ("alive", BYTES), ("columns", BYTES),
    )  # fmt: skip

    def __init__(self, module: Module, wanted: Wanted, place: int) -> None:
        name = symbol(module.program.of(module.program.actions[place]), f"action.{place}")
        super().__init__(module, place, name, [kind for _, kind in self.PARAMETERS])
        self.wanted = wanted
        self.given = {name: value for (name, _), value in zip(self.PARAMETERS, self.more, strict=True)}
        self.row = self.target = self.e
        bounded = wanted.bounds is not None and any(guard.bound for guard in self.action.guards)
        self.trying = Trying(module, wanted.bounds, place).write() if wanted.bounds and bounded else ""

    def write(self) -> str:
        """Write the function and return its name. At run time, the function returns the number of successors so far."""
        build, module = self.build, self.module
        effect = symbol(self.made, f"effect.{self.place}")
        if not self.nest.never_acts:
            module.body(self.made, effect, self.nest.effect, f"alwaysinline {PLAIN}")
        self.target = module.scratch(build)
        self.count = build.slot(Sort.NUMBER)
        build.keep(self.count, self.given["n"])
        counters = {guard.number: build.slot(Sort.NUMBER) for guard in self.action.guards}
        for slot in counters.values():
            build.keep(slot, number(0))
        self.counters = counters
        self.waiting = build.slot(Sort.NUMBER) if self.trying else None
        if self.waiting is not None:
            build.keep(self.waiting, number(0))
        if self.wanted.masks is not None or not Sieve(self).write(effect):
            with counted(build, number(0), self.given["size"]) as item:
                self.enter(item.at)
                self.where_there_are_values(item.following)
                self.step(0, item.following, effect)
        if self.waiting is not None:
            given = [self.given["size"], build.kept(self.waiting, Sort.NUMBER), self.given["refused"]]
            build.call(f"@{self.trying}", Sort.NOTHING, [self.e, self.c, self.states, *given])
        for guard, slot in counters.items():
            self.increase("refused", number(guard), build.kept(slot, Sort.NUMBER))
        after = build.kept(self.count, Sort.NUMBER)
        self.increase("fired", number(self.place), build.wrapped("-", after, self.given["n"]))
        build.result = Sort.NUMBER
        build.give(after)
        module.texts.append(build.text())
        return self.name

    def enter(self, at: Value) -> None:
        self.at, self.state = at, self.build.read(*self.build.element(self.states, at))
        self.row = self.build.wrapped("+", self.given["start"], at)
        self.code.bind(self.made.parameters[0], self.state)

    def increase(self, array: str, index: Value, by: Value) -> None:
        address, memory = self.build.element(self.given[array], index)
        self.build.write(address, memory, self.build.wrapped("+", self.build.read(address, memory), by))

    # -- guards

    def step(self, place: int, following: str, effect: str) -> None:
        """Write a step of the loop nest and all steps inside it. The enclosing loop continues at `following`."""
        if place == len(self.nest.steps):
            self.fire(effect)
            self.build.jump(following)
            return
        match self.nest.steps[place]:
            case Over() as over:
                self.over(over.parameter, lambda inner: self.step(place + 1, inner, effect))
                self.build.jump(following)
            case Compute() as compute:
                self.code.block(compute.statements)
                self.step(place + 1, following, effect)
            case Guarded() as guarded if guarded.never_holds:
                self.refuse(guarded, self.times(guarded))
                self.build.jump(following)
            case Guarded() as guarded:
                several = self.plain_guards(place)
                if len(several) > 1:
                    self.guards(several, following)
                else:
                    self.guard(guarded, following)
                self.step(place + max(1, len(several)), following, effect)

    def plain_guards(self, place: int) -> list[Guarded]:
        found: list[Guarded] = []
        for item in self.nest.steps[place:]:
            if not isinstance(item, Guarded) or self.wanted.masks is not None or item.unchosen or item.never_holds:
                break
            if not self.module.is_plain(item.statement.condition):
                break
            found.append(item)
        return found

    def guards(self, several: list[Guarded], following: str) -> None:
        """Write several guards without branches, because it is hard to predict which guard will fail."""
        build = self.build
        flags = [build.flag(self.code.straight(item.statement.condition)) for item in several]
        holds = Value("true", Sort.FLAG)
        for item, condition in zip(several, flags, strict=True):
            still = build.both(holds, condition)
            refuses = Value(build.value(f"xor i1 {holds.text}, {still.text}"), Sort.FLAG)
            self.refuse(item, build.number(refuses))
            holds = still
        inside = build.label()
        build.branch(holds, inside, following)
        build.begin(inside)

    def guard(self, node: Guarded, following: str) -> None:
        """Continue if a guard holds; otherwise, count a refusal for each combination of values not yet chosen."""
        build = self.build
        if self.wanted.masks is not None:
            self.masked_guard(node, following, self.wanted.masks)
            return
        refused, holds = build.label(), build.label()
        self.code.decide(node.statement.condition, holds, refused)
        build.begin(refused)
        self.refuse(node, self.times(node))
        build.jump(following)
        build.begin(holds)

    def masked_guard(self, node: Guarded, following: str, masks: Masks) -> None:
        """Like `guard`, but if a check fails in or before the guard, count the step as one that leaves a domain."""
        build = self.build
        condition = build.number(self.code.expression(node.statement.condition))
        left, stays, refused, holds = (build.label() for _ in range(4))
        build.branch(self.module.failed(build, self.e), left, stays)
        build.begin(left)
        masks.unevaluated(self.module, build, self.e)
        masks.leave(self.module, build, self.e, self.row, self.times(node))
        build.jump(following)
        build.begin(stays)
        build.branch(build.flag(condition), holds, refused)
        build.begin(refused)
        self.refuse(node, self.times(node))
        build.jump(following)
        build.begin(holds)

    def times(self, node: Guarded) -> Value:
        found = number(1)
        for parameter in node.unchosen:
            found = self.build.wrapped("*", found, self.choices(parameter))
        return found

    def refuse(self, node: Guarded, times: Value) -> None:
        if self.waiting is not None and node.guard.bound is not None:
            build, waiting = self.build, self.build.kept(self.waiting, Sort.NUMBER)
            bit = build.shifted("<<", build.number(build.compared("!=", times, number(0))), self.at)
            build.keep(self.waiting, build.bitwise("|", waiting, bit))
        slot = self.counters[node.guard.number]
        self.build.keep(slot, self.build.wrapped("+", self.build.kept(slot, Sort.NUMBER), times))

    # -- the new state

    def fire(self, effect: str) -> None:
        build, module = self.build, self.module
        build.write(self.target.text, module.state, self.state)
        values = [self.values[slot] for slot in self.made.parameters[1:]]
        build.call(f"@{effect}", Sort.NOTHING, [self.e, self.c, self.target, *values])
        module.sort(build, self.target, module.disordered(self.made))
        if self.wanted.bounds is not None and drops(module.program, self.nest.effect):
            self.wanted.bounds.note_dropped(build, self.e, self.given["refused"], self.at)
        if self.wanted.masks is None:
            for item in self.judged():
                with only_if(build, self.undecided(item)), only_if(build, self.decides(item)):
                    self.decide(item)
            self.keep()
            return
        with self.stays(self.wanted.masks):
            self.fire_masked(self.wanted.masks)

    def fire_masked(self, masks: Masks) -> None:
        """Check a step's properties and keep the new state. If `normalize` leaves a domain, drop the step."""
        build, module = self.build, self.module
        decisive = []
        for item in self.judged():
            slot = build.slot(Sort.NUMBER)
            build.keep(slot, number(0))
            with only_if(build, self.undecided(item)), only_if(build, self.decides(item)):
                build.keep(slot, number(1))
            decisive.append((item, slot))
        wrong = build.slot(Sort.NUMBER)
        build.keep(wrong, module.cell(build, self.e, ERROR))
        module.note(build, self.e, ERROR, number(0))
        self.merge()
        with self.stays(masks):
            masks.broken(module, build, self.e, build.kept(wrong, Sort.NUMBER))
            for item, slot in decisive:
                with only_if(build, build.flag(build.kept(slot, Sort.NUMBER))):
                    self.decide(item)
            self.take()

    @contextmanager
    def stays(self, masks: Masks) -> Iterator[None]:
        """Run the block's code if no check has failed since the last test. Otherwise, the step is dropped and counted
        as one that leaves a domain.
        """
        build = self.build
        end, left, stays = build.label(), build.label(), build.label()
        build.branch(self.module.failed(build, self.e), left, stays)
        build.begin(left)
        masks.leave(self.module, build, self.e, self.row, number(1))
        build.jump(end)
        build.begin(stays)
        yield
        build.jump(end)
        build.begin(end)

    def judged(self) -> list[Judged]:
        return [item for item in self.wanted.steps if item.prop.on is None or item.prop.on.name == self.action.name]

    def undecided(self, item: Judged) -> Value:
        return self.build.compared(
            "<", self.row, self.build.read(*self.build.element(self.given["found"], number(item.place)))
        )

    def decides(self, item: Judged) -> Value:
        extra = [self.values[slot] for slot in self.made.parameters[1:]] if item.prop.on is not None else []
        given = {"e": self.e, "c": self.c}
        holds = self.module.predicate(self.build, given, item.function, [self.state, self.target, *extra])
        return holds if item.prop.kind is Kind.SOMETIMES else self.build.negated(holds)

    def decide(self, item: Judged) -> None:
        self.build.write(*self.build.element(self.given["found"], number(item.place)), self.row)

    def keep(self) -> None:
        self.merge()
        self.take()

    def merge(self) -> None:
        if self.wanted.normalize is not None:
            function = self.module.program.functions[self.wanted.normalize]
            self.module.call(self.build, self.wanted.normalize, self.e, self.c, [self.target])
            self.module.sort(self.build, self.target, self.module.disordered(function))
        if self.wanted.canonical:
            self.build.call(f"@{self.wanted.canonical}", Sort.NOTHING, [self.e, self.target])

    def take(self) -> None:
        build, rows, given = self.build, self.module.rows, self.given
        n = build.kept(self.count, Sort.NUMBER)
        row = rows.row(build, self.e, given["out"], n)
        rows.pack(build, self.e, self.target, row)
        build.write(*build.element(given["hashes"], n), rows.hash(build, self.e, row))
        parent = build.wrapped("+", given["number"], build.wrapped("*", self.row, number(OWNERS)))
        build.write(*build.element(given["parents"], n), parent)
        build.write(*build.element(given["alive"], build.wrapped("-", self.row, given["first"])), number(1))
        if self.wanted.code is not None:
            build.write(
                *build.element(given["codes"], n), self.wanted.code(build, self.module, self.action, self.values)
            )
        build.keep(self.count, build.wrapped("+", n, number(1)))


def drops(program: Program, block: Iterable[Node]) -> bool:
    return any(
        isinstance(item, Fits) or (isinstance(item, Call) and drops(program, program.functions[item.function].body))
        for item in inside(block)
    )
