"""Random expressions: numbers, conditions, places, in a scope that knows which names stand for what."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tests.random_machines.schema import Record, Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.random_machines.choices import Choices
    from tests.random_machines.schema import Domain

LOCALS = ["a", "b", "v", "i", "x", "number", "found", "count", "r"]
"""Names of locals: few, so that they shadow each other."""


@dataclass
class Helper:
    """A helper: its parameters, whether it changes what it is given, what it returns (None: nothing)."""

    name: str
    parameters: list[str]
    """`State`, `C`, a record's name, or `int`."""
    effect: bool
    returns: str | None


@dataclass
class Scope:
    """What is known at one point of a function."""

    numbers: dict[str, str] = field(default_factory=dict)
    """Names of numbers, with the length that they stay below, if that is known."""
    records: dict[str, Record] = field(default_factory=dict)
    arrays: dict[str, Type] = field(default_factory=dict)
    received: set[str] = field(default_factory=set)
    """Names of messages that were received."""
    fixed: set[str] = field(default_factory=set)
    """Names that must not be given another value."""
    effects: bool = False
    """Whether an expression may change the state."""

    def inner(self) -> Scope:
        """Return a scope that knows the same, for a block or a generator."""
        return replace(self, numbers=dict(self.numbers), records=dict(self.records), arrays=dict(self.arrays))

    def forget(self, name: str) -> None:
        """A name stands for something else now."""
        for known in (self.numbers, self.records, self.arrays):
            known.pop(name, None)


class Expressions:
    """Draws expressions."""

    def __init__(self, choices: Choices, helpers: list[Helper]) -> None:
        self.choices, self.helpers = choices, helpers

    # -- places

    def records(self, scope: Scope, depth: int = 2) -> list[tuple[str, Record]]:
        """Return the records that names lead to without an index."""
        found = [(name, record) for name, record in scope.records.items()]
        for _ in range(depth):
            for text, record in list(found):
                inner = [
                    (f"{text}.{name}", kind.record)
                    for name, kind in record.fields
                    if kind.record is not None and not kind.bag and not kind.channel
                ]
                found += [item for item in inner if item not in found]
        return found

    def record(self, scope: Scope, wanted: str, depth: int = 2) -> str | None:
        """Return a place that holds a record of this class, if there is one."""
        options: list[Callable[[], str]] = [
            lambda text=text: text for text, record in self.records(scope) if record.name == wanted and text != "s"
        ]
        for text, record in self.records(scope):
            for name, kind in record.fields:
                if kind.element is not None and kind.element.record is not None and kind.element.record.name == wanted:
                    options.append(
                        lambda text=text, name=name, kind=kind: f"{text}.{name}[{self.index(scope, kind.size, depth)}]"
                    )
        for name, kind in scope.arrays.items():
            if kind.element is not None and kind.element.record is not None and kind.element.record.name == wanted:
                options.append(lambda name=name, kind=kind: f"{name}[{self.index(scope, kind.size, depth)}]")
        options += [
            lambda helper=helper: self.call(scope, helper, depth)
            for helper in self.helpers
            if helper.returns == wanted and "s" in scope.records and (scope.effects or not helper.effect)
        ]
        return self.choices.pick(options)() if options else None

    def scalar(self, scope: Scope, depth: int, *, written: bool = False) -> tuple[str, Domain] | None:
        """Return a place that holds a number, with its domain."""
        options: list[tuple[Callable[[], str], Domain]] = []
        for text, record in self.records(scope):
            if written and text.split(".")[0] in scope.received:
                continue
            for name, kind in record.fields:
                if kind.domain is not None and not (written and name == "pc"):
                    options.append((lambda text=text, name=name: f"{text}.{name}", kind.domain))
                elif kind.element is not None:
                    options += self.elements(scope, f"{text}.{name}", kind, depth)
        for name, kind in scope.arrays.items():
            if not (written and name in scope.received):
                options += self.elements(scope, name, kind, depth)
        if not options:
            return None
        make, domain = self.choices.pick(options)
        return make(), domain

    def elements(self, scope: Scope, text: str, kind: Type, depth: int) -> list[tuple[Callable[[], str], Domain]]:
        """Return the numbers in an array: its elements, or fields of its records."""
        assert kind.element is not None

        def at() -> str:
            return f"{text}[{self.index(scope, kind.size, depth)}]"

        if kind.element.domain is not None:
            return [(at, kind.element.domain)]
        if kind.element.element is not None:
            inner, row = kind.element, kind.element.element
            assert row.domain is not None
            return [(lambda: f"{at()}[{self.index(scope, inner.size, depth)}]", row.domain)]
        record = kind.element.record
        assert record is not None
        found = [(name, inner.domain) for name, inner in record.fields if inner.domain is not None]
        return [(lambda name=name: f"{at()}.{name}", domain) for name, domain in found]

    def index(self, scope: Scope, size: str, depth: int) -> str:
        """Return an index of an array of this length: mostly one that is inside."""
        known = ["0", *(name for name, below in scope.numbers.items() if below == size)]
        if self.choices.chance(4):
            return self.number(scope, depth - 1)
        if scope.effects and self.choices.chance(15):
            return f"max(0, min({size} - 1, {self.changing(scope, depth - 1)}))"
        if self.choices.chance(30):
            return f"max(0, min({size} - 1, {self.number(scope, depth - 1)}))"
        return self.choices.pick(known)

    # -- numbers

    def number(self, scope: Scope, depth: int) -> str:
        """Return a number."""
        leaf = [self.literal, self.name, self.field, self.constant]
        if scope.effects and self.choices.chance(12):
            return self.changing(scope, depth)
        if depth <= 0:
            return self.choices.pick(leaf)(scope, 0)
        more = [
            *leaf, self.arithmetic, self.field, self.condition, self.conditional, self.logic, self.builtin, self.helper, self.fold,
            self.shift, self.length, self.unary, self.helper, self.extreme,
        ]  # fmt: skip
        return self.choices.pick(more)(scope, depth)

    def literal(self, _: Scope, __: int) -> str:
        """Return a literal, or a number of the module."""
        return self.choices.pick(["0", "1", "2", "-1", "3", "True", "FOUR", "Mood.B", "NONE", "Sour.BAD", "1000003"])

    def name(self, scope: Scope, depth: int) -> str:
        """Return a local or a parameter."""
        return self.choices.pick(list(scope.numbers)) if scope.numbers else self.literal(scope, depth)

    def field(self, scope: Scope, depth: int) -> str:
        """Return the number in a place."""
        found = self.scalar(scope, depth)
        return found[0] if found else self.literal(scope, depth)

    def constant(self, _: Scope, __: int) -> str:
        """Return a constant of the run."""
        return self.choices.pick(["c.n", "c.k", "c.b", "c.on", "c.mood"])

    def arithmetic(self, scope: Scope, depth: int) -> str:
        """Return a sum or the like."""
        operator = self.choices.pick(["+", "-", "*", "//", "%", "&", "|", "^"])
        left = self.number(scope, depth - 1)
        right = self.choices.pick(["2", "3", "5"]) if operator in ("//", "%") else self.number(scope, depth - 1)
        return f"({left} {operator} {right})"

    def shift(self, scope: Scope, depth: int) -> str:
        """Return a shift, mostly by few bits."""
        count = self.number(scope, depth - 1)
        if not self.choices.chance(5):
            count = f"max(0, min({self.choices.pick(['3', '40', '61'])}, {count}))"
        elif not self.choices.chance(50):
            count = f"min(70, {count})"
        return f"({self.number(scope, depth - 1)} {self.choices.pick(['<<', '>>'])} {count})"

    def unary(self, scope: Scope, depth: int) -> str:
        """Return an operator of one number; the language refuses `~` of a condition, so that stands beside a sum."""
        inner = self.number(scope, depth - 1)
        return self.choices.pick(
            [f"(-{inner})", f"(+{inner})", f"(~(0 + {inner}))", f"abs({inner})", f"int({inner})", f"bool({inner})"]
        )

    def builtin(self, scope: Scope, depth: int) -> str:
        """Return the least or the greatest of some numbers."""
        items = [self.number(scope, depth - 1) for _ in range(2 + self.choices.below(2))]
        return f"{self.choices.pick(['min', 'max'])}({', '.join(items)})"

    def conditional(self, scope: Scope, depth: int) -> str:
        """Return one of two numbers."""
        return f"({self.number(scope, depth - 1)} if {self.condition(scope, depth - 1)} else {self.number(scope, depth - 1)})"

    def logic(self, scope: Scope, depth: int) -> str:
        """Return `and` or `or` of numbers."""
        word = self.choices.pick([" and ", " or "])
        return f"({word.join(self.number(scope, depth - 1) for _ in range(2 + self.choices.below(2)))})"

    def length(self, scope: Scope, depth: int) -> str:
        """Return the length of an array or a bag."""
        known = [
            f"{text}.{name}"
            for text, record in self.records(scope)
            for name, kind in record.fields
            if kind.element or kind.bag or kind.channel
        ]
        return f"len({self.choices.pick(known)})" if known else self.literal(scope, depth)

    def condition(self, scope: Scope, depth: int) -> str:
        """Return a condition."""
        what = self.choices.below(13 if depth > 0 else 4)
        if what < 4:
            return self.compared(scope, depth, 1)
        if what == 4:
            return self.compared(scope, depth, 2 + self.choices.below(2))
        if what == 5:
            word = self.choices.pick(["in", "not in"])
            others = ", ".join(self.number(scope, depth - 1) for _ in range(1 + self.choices.below(3)))
            return f"({self.number(scope, depth - 1)} {word} ({others},))"
        if what == 6:
            return f"(not {self.condition(scope, depth - 1)})"
        if what == 7:
            return f"({self.condition(scope, depth - 1)} and {self.condition(scope, depth - 1)})"
        if what == 8:
            return f"({self.condition(scope, depth - 1)} or {self.condition(scope, depth - 1)})"
        if what == 9:
            return self.membership(scope, depth)
        if what == 10:
            return self.equality(scope, depth)
        return self.fold(scope, depth, ["all", "any"])

    def membership(self, scope: Scope, depth: int) -> str:
        """Return `in` a tuple or a set of the module, a range, an array, or a set of the state."""
        options = ["SOME", "RARE", f"range({self.number(scope, depth - 1)})", f"range(-1, {self.number(scope, depth - 1)})"]
        for text, record in self.records(scope):
            for name, kind in record.fields:
                if kind.element is not None and kind.element.domain is not None:
                    options.append(f"{text}.{name}")
                elif kind.domain is not None and kind.domain.alias == "Things":
                    options += [f"{text}.{name}"] * 2
        return f"({self.number(scope, depth - 1)} {self.choices.pick(['in', 'not in'])} {self.choices.pick(options)})"

    def equality(self, scope: Scope, depth: int) -> str:
        """Return `==` or `!=` of two records, one of which may be written out, or of two arrays."""
        word = self.choices.pick(["==", "!="])
        kind = self.choices.pick(["P", "R"])
        one, other = self.record(scope, kind, depth - 1), self.record(scope, kind, depth - 1)
        if one is None or other is None:
            return self.compared(scope, depth, 1)
        record = next((found for _, found in self.records(scope) if found.name == kind), None)
        if record is not None and self.choices.chance(50):
            other = self.written(scope, record, lambda _: self.number(scope, depth - 1))
        pair = [one, other] if self.choices.chance(70) else [other, one]
        return f"({pair[0]} {word} {pair[1]})"

    def written(self, scope: Scope, record: Record, value: Callable[[Domain], str]) -> str:
        """Return a record that is written out."""
        given = []
        for name, kind in record.fields:
            if kind.domain is not None and self.choices.chance(60):
                given.append(f"{name}={value(kind.domain)}")
            elif kind.record is not None and not kind.bag and self.choices.chance(60):
                given.append(f"{name}={self.written(scope, kind.record, value)}")
        return f"{record.name}({', '.join(given)})"

    def extreme(self, scope: Scope, depth: int) -> str:
        """Return the greatest or the least of a generator, or of an array."""
        arrays = [
            f"{text}.{name}"
            for text, record in self.records(scope)
            for name, kind in record.fields
            if kind.element is not None and kind.element.domain is not None
        ]
        if arrays and self.choices.chance(30):
            return f"{self.choices.pick(['max', 'min', 'sum'])}({self.choices.pick(arrays)})"
        made = self.fold(scope, depth, ["max", "min"])
        return f"{made[:4]}({made[4:-1]}), default={self.number(scope, depth - 2)})"

    def compared(self, scope: Scope, depth: int, orders: int) -> str:
        """Return a chain of comparisons."""
        parts = [self.number(scope, depth - 1)]
        for _ in range(orders):
            parts += [self.choices.pick(["==", "!=", "<", "<=", ">", ">="]), self.number(scope, depth - 1)]
        return f"({' '.join(parts)})"

    def fold(self, scope: Scope, depth: int, words: list[str] | None = None) -> str:
        """Return all, any or sum over a generator, whose variables may shadow names around it."""
        inner = scope.inner()
        inner.effects = False
        clauses = []
        for _ in range(1 + self.choices.chance(25)):
            name = self.choices.pick(LOCALS)
            source, kind, below = self.source(inner, depth - 1)
            inner.forget(name)
            self.bind(inner, name, kind, below)
            target, source = self.numbered(inner, name, source)
            clauses.append(f"for {target} in {source}")
            if self.choices.chance(30):
                clauses.append(f"if {self.condition(inner, depth - 2)}")
        word = self.choices.pick(words or ["sum", "any", "all"])
        value = self.condition(inner, depth - 1) if word in ("any", "all") else self.number(inner, depth - 1)
        return f"{word}({value} {' '.join(clauses)})"

    def numbered(self, scope: Scope, name: str, source: str) -> tuple[str, str]:
        """Return a loop's variable and what it runs over, which may be numbered, paired or turned round."""
        if source.endswith(".box") or not self.choices.chance(25):
            return name, source
        place = next(item for item in ("k1", "k2", "k3", "k4", "k5", "k6", "k7", "k8") if item not in scope.numbers)
        what = self.choices.below(4)
        if source.endswith(".pipe") and what in (1, 3):
            what = 0
        if what == 1:
            return name, f"reversed({source})"
        scope.numbers[place] = ""
        scope.fixed = scope.fixed | {place}
        if what == 0:
            start = self.choices.pick(["", ", 1", ", start=c.k"])
            return f"{place}, {name}", f"enumerate({source}{start})"
        if what == 2:
            return f"{place}, {name}", f"zip(range(c.k, -1, {self.choices.pick(['-1', '-2'])}), {source})"
        return f"{place}, {name}", f"enumerate(reversed({source}))"

    def source(self, scope: Scope, depth: int) -> tuple[str, Type | None, str]:
        """Return what a loop runs over, what its items are (None: numbers), and what they stay below."""
        options: list[tuple[str, Type | None, str]] = [("range(c.n)", None, "c.n"), ("range(2)", None, "2")]
        for text, record in self.records(scope):
            for name, kind in record.fields:
                if kind.element is not None:
                    below = "c.n" if kind.element.domain is not None and kind.element.domain.alias == "Thing" else ""
                    options.append((f"{text}.{name}", kind.element, below))
                elif kind.bag or kind.channel:
                    options.append((f"{text}.{name}", Type(record=kind.record), ""))
        options += [(name, kind.element, "") for name, kind in scope.arrays.items()]
        bags = [item for item in options if item[0].endswith(".box")]
        if bags and self.choices.chance(20):
            return self.choices.pick(bags)
        inner = [
            (f"{name}.{field}[{{}}].{part}", kind.size, found)
            for name, record in scope.records.items()
            for field, kind in record.fields
            if kind.element is not None and kind.element.record is not None
            for part, found in kind.element.record.fields
            if found.element is not None
        ]
        own = [item for item in options if item[0].split(".")[0] not in ("s", "range(c", "range(2)", "before", "after")]
        if own and self.choices.chance(40):
            return self.choices.pick(own)
        if inner and self.choices.chance(30):
            text, size, found = self.choices.pick(inner)
            return text.format(self.index(scope, size, depth)), found.element, ""
        if self.choices.chance(15):
            return f"range(max(-1, min(3, {self.number(scope, depth)})))", None, ""
        if self.choices.chance(10):
            return f"range(max(-3, {self.number(scope, depth)}), min(4, {self.number(scope, depth)}))", None, ""
        return self.choices.pick(options)

    def bind(self, scope: Scope, name: str, kind: Type | None, below: str) -> None:
        """Let a name stand for an item."""
        scope.forget(name)
        scope.received.discard(name)
        if kind is None or kind.domain is not None:
            scope.numbers[name] = below
        elif kind.element is not None:
            scope.arrays[name] = kind
        else:
            assert kind.record is not None
            scope.records[name] = kind.record

    # -- helpers

    def helper(self, scope: Scope, depth: int) -> str:
        """Return a call of a helper that gives a number."""
        known = [item for item in self.helpers if item.returns == "int" and (scope.effects or not item.effect)]
        known = [item for item in known if self.callable(scope, item)]
        return self.call(scope, self.choices.pick(known), depth) if known else self.bits(scope, depth)

    def changing(self, scope: Scope, depth: int) -> str:
        """Return a call of a helper that changes the state and gives a number."""
        known = [item for item in self.helpers if item.returns == "int" and item.effect and self.callable(scope, item)]
        return self.call(scope, self.choices.pick(known), depth) if known else self.literal(scope, depth)

    def callable(self, scope: Scope, helper: Helper) -> bool:
        """Say whether there is something to pass for every parameter."""
        return all(
            kind in ("int", "C")
            or (kind == "State" and "s" in scope.records)
            or (kind not in ("State", "s") and any(record.name == kind for _, record in self.records(scope)))
            for kind in helper.parameters
        )

    def call(self, scope: Scope, helper: Helper, depth: int) -> str:
        """Return a call."""
        given = []
        for kind in helper.parameters:
            if kind in ("State", "C"):
                given.append("s" if kind == "State" else "c")
            elif kind == "int":
                given.append(self.number(scope, depth - 1))
            else:
                known = [
                    text
                    for text, record in self.records(scope)
                    if record.name == kind and not (helper.effect and text.split(".")[0] in scope.received)
                ]
                given.append(self.choices.pick(known) if known else "s")
        return f"{helper.name}({', '.join(given)})"

    def bits(self, scope: Scope, depth: int) -> str:
        """Return a helper of `bits`."""
        members, item = self.number(scope, depth - 1), f"min(1000, {self.index(scope, 'c.n', depth)})"
        return self.choices.pick(
            [
                f"bits.contains({members}, {item})",
                f"bits.size({members} & 7)",
                f"bits.with_member({members}, {item})",
                f"bits.without({members}, {item})",
                f"bits.is_subset({members}, {self.number(scope, depth - 1)})",
            ]
        )
