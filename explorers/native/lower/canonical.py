"""The canonical form of a state in memory: the least of the state's permutations, as in `Symmetry`. If all values
differ, a single permutation sorts them. If some values are equal, a few permutations are compared.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from fencepost.explorers.native.layout import WORD
from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.types import Cell, Memory, Sort, Struct, Value, Vector, flag, number, word
from fencepost.explorers.native.lower.module import CHECKS, PLAIN, Module
from fencepost.explorers.program.ir.interchange import names
from fencepost.model.language.domains import Linear
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Nested, Scalar, fields
from fencepost.model.language.symmetry import Symmetry

NAME, RENAMED, LESS = "canonical", "renamed", "less"
STAYS, INSIDE, MOVES = -1, -2, -3
"""Kinds of numbers: a permutation may change MOVES, but neither STAYS (at top level) nor INSIDE (in an array)."""


class Canonical:
    """Code generator for `canonical`. The check array contains each permutation's images of NONE, values and sets."""

    def __init__(self, module: Module, symmetry: Symmetry) -> None:
        self.module, self.things, self.count = module, symmetry.things, symmetry.count
        self.permutations = symmetry.permutations
        self.state = Nested(module.program.machine.state)
        self.sets = self.count + 1
        """Index of the empty set in a permutation's row; it follows NONE and the values."""
        lines = [
            (
                -1,
                *to,
                *(sum(1 << to[n] for n in range(self.count) if members >> n & 1) for members in range(1 << self.count)),
            )
            for to in self.permutations
        ]
        self.width = len(lines[0])
        self.first = min(module.shape.reserve(Linear({}, value)) for line in lines for value in line)

    def write(self) -> str:
        self.module.texts.append("declare i64 @llvm.bswap.i64(i64)\n")
        self._write_renamed()
        self._write_less()
        module = self.module
        build = Builder(NAME, [CHECKS, module.state], attributes=f"noinline {PLAIN}")
        e, state = build.arguments
        traits = [[self._key(build, state, *run) for run in self._runs(n)] for n in range(self.count)]
        pairs = [(one, other) for one in range(self.count) for other in range(self.count) if one != other]
        at_most = {pair: self._at_most(build, *(traits[n] for n in pair)) for pair in pairs}
        alike, in_order = flag(value=False), flag(value=True)
        for n in range(1, self.count):
            alike = build.joined("|", alike, at_most[n, n - 1])
            in_order = build.both(in_order, at_most[n - 1, n])
        with only_if(build, build.both(in_order, build.negated(alike))):
            build.give()
        best, found = module.scratch(build), build.slot(Sort.NUMBER)
        build.keep(found, number(0))
        for place, to in enumerate(self.permutations):
            order, fits = [to.index(n) for n in range(self.count)], flag(value=True)
            for pair in pairwise(order):
                fits = build.both(fits, at_most[pair])
            with only_if(build, fits):
                self._try(build, place, (e, state), best, found)
        build.write(state.text, module.state, best)
        module.finish(build)
        return NAME

    def _try(self, build: Builder, place: int, given: tuple[Value, Value], best: Value, found: str) -> None:
        e, state = given
        other = self.module.scratch(build)
        table = Value(build.offset(e.text, WORD * (self.first + place * self.width)), CHECKS)
        build.call(f"@{RENAMED}", Sort.NOTHING, [e, state, other, table])
        later, less, end = build.label(), build.label(), build.label()
        build.branch(build.flag(build.kept(found, Sort.NUMBER)), later, less)
        build.begin(later)
        build.branch(build.call(f"@{LESS}", Sort.FLAG, [other, best]), less, end)
        build.begin(less)
        build.keep(found, number(1))
        build.write(best.text, self.module.state, other)
        build.jump(end)
        build.begin(end)

    # -- the order of states

    def _cells(self, kind: FieldType, memory: Memory, offset: int, where: int) -> Iterator[tuple[int, Cell, int]]:
        """Yield the offset and size of each number in a part of a state, in order, with the value that determines the
        number's position: `where`, `STAYS`, `INSIDE` or `MOVES`.
        """
        match kind, memory:
            case Scalar(), Cell():
                yield offset, memory, MOVES if self.things.is_named(kind.domain) else where
            case Nested(), Struct():
                for name, field in fields(kind.record):
                    more, part = memory.fields[name]
                    yield from self._cells(field, part, offset + more, where)
            case BagOf(), Struct():
                more, items = memory.fields["items"]
                inner = MOVES if names(self.things, kind) else where
                yield from self._elements(Nested(kind.record), items, offset + more, lambda _: inner)
            case ArrayOf(), Vector():
                if self.things.is_by_thing(kind):
                    yield from self._elements(kind.element, memory, offset, lambda n: n if where == STAYS else MOVES)
                else:
                    inner = INSIDE if where == STAYS else where
                    yield from self._elements(kind.element, memory, offset, lambda _: inner)

    def _elements(
        self, kind: FieldType, memory: Memory, offset: int, where: Callable[[int], int]
    ) -> Iterator[tuple[int, Cell, int]]:
        assert isinstance(memory, Vector)
        for n in range(memory.count):
            yield from self._cells(kind, memory.element, offset + n * memory.element.bytes, where(n))

    def _runs(self, where: int) -> list[tuple[int, int]]:
        """Return the offsets and sizes of a value's numbers, or of the numbers that move, merging adjacent bytes."""
        found: list[tuple[int, int, bool]] = []
        for offset, cell, mine in self._cells(self.state, self.module.state, 0, STAYS):
            if mine == where:
                first, size, bytewise = found[-1] if found else (0, 0, False)
                if bytewise and cell.bytes == 1 and first + size == offset and size < WORD:
                    found[-1] = first, size + 1, True
                else:
                    found.append((offset, cell.bytes, cell.bytes == 1))
        return [(first, size if bytewise else -size) for first, size, bytewise in found]

    def _key(self, build: Builder, state: Value, offset: int, size: int) -> Value:
        """Return signed bytes as a number that sorts like the bytes. The first byte is the most significant."""
        address = build.offset(state.text, offset)
        if size < 0:
            return build.load(address, Cell(-size, signed=True))
        bits = 8 * size
        text = build.value(f"load i{bits}, ptr {address}, align 1")
        text = text if size == WORD else build.value(f"zext i{bits} {text} to i64")
        swapped = Value(build.value(f"call i64 @llvm.bswap.i64(i64 {text})"), Sort.WORD)
        signs = int.from_bytes(bytes([0x80] * size + [0] * (WORD - size)))
        return build.bitwise("^", swapped, word(signs))

    def _at_most(self, build: Builder, ours: list[Value], theirs: list[Value]) -> Value:
        found = flag(value=True)
        for one, other in reversed(list(zip(ours, theirs, strict=True))):
            before, same = build.compared("<", one, other), build.compared("==", one, other)
            found = build.joined("|", before, build.both(same, found))
        return found

    def _write_less(self) -> None:
        state = self.module.state
        build = Builder(LESS, [state, state], attributes=PLAIN)
        build.result = Sort.FLAG
        for run in self._runs(MOVES):
            left, right = (self._key(build, one, *run) for one in build.arguments)
            with only_if(build, build.compared("!=", left, right)):
                build.give(build.compared("<", left, right))
        self.module.finish(build, flag(value=False))

    # -- renaming

    def _write_renamed(self) -> None:
        state = self.module.state
        build = Builder(RENAMED, [CHECKS, state, state, CHECKS], attributes=PLAIN)
        e, source, target, table = build.arguments
        build.write(target.text, state, source)
        self._rename(build, (e, table), self.state, (source, target))
        self.module.finish(build)

    def _rename(self, build: Builder, given: tuple[Value, Value], kind: FieldType, both: tuple[Value, Value]) -> None:
        (e, table), (source, target) = given, both
        match kind:
            case Scalar():
                assert isinstance(source.type, Cell)
                place = build.load(source.text, source.type)
                place = build.wrapped("+", place, number(self.sets if self.things.is_set(kind.domain) else 1))
                build.store(target.text, source.type, self._at(build, table, place))
            case Nested():
                for name, field in fields(kind.record):
                    if names(self.things, field):
                        self._rename(build, given, field, _parts(build.field(part, name) for part in both))
            case ArrayOf() if self.things.is_by_thing(kind):
                for n in range(self.count):
                    places = number(n), self._at(build, table, number(n + 1))
                    one, other = _parts(build.element(part, to) for part, to in zip(both, places, strict=True))
                    build.write(other.text, one.type, build.read(one.text, one.type))  # type: ignore[arg-type]
                    if names(self.things, kind.element):
                        self._rename(build, given, kind.element, (one, other))
            case ArrayOf():
                with counted(build, number(0), self.module.shape.size(build, e, kind.length)) as item:
                    inner = _parts(build.element(part, item.at) for part in both)
                    self._rename(build, given, kind.element, inner)
            case BagOf():
                with counted(build, number(0), self.module.bags.count(build, source)) as item:
                    one, other = (self.module.bags.item(build, part, item.at) for part in both)
                    self._rename(build, given, Nested(kind.record), (one, other))
                self.module.bags.sort(build, target)

    def _at(self, build: Builder, table: Value, index: Value) -> Value:
        return build.read(*build.element(table, index))


def _parts(places: Iterable[tuple[str, Memory]]) -> tuple[Value, Value]:
    one, other = (Value(address, memory) for address, memory in places)  # type: ignore[arg-type]
    return one, other
