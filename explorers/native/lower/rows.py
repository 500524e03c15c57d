"""Packing, unpacking and hashing of states. The code is the same for every layout, because it reads tables.

Each word of memory has a mask of stored bits: packing gathers the stored bits (pext), and unpacking scatters them
(pdep). A field with negative values is stored modulo 2**bits, and its least value is added after scattering. Because
every field with negative values is narrower than its bytes, nothing carries into the next field.
"""

from fencepost.explorers.native.layout import BITS, ENTRY, HEAD, STEPS, WORD, Entry, Layout, entries
from fencepost.explorers.native.llvm.builder import Builder, counted
from fencepost.explorers.native.llvm.types import Cell, Sort, Struct, Value, Vector, number, word

_WORD = Cell(8, signed=False)


class Rows:
    """The functions of a module that pack, unpack and hash. Their data starts at `place` in the check array."""

    WORDS, COUNT, FAST = range(HEAD)

    def __init__(self, state: Struct, place: int, layout: Layout) -> None:
        self.state, self.place = state, place
        self.exact = layout if layout.exact else None
        """The layout, if exact. For an exact layout, packing needs no loop, and all masks are literals."""

    # -- in the functions of a module

    def words(self, build: Builder, e: Value) -> Value:
        if self.exact:
            return number(self.exact.words)
        return self._number(build, e, self.WORDS)._replace(low=1, high=1 << 16)

    def row(self, build: Builder, e: Value, rows: Value, index: Value) -> Value:
        place = build.wrapped("*", index, self.words(build, e))
        return Value(build.scaled(rows.text, _WORD, place), Vector(_WORD, 0))

    def clear(self, build: Builder, state: Value) -> None:
        """Set a state to zero, because unpacking writes only words with stored bits."""
        for place in range(self.state.bytes // WORD):
            _store(build, state, place, "0")

    def unpack(self, build: Builder, e: Value, row: Value, state: Value) -> None:
        self._call(build, "unpack", e, row, state)

    def pack(self, build: Builder, e: Value, state: Value, row: Value) -> None:
        self._call(build, "pack", e, state, row)

    def hash(self, build: Builder, e: Value, row: Value) -> Value:
        return build.call("@hash", Sort.WORD, [e, row])

    def _call(self, build: Builder, name: str, *values: Value) -> None:
        build.call(f"@{name}", Sort.NOTHING, values)

    def _number(self, build: Builder, e: Value, index: int) -> Value:
        return build.read(*build.element(e, number(self.place + index)))

    # -- the functions

    def text(self, checks: Vector, *, x86: bool) -> str:
        """Return the functions as LLVM IR. `checks` is the check array's type; on x86-64, `FAST` selects a version."""
        found = [_INTRINSICS] if x86 else []
        for kind in ("plain", "fast") if x86 else ("plain",):
            attributes = 'nounwind noinline "target-features"="+bmi2"' if kind == "fast" else "nounwind noinline"
            for name, make in (("pack", self._pack), ("unpack", self._unpack)):
                build = Builder(f"{name}_{kind}", [checks, _ROW, _ROW], attributes=attributes)
                if self.exact and kind == "fast":
                    (_pack_exactly if name == "pack" else _unpack_exactly)(build, self.exact)
                else:
                    make(build, fast=kind == "fast")
                build.give()
                found.append(build.text())
        return "\n".join([*found, self._chosen("pack", checks, x86=x86), self._chosen("unpack", checks, x86=x86)])

    def _chosen(self, name: str, checks: Vector, *, x86: bool) -> str:
        build = Builder(name, [checks, _ROW, _ROW], attributes="nounwind alwaysinline")
        if x86:
            plain, fast = build.label(), build.label()
            build.branch(build.flag(self._number(build, build.arguments[0], self.FAST)), fast, plain)
            build.begin(fast)
            build.call(f"@{name}_fast", Sort.NOTHING, build.arguments)
            build.give()
            build.begin(plain)
        build.call(f"@{name}_plain", Sort.NOTHING, build.arguments)
        build.give()
        return build.text()

    def hashing(self, checks: Vector) -> str:
        """Return the hash function. Each step can be inverted, so changing one word changes the hash."""
        build = Builder("hash", [checks, _ROW], attributes="nounwind alwaysinline")
        e, row = build.arguments
        kept = build.slot(Sort.WORD)
        build.keep(kept, word(0x9E3779B97F4A7C15))
        with counted(build, number(0), self.words(build, e)) as item:
            address, memory = build.element(row, item.at)
            mixed = build.bitwise("^", build.kept(kept, Sort.WORD), build.read(address, memory))
            mixed = build.wrapped("*", mixed, word(0xD6E8FEB86659FD93))
            build.keep(kept, _folded(build, mixed, 32))
        mixed = build.wrapped("*", build.kept(kept, Sort.WORD), word(0xFF51AFD7ED558CCD))
        mixed = build.wrapped("*", _folded(build, mixed, 29), word(0xC4CEB9FE1A85EC53))
        build.result = Sort.WORD
        build.give(_folded(build, mixed, 32))
        return build.text()

    def _pack(self, build: Builder, *, fast: bool) -> None:
        e, state, row = build.arguments
        kept = build.slot(Sort.WORD)
        build.keep(kept, word(0))
        _write(build, row, number(0), word(0))
        with counted(build, number(0), self._number(build, e, self.COUNT)) as item:
            entry = _Entry(build, build.offset(e.text, WORD * (self.place + HEAD)), item.at)
            bits = _gathered(build, entry, build.read(*build.element(state, entry.number("word"))), fast=fast)
            shift, count = entry.number("shift"), entry.number("bits")
            whole = build.bitwise("|", build.kept(kept, Sort.WORD), build.shifted("<<", bits, shift))
            _write(build, row, entry.number("source"), whole)
            rest = build.shifted(
                ">>", build.shifted(">>", bits, number(1)), build.wrapped("-", number(BITS - 1), shift)
            )
            end = build.wrapped("+", shift, count)
            after = _select(build, build.compared(">=", end, number(BITS)), rest, whole)
            _write(
                build, row, entry.number("last"), _select(build, build.compared(">", end, number(BITS)), rest, whole)
            )
            build.keep(kept, after)

    def _unpack(self, build: Builder, *, fast: bool) -> None:
        e, row, state = build.arguments
        with counted(build, number(0), self._number(build, e, self.COUNT)) as item:
            entry = _Entry(build, build.offset(e.text, WORD * (self.place + HEAD)), item.at)
            shift = entry.number("shift")
            low = build.shifted(">>", build.read(*build.element(row, entry.number("source"))), shift)
            high = build.shifted("<<", build.read(*build.element(row, entry.number("last"))), number(1))
            high = build.shifted("<<", high, build.wrapped("-", number(BITS - 1), shift))
            mask, base, tops = entry.word("mask"), entry.word("base"), entry.word("tops")
            bits = _scattered(build, entry, build.bitwise("|", low, high), fast=fast)
            bits = build.bitwise("&", build.wrapped("+", bits, base), mask)
            bits = build.bitwise("^", build.wrapped("-", build.bitwise("|", bits, tops), base), tops)
            _write(build, state, entry.number("word"), bits)


def _pack_exactly(build: Builder, layout: Layout) -> None:
    _, state, row = build.arguments
    kept = "0"
    for item in entries(layout):
        bits = _loaded(build, state, item.word)
        bits = build.value(f"call i64 @llvm.x86.bmi.pext.64(i64 {bits}, i64 {word(item.mask).text})")
        kept = build.value(f"or i64 {kept}, {build.value(f'shl i64 {bits}, {item.shift}')}")
        end = item.shift + item.bits
        if end >= BITS:
            _store(build, row, item.source, kept)
            kept = build.value(f"lshr i64 {bits}, {BITS - item.shift}") if end > BITS else "0"
    if layout.bits < BITS * layout.words:
        _store(build, row, layout.words - 1, kept)


def _unpack_exactly(build: Builder, layout: Layout) -> None:
    _, row, state = build.arguments
    words = [_loaded(build, row, place) for place in range(layout.words)]
    for item in entries(layout):
        bits = build.value(f"lshr i64 {words[item.source]}, {item.shift}")
        if item.last != item.source:
            bits = build.value(f"or i64 {bits}, {build.value(f'shl i64 {words[item.last]}, {BITS - item.shift}')}")
        mask, base, tops = (word(value).text for value in (item.mask, item.base, item.tops))
        bits = build.value(f"call i64 @llvm.x86.bmi.pdep.64(i64 {bits}, i64 {mask})")
        if item.tops:
            for step in f"add i64 {{}}, {base}", f"and i64 {{}}, {mask}", f"or i64 {{}}, {tops}":
                bits = build.value(step.format(bits))
            bits = build.value(f"xor i64 {build.value(f'sub i64 {bits}, {base}')}, {tops}")
        _store(build, state, item.word, bits)


def _loaded(build: Builder, words: Value, place: int) -> str:
    return build.value(f"load i64, ptr {build.offset(words.text, WORD * place)}, align 8")


def _store(build: Builder, words: Value, place: int, text: str) -> None:
    build.emit(f"store i64 {text}, ptr {build.offset(words.text, WORD * place)}, align 8")


_ROW = Vector(_WORD, 0)
_INTRINSICS = "declare i64 @llvm.x86.bmi.pext.64(i64, i64)\ndeclare i64 @llvm.x86.bmi.pdep.64(i64, i64)\n"


class _Entry:
    def __init__(self, build: Builder, entries: str, index: Value) -> None:
        self.build = build
        self.address = build.scaled(entries, Vector(_WORD, ENTRY), index)

    def word(self, name: str) -> Value:
        return self.build.load(self.build.offset(self.address, WORD * Entry._fields.index(name)), _WORD)

    def number(self, name: str) -> Value:
        return self.word(name)._replace(type=Sort.NUMBER, low=0, high=BITS - 1 if name == "shift" else 1 << 16)

    def move(self, step: int) -> Value:
        return self.build.load(self.build.offset(self.address, WORD * (len(Entry._fields) - 1 + step)), _WORD)


def _gathered(build: Builder, entry: _Entry, bits: Value, *, fast: bool) -> Value:
    mask = entry.word("mask")
    if fast:
        return build.call("@llvm.x86.bmi.pext.64", Sort.WORD, [bits, mask])
    bits = build.bitwise("&", bits, mask)
    for step in range(STEPS):
        moved = build.bitwise("&", bits, entry.move(step))
        bits = build.bitwise("|", build.bitwise("^", bits, moved), build.shifted(">>", moved, number(1 << step)))
    return bits


def _scattered(build: Builder, entry: _Entry, bits: Value, *, fast: bool) -> Value:
    mask = entry.word("mask")
    if fast:
        return build.call("@llvm.x86.bmi.pdep.64", Sort.WORD, [bits, mask])
    for step in reversed(range(STEPS)):
        move = entry.move(step)
        moved = build.bitwise("&", build.shifted("<<", bits, number(1 << step)), move)
        stays = build.bitwise("&", bits, build.bitwise("^", move, word((1 << BITS) - 1)))
        bits = build.bitwise("|", stays, moved)
    return build.bitwise("&", bits, mask)


def _write(build: Builder, words: Value, index: Value, value: Value) -> None:
    build.write(*build.element(words, index), value)


def _select(build: Builder, condition: Value, yes: Value, no: Value) -> Value:
    return Value(build.value(f"select i1 {condition.text}, i64 {yes.text}, i64 {no.text}"), Sort.WORD)


def _folded(build: Builder, bits: Value, shift: int) -> Value:
    return build.bitwise("^", bits, build.shifted(">>", bits, number(shift)))
