"""Builder of a function in LLVM IR, value by value: blocks, loads and stores by layout, arithmetic, and calls.

No operation silently wraps or has undefined behaviour. Each 64-bit sum is known to fit, checked (`checked`), or
intended to wrap (`wrapped`). The code contains no `nsw` flag and no shift by more than 63.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from fencepost.explorers.native.llvm.types import (
    GREATEST,
    LEAST,
    NOTHING,
    WORD_BITS,
    Cell,
    Code,
    Memory,
    Named,
    Sort,
    Struct,
    Type,
    Value,
    Vector,
    View,
    flag,
    number,
    spelled,
    word,
)

SIGNED = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}
UNSIGNED = {"==": "eq", "!=": "ne", "<": "ult", "<=": "ule", ">": "ugt", ">=": "uge"}
FEW = 512
BITWISE = {"&": "and", "|": "or", "^": "xor"}


class Builder:
    """A function being written. `at` is the current block, which ends with a jump; `begin` starts the next block."""

    def __init__(self, name: str, parameters: Sequence[Type], *, exported: bool = False, attributes: str = "") -> None:
        self.name, self.exported, self.attributes = name, exported, attributes
        self.parameters = tuple(parameters)
        self.arguments: list[Value] = []
        self.result: Sort | Type = Sort.NOTHING
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.at: str | None = "entry"
        self._count = 0
        self._heads: list[str] = []
        for position, kind in enumerate(parameters):
            self._parameter(f"%a{position}", kind)

    def _parameter(self, name: str, kind: Type) -> None:
        own = " noalias" if isinstance(kind, Named) else ""
        self._heads.append(f"{spelled(kind)}{own} {name}")
        lengths = []
        if isinstance(kind, View):
            for place, fixed in enumerate(kind.fixed):
                self._heads.append(f"i64 {name}.{place}")
                lengths.append(Value(f"{name}.{place}", Sort.NUMBER, 0) if fixed is None else number(fixed))
        self.arguments.append(Value(name, kind, lengths=tuple(lengths)))

    def owned(self, position: int) -> None:
        """Declare that the function accesses the memory behind a parameter only through that parameter."""
        kind, _, name = self._heads[position].partition(" ")
        self._heads[position] = f"{kind} noalias {name}"

    def text(self) -> str:
        linkage = "" if self.exported else "internal "
        head = f"define {linkage}{spelled(self.result)} @{self.name}({', '.join(self._heads)}) {self.attributes} {{"
        return "\n".join([head, "entry:", *self.slots, *self.lines, "}", ""])

    # -- blocks

    def label(self) -> str:
        self._count += 1
        return f"L{self._count}"

    def register(self) -> str:
        self._count += 1
        return f"%r{self._count}"

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def value(self, instruction: str) -> str:
        self._count += 1
        register = f"%r{self._count}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def mark(self) -> tuple[int, int, str | None]:
        return len(self.lines), len(self.slots), self.at

    def undo(self, before: tuple[int, int, str | None]) -> None:
        lines, slots, self.at = before
        del self.lines[lines:], self.slots[slots:]

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.at = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")
        self.at = None

    def branch(self, condition: Value, yes: str, no: str, hint: str = "") -> None:
        if condition.text in ("true", "false"):
            self.jump(yes if condition.text == "true" else no)
            return
        self.lines.append(f"  br i1 {condition.text}, label %{yes}, label %{no}{hint}")
        self.at = None

    def give(self, value: Value = NOTHING) -> None:
        self.emit("ret void" if value.type is Sort.NOTHING else f"ret {spelled(value.type)} {value.text}")
        self.at = None

    def phi(self, ways: Sequence[tuple[Value, str]]) -> Value:
        first = ways[0][0]
        if all(value.text == first.text for value, _ in ways):
            return first
        text = self.value(
            f"phi {spelled(first.type)} " + ", ".join(f"[{value.text}, %{label}]" for value, label in ways)
        )
        return Value(text, first.type, min(value.low for value, _ in ways), max(value.high for value, _ in ways))

    def decided(self, decide: Callable[[str, str], None]) -> Value:
        """Return a condition as a flag. `decide` receives the labels for true and false, and ends the current block."""
        return self.chosen(decide, lambda: flag(value=True), lambda: flag(value=False))

    def chosen(
        self, decide: Callable[[str, str], None], then: Callable[[], Value], other: Callable[[], Value]
    ) -> Value:
        yes, no, end = self.label(), self.label(), self.label()
        decide(yes, no)
        ways = []
        for label, value in ((yes, then), (no, other)):
            self.begin(label)
            found = value()
            assert self.at is not None
            ways.append((found, self.at))
            self.jump(end)
        if any(value.type is Sort.WORD for value, _ in ways):
            ways = [(value._replace(type=Sort.WORD), label) for value, label in ways]
        self.begin(end)
        return self.phi(ways)

    def either(
        self, decide: Callable[[str, str], None], then: Callable[[], None], other: Callable[[], None] | None
    ) -> None:
        yes, no, end = self.label(), self.label(), self.label()
        decide(yes, no if other else end)
        goes_on = other is None
        for label, write in ((yes, then), (no, other)):
            if write is not None:
                self.begin(label)
                write()
                if self.at is not None:
                    self.jump(end)
                    goes_on = True
        if goes_on:
            self.begin(end)

    # -- locals that change

    def slot(self, kind: Type) -> str:
        register = self.register()
        self.slots.append(f"  {register} = alloca {spelled(kind)}")
        return register

    def room(self, size: int) -> str:
        register = self.register()
        self.slots.append(f"  {register} = alloca [{size} x i8], align 16")
        return register

    def keep(self, slot: str, value: Value) -> None:
        self.emit(f"store {spelled(value.type)} {value.text}, ptr {slot}")

    def kept(self, slot: str, kind: Type) -> Value:
        return Value(self.value(f"load {spelled(kind)}, ptr {slot}"), kind)

    # -- memory

    def load(self, address: str, cell: Cell) -> Value:
        bits = 8 * cell.bytes
        text = self.value(f"load i{bits}, ptr {address}, align 1")
        if bits == WORD_BITS:
            return Value(text, Sort.NUMBER if cell.signed else Sort.WORD)
        text = self.value(f"{'sext' if cell.signed else 'zext'} i{bits} {text} to i64")
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if cell.signed else (0, (1 << bits) - 1)
        return Value(text, Sort.NUMBER, low, high)

    def store(self, address: str, cell: Cell, value: Value) -> None:
        bits, text = 8 * cell.bytes, self.number(value).text
        if bits < WORD_BITS:
            text = self.value(f"trunc i64 {text} to i{bits}")
        self.emit(f"store i{bits} {text}, ptr {address}, align 1")

    def read(self, address: str, memory: Memory) -> Value:
        return self.load(address, memory) if isinstance(memory, Cell) else Value(address, memory)

    def write(self, address: str, memory: Memory, value: Value) -> None:
        """Write a number, or copy a record. Two records of the same type must be identical or must not overlap."""
        if isinstance(memory, Cell):
            self.store(address, memory, value)
        elif memory.bytes > FEW:
            self.emit(
                f"call void @llvm.memcpy.inline.p0.p0.i64(ptr {address}, ptr {value.text}, i64 "
                f"{memory.bytes}, i1 false)"
            )
        else:
            self._copy(address, value.text, memory.bytes)

    def _copy(self, address: str, source: str, size: int) -> None:
        """Copy memory with the widest registers that every processor has. LLVM's memcpy is slow for about 100 bytes."""
        at, parts = 0, []
        for bits in (128, 64, 32, 16, 8):
            while size - at >= bits // 8:
                kind = "<2 x i64>" if bits == 128 else f"i{bits}"
                parts.append((at, kind, self.value(f"load {kind}, ptr {self.offset(source, at)}, align 1")))
                at += bits // 8
        for place, kind, value in parts:
            self.emit(f"store {kind} {value}, ptr {self.offset(address, place)}, align 1")

    def field(self, record: Value, name: str) -> tuple[str, Memory]:
        assert isinstance(record.type, Struct)
        offset, memory = record.type.fields[name]
        return self.offset(record.text, offset), memory

    def offset(self, address: str, count: int) -> str:
        return self.value(f"getelementptr i8, ptr {address}, i64 {count}") if count else address

    def element(self, array: Value, index: Value) -> tuple[str, Memory]:
        assert isinstance(array.type, Vector)
        return self.scaled(array.text, array.type.element, index), array.type.element

    def scaled(self, address: str, element: Memory, index: Value) -> str:
        return self.value(f"getelementptr [{element.bytes} x i8], ptr {address}, i64 {index.text}")

    def cell_of(self, view: Value, indices: Sequence[Value]) -> tuple[str, Memory]:
        assert isinstance(view.type, View)
        place = indices[0]
        for index, length in zip(indices[1:], view.lengths[1:], strict=True):
            place = self.wrapped("+", self.wrapped("*", place, length), index)
        return self.scaled(view.text, view.type.element, place), view.type.element

    def part(self, view: Value, index: Value) -> Value:
        assert isinstance(view.type, View)
        size = index
        for length in view.lengths[1:]:
            size = self.wrapped("*", size, length)
        address = self.scaled(view.text, view.type.element, size)
        return Value(address, View(view.type.element, view.type.fixed[1:]), lengths=view.lengths[1:])

    def named(self, values: Value, name: str) -> Value:
        assert isinstance(values.type, Named)
        place, low, high = values.type.names[name]
        return self.load(self.offset(values.text, 8 * place), Cell(8, signed=True))._replace(low=low, high=high)

    # -- numbers and flags

    def number(self, value: Value) -> Value:
        if value.type is not Sort.FLAG:
            return value
        if value.text in ("true", "false"):
            return number(int(value.text == "true"))
        return Value(self.value(f"zext i1 {value.text} to i64"), Sort.NUMBER, 0, 1)

    def flag(self, value: Value) -> Value:
        if value.type is Sort.FLAG:
            return value
        if value.low == value.high:
            return Value("true" if value.low else "false", Sort.FLAG)
        return Value(self.value(f"icmp ne i64 {value.text}, 0"), Sort.FLAG)

    def negated(self, value: Value) -> Value:
        return Value(self.value(f"xor i1 {self.flag(value).text}, true"), Sort.FLAG)

    def joined(self, sign: str, one: Value, other: Value) -> Value:
        return Value(self.value(f"{BITWISE[sign]} i1 {one.text}, {other.text}"), Sort.FLAG)

    def both(self, one: Value, other: Value) -> Value:
        return self.joined("&", one, other)

    def alike(self, left: Value, right: Value) -> tuple[Value, Value, bool]:
        """Return two numbers of one type (a literal takes the type of the other), and whether they are unsigned."""
        left, right = self.number(left), self.number(right)
        if left.type is right.type:
            return left, right, left.type is Sort.WORD
        if left.type is Sort.NUMBER and left.low == left.high and left.low >= 0:
            return word(left.low), right, True
        assert right.type is Sort.NUMBER, "a word is combined with something other than a word or a number"
        assert right.low == right.high, "a word is combined with a number that is not a literal"
        assert right.low >= 0, "a word is combined with a negative number"
        return left, word(right.low), True

    def compared(self, sign: str, left: Value, right: Value) -> Value:
        left, right, unsigned = self.alike(left, right)
        text = self.value(f"icmp {(UNSIGNED if unsigned else SIGNED)[sign]} i64 {left.text}, {right.text}")
        return Value(text, Sort.FLAG)

    def wrapped(self, sign: str, left: Value, right: Value) -> Value:
        left, right, unsigned = self.alike(left, right)
        low, high = (LEAST, GREATEST) if unsigned else ends(sign, left, right)
        if low == high:
            return number(low)
        if (sign == "+" and left.text == "0") or (sign == "*" and left.text == "1"):
            return right
        if (sign in "+-" and right.text == "0") or (sign == "*" and right.text == "1"):
            return left
        text = self.value(f"{ {'+': 'add', '-': 'sub', '*': 'mul'}[sign] } i64 {left.text}, {right.text}")
        if unsigned or low < LEAST or high > GREATEST:
            low, high = LEAST, GREATEST
        return Value(text, Sort.WORD if unsigned else Sort.NUMBER, low, high)

    def overflowing(self, sign: str, left: Value, right: Value) -> tuple[Value, Value | None]:
        """Return a sum, difference or product and, if it can overflow, a flag that is true if no overflow occurred."""
        left, right = self.number(left), self.number(right)
        low, high = ends(sign, left, right)
        if low >= LEAST and high <= GREATEST:
            return self.wrapped(sign, left, right), None
        name = {"+": "sadd", "-": "ssub", "*": "smul"}[sign]
        pair = self.value(f"call {{i64, i1}} @llvm.{name}.with.overflow.i64(i64 {left.text}, i64 {right.text})")
        found = Value(
            self.value(f"extractvalue {{i64, i1}} {pair}, 0"), Sort.NUMBER, max(low, LEAST), min(high, GREATEST)
        )
        return found, Value(self.value(f"extractvalue {{i64, i1}} {pair}, 1"), Sort.FLAG)

    def bitwise(self, sign: str, left: Value, right: Value) -> Value:
        left, right, unsigned = self.alike(left, right)
        text = self.value(f"{BITWISE[sign]} i64 {left.text}, {right.text}")
        low, high = LEAST, GREATEST
        if not unsigned and left.low >= 0 and right.low >= 0:
            low, high = 0, (1 << max(left.high, right.high).bit_length()) - 1
        if not unsigned and sign == "&" and (left.low >= 0) != (right.low >= 0):
            low, high = 0, left.high if left.low >= 0 else right.high
        return Value(text, left.type, low, high)

    def shifted(self, sign: str, value: Value, count: Value) -> Value:
        value, count = self.number(value), self.number(count)
        if not 0 <= count.low <= count.high < WORD_BITS:
            count = Value(self.value(f"and i64 {count.text}, {WORD_BITS - 1}"), Sort.NUMBER, 0, WORD_BITS - 1)
        unsigned = value.type is Sort.WORD
        low, high = LEAST, GREATEST
        if sign == ">>" and not unsigned:
            shifts = [end >> by for end in (value.low, value.high) for by in (count.low, count.high)]
            low, high = min(shifts), max(shifts)
        elif not unsigned and value.low >= 0 and value.high << count.high <= GREATEST:
            low, high = 0, value.high << count.high
        if low == high:
            return number(low)
        name = "shl" if sign == "<<" else "lshr" if unsigned else "ashr"
        return Value(self.value(f"{name} i64 {value.text}, {count.text}"), value.type, low, high)

    def divided(self, sign: str, value: Value, divisor: int) -> Value:
        """Return `value // divisor` or `value % divisor`, rounded as in Python. The divisor must be positive."""
        value = self.number(value)
        assert divisor > 0
        if divisor & (divisor - 1) == 0:
            if sign == "//":
                return self.shifted(">>", value, number(divisor.bit_length() - 1))
            return self.bitwise("&", value, number(divisor - 1))
        rest = self.value(f"srem i64 {value.text}, {divisor}")
        below = self.value(f"icmp slt i64 {rest}, 0")
        if sign == "%":
            found = self.value(f"add i64 {rest}, {divisor}")
            return Value(self.value(f"select i1 {below}, i64 {found}, i64 {rest}"), Sort.NUMBER, 0, divisor - 1)
        quotient = self.value(f"sdiv i64 {value.text}, {divisor}")
        one = self.value(f"sext i1 {below} to i64")
        return Value(self.value(f"add i64 {quotient}, {one}"), Sort.NUMBER, value.low // divisor, value.high // divisor)

    def least(self, values: Sequence[Value]) -> Value:
        return self._extreme("min", [self.number(item) for item in values])

    def greatest(self, values: Sequence[Value]) -> Value:
        return self._extreme("max", [self.number(item) for item in values])

    def _extreme(self, name: str, values: list[Value]) -> Value:
        choose = min if name == "min" else max
        found = values[0]
        for item in values[1:]:
            found, item, unsigned = self.alike(found, item)  # noqa: PLW2901 (a literal takes the type of the others)
            kind = "u" if unsigned else "s"
            text = self.value(f"call i64 @llvm.{kind}{name}.i64(i64 {found.text}, i64 {item.text})")
            found = Value(text, found.type, choose(found.low, item.low), choose(found.high, item.high))
        return found

    # -- calls

    def call(self, name: str, result: Type, values: Sequence[Value]) -> Value:
        given = []
        for value in values:
            given.append(f"{spelled(value.type)} {value.text}")
            if isinstance(value.type, View):
                given += [f"i64 {length.text}" for length in value.lengths]
        text = f"call {spelled(result)} {name}({', '.join(given)})"
        if result is Sort.NOTHING:
            self.emit(text)
            return NOTHING
        return Value(self.value(text), result)

    def call_code(self, code: Value, values: Sequence[Value]) -> Value:
        assert isinstance(code.type, Code)
        pairs = zip(values, code.type.parameters, strict=True)
        plain = [value if isinstance(kind, View) else value._replace(type=kind) for value, kind in pairs]
        return self.call(code.text, code.type.result, plain)


def ends(sign: str, left: Value, right: Value) -> tuple[int, int]:
    if sign == "+":
        return left.low + right.low, left.high + right.high
    if sign == "-":
        return left.low - right.high, left.high - right.low
    found = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    return min(found), max(found)


# -- loops that count, and choices


class Round(NamedTuple):
    at: Value
    following: str
    end: str


@contextmanager
def counted(build: Builder, first: Value, last: Value) -> Iterator[Round]:
    """Run the block's code for each number from `first` to `last - 1`; both bounds are computed before the loop."""
    with _loop(build, first, last, up=True) as found:
        yield found


@contextmanager
def counted_down(build: Builder, first: Value, last: Value) -> Iterator[Round]:
    with _loop(build, first, last, up=False) as found:
        yield found


@contextmanager
def _loop(build: Builder, first: Value, last: Value, *, up: bool) -> Iterator[Round]:
    top, body, following, end = build.label(), build.label(), build.label(), build.label()
    before, now, after = build.at, build.register(), build.register()
    assert before is not None
    build.jump(top)
    build.begin(top)
    build.emit(f"{now} = phi i64 [{first.text}, %{before}], [{after}, %{following}]")
    ends = (first.low, max(first.low, last.high - 1)) if up else (min(first.high, last.low + 1), first.high)
    at = Value(now, Sort.NUMBER, *ends)
    build.branch(build.compared("<" if up else ">", at, last), body, end)
    build.begin(body)
    yield Round(at, following, end)
    if build.at is not None:
        build.jump(following)
    build.begin(following)
    build.emit(f"{after} = add i64 {now}, {1 if up else -1}")
    build.jump(top)
    build.begin(end)


@contextmanager
def only_if(build: Builder, condition: Value, hint: str = "") -> Iterator[None]:
    yes, end = build.label(), build.label()
    build.branch(condition, yes, end, hint)
    build.begin(yes)
    yield
    if build.at is not None:
        build.jump(end)
    build.begin(end)
