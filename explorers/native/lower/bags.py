"""Bags in memory: a count, and slots that are zero beyond the count. A state's messages are in canonical order."""

from collections.abc import Callable, Sequence

from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.llvm.builder import Builder, counted, only_if
from fencepost.explorers.native.llvm.types import Cell, Memory, Sort, Struct, Value, Vector, flag, number


class Bags:
    def __init__(self, checks: Vector, texts: list[str]) -> None:
        self.checks, self.texts = checks, texts
        self.names: dict[tuple[str, int], str] = {}
        self.kept: list[Memory] = []
        """Types by id, kept alive so that ids are not reused."""

    # -- in place

    def count(self, build: Builder, bag: Value) -> Value:
        address, memory = build.field(bag, "count")
        return build.read(address, memory)._replace(low=0, high=_items(bag).count)

    def resize(self, build: Builder, bag: Value, count: Value) -> None:
        build.write(*build.field(bag, "count"), count)

    def item(self, build: Builder, bag: Value, index: Value) -> Value:
        address, memory = build.field(bag, "items")
        assert isinstance(memory, Vector)
        return build.read(*build.element(Value(address, memory), index))

    def last(self, build: Builder, bag: Value) -> Value:
        """Return the first free slot; if all slots are in use, return one that may be overwritten."""
        room = _items(bag).count
        if room == 0:
            element = _items(bag).element
            assert isinstance(element, Struct)
            register = build.register()
            build.slots.append(f"  {register} = alloca [{max(1, element.bytes)} x i8], align 8")
            found = Value(register, element)
            self.clear(build, found)
            return found
        return self.item(build, bag, build.least([self.count(build, bag), number(room - 1)]))

    def clear(self, build: Builder, message: Value) -> None:
        self._call(build, "clear", message.type, [message])

    def remove(self, build: Builder, e: Value, bag: Value, message: Value) -> None:
        """Remove the message itself or, if it is not there, the first equal one; if both are missing, record ABSENT."""
        self._call(build, "remove", bag.type, [e, bag, message])

    def sort(self, build: Builder, bag: Value) -> None:
        if _items(bag).count > 1:
            self._call(build, "sort", bag.type, [bag])

    def distinct(self, build: Builder, bag: Value) -> Value:
        return self._call(build, "distinct", bag.type, [bag], Sort.NUMBER)._replace(low=0, high=_items(bag).count)

    def same(self, build: Builder, one: Value, other: Value) -> Value:
        return self._call(build, "same", one.type, [one, other], Sort.FLAG)

    # -- as functions

    def _call(
        self, build: Builder, name: str, kind: object, values: Sequence[Value], result: Sort = Sort.NOTHING
    ) -> Value:
        assert isinstance(kind, Struct)
        key = (name, id(kind))
        if key not in self.names:
            self.names[key] = f"bag.{name}.{len(self.names)}"
            self.kept.append(kind)
            made = Builder(self.names[key], [value.type for value in values], attributes="nounwind")
            made.result = result
            writers = {"clear": self._clear, "remove": self._remove, "sort": self._sort, "distinct": self._distinct}
            {**writers, "same": self._same, "less": self._less}[name](made)
            self.texts.append(made.text())
        return build.call(f"@{self.names[key]}", result, values)

    def _clear(self, build: Builder) -> None:
        (message,) = build.arguments
        cells = message.type
        _each(build, cells, (message,), lambda cell, a: build.write(a, cell, number(0)))  # type: ignore[arg-type]
        build.give()

    def _remove(self, build: Builder) -> None:
        e, bag, message = build.arguments
        count, place = self.count(build, bag), build.slot(Sort.NUMBER)
        build.keep(place, number(-1))
        for alike in (self._is_at, self.same):
            with (
                only_if(build, build.compared("<", build.kept(place, Sort.NUMBER), number(0))),
                counted(build, number(0), count) as item,
            ):
                found = alike(build, self.item(build, bag, item.at), message)
                with only_if(build, found):
                    build.keep(place, item.at)
                    build.jump(item.end)
        at = build.kept(place, Sort.NUMBER)
        gone, there = build.label(), build.label()
        build.branch(build.compared("<", at, number(0)), gone, there, checks.RARE)
        build.begin(gone)
        checks.note(build, e, checks.ABSENT)
        build.give()
        build.begin(there)
        left = build.wrapped("-", count, number(1))
        with counted(build, at, left) as item:
            following = self.item(build, bag, build.wrapped("+", item.at, number(1)))
            here = self.item(build, bag, item.at)
            assert isinstance(here.type, Struct)
            build.write(here.text, here.type, following)
        self.clear(build, self.item(build, bag, left))
        self.resize(build, bag, left)
        build.give()

    def _is_at(self, build: Builder, one: Value, other: Value) -> Value:
        return Value(build.value(f"icmp eq ptr {one.text}, {other.text}"), Sort.FLAG)

    def _sort(self, build: Builder) -> None:
        (bag,) = build.arguments
        element = _items(bag).element
        assert isinstance(element, Struct)
        aside = build.register()
        build.slots.append(f"  {aside} = alloca [{max(1, element.bytes)} x i8], align 8")
        place = build.slot(Sort.NUMBER)
        with counted(build, number(1), self.count(build, bag)) as item:
            moved, stays = self.item(build, bag, item.at), build.label()
            before = self.item(build, bag, build.wrapped("-", item.at, number(1)))
            out = build.label()
            build.branch(self._is_less(build, moved, before), out, stays)
            build.begin(out)
            build.write(aside, element, moved)
            build.keep(place, item.at)
            top, shift, done = build.label(), build.label(), build.label()
            build.jump(top)
            build.begin(top)
            at = build.kept(place, Sort.NUMBER)
            check = build.label()
            build.branch(build.compared(">", at, number(0)), check, done)
            build.begin(check)
            previous = self.item(build, bag, build.wrapped("-", at, number(1)))
            build.branch(self._is_less(build, Value(aside, element), previous), shift, done)
            build.begin(shift)
            build.write(self.item(build, bag, at).text, element, previous)
            build.keep(place, build.wrapped("-", at, number(1)))
            build.jump(top)
            build.begin(done)
            build.write(self.item(build, bag, build.kept(place, Sort.NUMBER)).text, element, Value(aside, element))
            build.jump(stays)
            build.begin(stays)
        build.give()

    def _distinct(self, build: Builder) -> None:
        (bag,) = build.arguments
        found = build.slot(Sort.NUMBER)
        build.keep(found, number(0))
        with counted(build, number(0), self.count(build, bag)) as item:
            new, first, other = build.label(), build.label(), build.label()
            build.branch(build.compared("==", item.at, number(0)), new, first)
            build.begin(first)
            previous = self.item(build, bag, build.wrapped("-", item.at, number(1)))
            build.branch(self.same(build, self.item(build, bag, item.at), previous), other, new)
            build.begin(new)
            build.keep(found, build.wrapped("+", build.kept(found, Sort.NUMBER), number(1)))
            build.jump(other)
            build.begin(other)
        build.give(build.kept(found, Sort.NUMBER))

    def _is_less(self, build: Builder, one: Value, other: Value) -> Value:
        return self._call(build, "less", one.type, [one, other], Sort.FLAG)

    def _same(self, build: Builder) -> None:
        one, other = build.arguments

        def compare(cell: Cell, a: str, b: str) -> None:
            with only_if(build, build.compared("!=", build.load(a, cell), build.load(b, cell))):
                build.give(flag(value=False))

        _each(build, one.type, (one, other), compare)  # type: ignore[arg-type]
        build.give(flag(value=True))

    def _less(self, build: Builder) -> None:
        one, other = build.arguments

        def compare(cell: Cell, a: str, b: str) -> None:
            left, right = build.load(a, cell), build.load(b, cell)
            with only_if(build, build.compared("!=", left, right)):
                build.give(build.compared("<", left, right))

        _each(build, one.type, (one, other), compare)  # type: ignore[arg-type]
        build.give(flag(value=False))


def _items(bag: Value) -> Vector:
    assert isinstance(bag.type, Struct)
    _, found = bag.type.fields["items"]
    assert isinstance(found, Vector)
    return found


def _each(build: Builder, memory: Memory, values: Sequence[Value], visit: Callable[..., None]) -> None:
    if isinstance(memory, Cell):
        visit(memory, *(value.text for value in values))
    elif isinstance(memory, Struct):
        for name, (_, inner) in memory.fields.items():
            inside = [Value(build.field(value, name)[0], inner) for value in values]  # type: ignore[arg-type]
            _each(build, inner, inside, visit)
    elif memory.count:
        with counted(build, number(0), number(memory.count)) as item:
            places = [build.element(value, item.at)[0] for value in values]
            parts = [Value(place, memory.element) for place in places]  # type: ignore[arg-type]
            _each(build, memory.element, parts, visit)
