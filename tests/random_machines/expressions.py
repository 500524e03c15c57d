"""Random expressions: numbers, conditions, places, in a scope that knows which names stand for what."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from tests.random_machines.choices import Choices
from tests.random_machines.schema import Domain, Record, Type, parts

LOCALS = ["a", "b", "v", "i", "x", "number", "found", "count", "r"]
"""Names of locals: few, so that they shadow each other."""
NAMES = {"P": ("l", "h"), "R": ("q", "e"), "M": ("g", "y")}  # names of records, by class
OURS = ("pc", "turn", "at", "moves_left")
"""Fields of the state that only actions of one sort write, so that a machine has many states."""


@dataclass
class Helper:
    """A helper: its parameters, whether it changes what it is given, what it returns (None: nothing)."""

    name: str
    parameters: list[str]  # `State`, `C`, a record's name, the text of an array or a channel, or `int`
    effect: bool
    returns: str | None
    """A record's name, `int`, the number of several, or `both`, which is a number and a record."""


@dataclass
class Scope:
    numbers: dict[str, str] = field(default_factory=dict)
    """Names of numbers, with the length that they stay below, if that is known."""
    records: dict[str, Record] = field(default_factory=dict)
    arrays: dict[str, Type] = field(default_factory=dict)
    received: set[str] = field(default_factory=set)  # names of messages that were received
    fixed: set[str] = field(default_factory=set)  # names that must not be given another value
    effects: bool = False  # whether an expression may change the state
    ghosts: bool = False  # whether what is read may be a ghost

    def give(self, *names: str, below: str = "") -> None:
        self.numbers |= dict.fromkeys(names, below)
        self.fixed |= {*names}

    def free(self, names: Iterable[str], kind: str = "") -> list[str]:
        """Return the names that may stand for something of a kind from here on, and for nothing else now."""
        others = [known for known in ("numbers", "records", "arrays") if known != kind]
        return [name for name in names if not any(name in getattr(self, known) for known in ("fixed", *others))]

    def inner(self) -> "Scope":
        return replace(self, numbers=dict(self.numbers), records=dict(self.records), arrays=dict(self.arrays))

    def forget(self, name: str) -> None:
        for known in (self.numbers, self.records, self.arrays):
            known.pop(name, None)


class Expressions:
    def __init__(self, choices: Choices, helpers: list[Helper], classes: dict[str, Record], *, daring: bool) -> None:
        self.choices, self.helpers, self.classes, self.daring = choices, helpers, classes, daring

    def dares(self, percent: int) -> bool:
        """Return whether something may go wrong here: so often, in a machine in which anything may."""
        return self.daring and self.choices.chance(percent)

    # -- places

    def roots(self, scope: Scope) -> list[tuple[str, Type]]:
        """Return the fields of records that have names, and the arrays that have."""
        fields = [(f"{name}.{field}", kind) for name, record in scope.records.items() for field, kind in record.fields]
        return [*fields, *scope.arrays.items()]

    def parts(self, scope: Scope) -> list[tuple[str, tuple[str, ...], Type]]:
        """Return all places: each with `{}` for every index, and the lengths of the arrays that those are in."""
        return [part for text, kind in self.roots(scope) for part in parts(kind, text)]

    def arrays(self, scope: Scope) -> list[tuple[str, tuple[str, ...], Type]]:
        """Return the places that are arrays, but for those of channels."""
        return [item for item in self.parts(scope) if item[2].element is not None and not item[2].queues]

    def record(self, scope: Scope, wanted: str, depth: int = 2) -> str | None:
        options: list[Callable[[], str]] = [
            partial(str, name) for name, record in scope.records.items() if record.name == wanted and name != "s"
        ]
        options += [
            partial(self.at, scope, text, sizes, depth)
            for text, sizes, kind in self.parts(scope)
            if kind.record is not None and kind.record.name == wanted and not kind.bag and not kind.channel
        ]
        options += [
            partial(self.call, scope, helper, depth)
            for helper in self.helpers
            if helper.returns == wanted and "s" in scope.records and (scope.effects or not helper.effect)
        ]
        return self.choices.pick(options)() if options else None

    def either(self, scope: Scope, wanted: str) -> str | None:
        """Return one of two places that hold a record of this class."""
        one, other = self.record(scope, wanted, 1), self.record(scope, wanted, 1)
        return None if one is None or other is None else f"({one} if {self.condition(scope, 1)} else {other})"

    def at(self, scope: Scope, text: str, sizes: tuple[str, ...], depth: int) -> str:
        return text.format(*(self.index(scope, size, depth) for size in sizes))

    def scalar(self, scope: Scope, depth: int, *, written: bool = False) -> tuple[str, Domain] | None:
        """Return a place that holds a number, with its domain."""
        if not written and self.choices.chance(6):
            found = self.given(scope, depth)
            if found is not None:
                return found
        roots = [
            (text, kind)
            for text, kind in self.roots(scope)
            if not (written and (head(text) in scope.received or text.rpartition(".")[2] in OURS))
            and (written or scope.ghosts or ".ghost_" not in text)
        ]
        known = [found for found in (self.ends(text, kind) for text, kind in roots) if found]
        if not known:
            return None
        text, sizes, domain = self.choices.pick(self.choices.pick(known))
        return self.at(scope, text, sizes, depth), domain

    def ends(self, text: str, kind: Type) -> list[tuple[str, tuple[str, ...], Domain]]:
        return [(place, sizes, part.domain) for place, sizes, part in parts(kind, text) if part.domain is not None]

    def given(self, scope: Scope, depth: int) -> tuple[str, Domain] | None:
        """Return a number in a record that a helper gives, or in one of two records."""
        kind = self.choices.pick(["R", "P"])
        place = self.either(scope, kind) if self.choices.chance(30) else None
        known = [helper for helper in self.known(scope, kind) if scope.effects or not helper.effect]
        if place is None and known:
            place = self.call(scope, self.choices.pick(known), 1)
        if place is None:
            return None
        text, sizes, domain = self.choices.pick(self.ends("", Type(record=self.classes[kind])))
        return place + self.at(scope, text, sizes, depth), domain

    def index(self, scope: Scope, size: str, depth: int) -> str:
        """Return an index of an array of this length: mostly one that is inside."""
        known = ["0", *(name for name, below in scope.numbers.items() if below == size)]
        if self.dares(12):
            return unread(self.number(scope, depth - 1))
        if scope.effects and self.choices.chance(15):
            return f"max(0, min({size} - 1, {self.changing(scope, depth - 1)}))"
        if self.choices.chance(30):
            return f"max(0, min({size} - 1, {self.number(scope, depth - 1)}))"
        return self.choices.pick(known)

    # -- numbers

    def number(self, scope: Scope, depth: int) -> str:
        leaf = [self.literal, self.name, self.field, self.constant]
        if scope.effects and self.choices.chance(12):
            return self.changing(scope, depth)
        if depth <= 0:
            return self.choices.pick(leaf)(scope, 0)
        more = [
            *leaf, self.arithmetic, self.field, self.condition, self.conditional, self.logic, self.builtin,
            self.helper, self.fold, self.shift, self.length, self.unary, self.helper, self.extreme,
        ]  # fmt: skip
        return self.choices.pick(more)(scope, depth)

    def literal(self, _: Scope, __: int) -> str:
        if self.choices.chance(4):
            return self.choices.pick(["255", "-129", "65536", "2147483647", "-4611686018427387903"])
        return self.choices.pick(["0", "1", "2", "-1", "3", "True", "FOUR", "Mood.B", "NONE", "Sour.BAD", "1000003"])

    def name(self, scope: Scope, depth: int) -> str:
        return self.choices.pick(list(scope.numbers)) if scope.numbers else self.literal(scope, depth)

    def field(self, scope: Scope, depth: int) -> str:
        found = self.scalar(scope, depth)
        return found[0] if found else self.literal(scope, depth)

    def constant(self, _: Scope, __: int) -> str:
        return self.choices.pick(["c.n", "c.k", "c.b", "c.on", "c.mood"])

    def arithmetic(self, scope: Scope, depth: int) -> str:
        operator = self.choices.pick(["+", "-", "*", "//", "%", "&", "|", "^"])
        left = self.number(scope, depth - 1)
        right = self.choices.pick(["2", "3", "5"]) if operator in ("//", "%") else self.number(scope, depth - 1)
        return f"({left} {operator} {right})"

    def shift(self, scope: Scope, depth: int) -> str:
        count = unread(self.number(scope, depth - 1))
        if not self.dares(25):
            count = f"max(0, min({self.choices.pick(['3', '40', '61'])}, {count}))"
        elif self.choices.chance(20):
            count = f"({2**62 - 1} + abs({count}))"
        elif self.choices.chance(50):
            count = f"min(70, {count})"
        return f"({self.number(scope, depth - 1)} {self.choices.pick(['<<', '>>'])} {count})"

    def unary(self, scope: Scope, depth: int) -> str:
        """Return an operator of one number; the language refuses `~` of a condition, so that stands beside a sum."""
        inner = self.number(scope, depth - 1)
        ways = ["(-{})", "(+{})", "(~(0 + {}))", "abs({})", "int({})", "bool({})"]
        return self.choices.pick(ways).format(inner)

    def builtin(self, scope: Scope, depth: int) -> str:
        items = [self.number(scope, depth - 1) for _ in range(2 + self.choices.below(2))]
        return f"{self.choices.pick(['min', 'max'])}({', '.join(items)})"

    def conditional(self, scope: Scope, depth: int) -> str:
        then, test = self.number(scope, depth - 1), self.condition(scope, depth - 1)
        return f"({then} if {test} else {self.number(scope, depth - 1)})"

    def logic(self, scope: Scope, depth: int) -> str:
        word = self.choices.pick([" and ", " or "])
        parts = (self.asked(scope, self.number(scope, depth - 1)) for _ in range(2 + self.choices.below(2)))
        return f"({word.join(parts)})"

    def asked(self, scope: Scope, number: str) -> str:
        """Return a number whose truth is asked: a sum in the place of one that may be NONE, which is refused there."""
        last = re.split(r"\.", re.sub(r"\[.*\]$", "", number))[-1]
        records = [*self.classes.values(), *scope.records.values()]
        kinds = [kind for record in records for kind in types_in(record, last)]
        kinds += [kind for array in scope.arrays.values() for kind in ends_of(array, last)]
        may_be_none = any(kind.domain is not None and kind.domain.alias == "MaybeThing" for kind in kinds)
        return f"({number} + 0)" if may_be_none or scope.numbers.get(number) == "" else number

    def length(self, scope: Scope, depth: int) -> str:
        known = [
            partial(self.queue, scope, text, sizes, kind, depth)
            if kind.queues
            else partial(self.at, scope, text, sizes, depth)
            for text, sizes, kind in self.parts(scope)
            if kind.element or kind.bag or kind.channel
        ]
        return f"len({self.choices.pick(known)()})" if known else self.literal(scope, depth)

    def condition(self, scope: Scope, depth: int) -> str:
        what = self.choices.below(13 if depth > 0 else 4)
        if what < 4:
            return self.compared(scope, depth, 1)
        if what == 4:
            return self.compared(scope, depth, 2 + self.choices.below(2))
        if what == 5:
            word = self.choices.pick(["in", "not in"])
            left, right = self.choices.pick([("(", ",)"), ("[", "]"), ("{", "}")])
            others = ", ".join(self.number(scope, depth - 1) for _ in range(1 + self.choices.below(3)))
            return f"({self.number(scope, depth - 1)} {word} {left}{others}{right})"
        if what == 6:
            return f"(not {self.condition(scope, depth - 1)})"
        if what in (7, 8):
            word = "and" if what == 7 else "or"
            return f"({self.condition(scope, depth - 1)} {word} {self.condition(scope, depth - 1)})"
        if what in (9, 10):
            return (self.membership if what == 9 else self.equality)(scope, depth)
        return self.fold(scope, depth, ["all", "any"])

    def membership(self, scope: Scope, depth: int) -> str:
        """Return `in` a tuple or a set of the module, a range, an array, or a set of the state."""
        options = [
            "SOME", "RARE", f"range({self.number(scope, depth - 1)})", f"range(-1, {self.number(scope, depth - 1)})",
        ]  # fmt: skip
        sets = []
        for text, sizes, kind in self.parts(scope):
            if kind.element is not None and kind.element.domain is not None and not sizes:
                options.append(text)
            if kind.domain is not None and kind.domain.alias == "Things":
                sets.append((text, sizes))
        if sets and self.choices.chance(40):
            options = [self.at(scope, *self.choices.pick(sets), depth)]
        return f"({self.number(scope, depth - 1)} {self.choices.pick(['in', 'not in'])} {self.choices.pick(options)})"

    def equality(self, scope: Scope, depth: int) -> str:
        """Return `==` or `!=` of two records, one of which may be written out, or of two arrays."""
        kind = self.choices.pick(["P", "R", "M", "[]", "[]"])
        if kind == "[]":
            return self.alike(scope, depth)
        one, other = self.record(scope, kind, depth - 1), self.record(scope, kind, depth - 1)
        if one is None or other is None:
            return self.compared(scope, depth, 1)
        if self.choices.chance(50):
            other = self.written(scope, self.classes[kind], lambda _: self.number(scope, depth - 1))
        pair = [one, other] if self.choices.chance(70) else [other, one]
        return f"({pair[0]} {self.choices.pick(['==', '!='])} {pair[1]})"

    def alike(self, scope: Scope, depth: int) -> str:
        arrays = [(text, sizes, kind.text) for text, sizes, kind in self.arrays(scope)]
        if not arrays:
            return self.compared(scope, depth, 1)
        one = self.choices.pick(arrays)
        other = self.choices.pick([item for item in arrays if item[2] == one[2]])
        text = self.at(scope, one[0], one[1], depth)
        return f"({text} {self.choices.pick(['==', '!='])} {self.at(scope, other[0], other[1], depth)})"

    def written(self, scope: Scope, record: Record, value: Callable[[Domain], str]) -> str:
        given = []
        for name, kind in record.fields:
            if kind.domain is not None and self.choices.chance(60):
                given.append(f"{name}={value(kind.domain)}")
            elif kind.record is not None and not kind.bag and not kind.channel and self.choices.chance(60):
                given.append(f"{name}={self.written(scope, kind.record, value)}")
        return f"{record.name}({', '.join(given)})"

    def extreme(self, scope: Scope, depth: int) -> str:
        """Return the greatest or the least of a generator, or of an array."""
        arrays = [
            text for text, sizes, kind in self.arrays(scope) if kind.element and kind.element.domain and not sizes
        ]
        if arrays and self.choices.chance(30):
            return f"{self.choices.pick(['max', 'min', 'sum', 'any', 'all'])}({self.choices.pick(arrays)})"
        if self.choices.chance(20):
            inner = scope.inner()
            inner.effects = False
            self.bind(inner, "x", None, "c.n")
            sources = ["range(c.n)", "range(2)", "range(c.n + 1)", "range(0, 1 + c.k - 0)", "reversed(range(FOUR))"]
            pairs = [*(("x", text) for text in sources), ("(k1, x)", "enumerate(range(c.n))")]
            target, source = self.choices.pick([*pairs, ("(k1, x)", "zip(range(2), range(c.n))")])
            return f"{self.choices.pick(['max', 'min'])}({self.number(inner, depth - 1)} for {target} in {source})"
        made = self.fold(scope, depth, ["max", "min"])
        return f"{made[:4]}({made[4:-1]}), default={self.number(replace(scope, effects=False), depth - 2)})"

    def compared(self, scope: Scope, depth: int, orders: int) -> str:
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
        if source in self.bags(scope) or not self.choices.chance(25):
            return name, source
        place, other = [f"k{number}" for number in range(1, 20) if f"k{number}" not in scope.numbers][:2]
        what = self.choices.below(6)
        if what in (1, 3) and self.queued(scope, source):
            what = 0
        if what == 1:
            return name, f"reversed({source})"
        if what == 4 and source == "range(c.n)":
            return name, self.choices.pick(["range(c.n - 1, -1, -1)", "range(0, c.n, 2)"])
        self.let(scope, place)
        if what == 5 and source == "s.at":
            return f"{name}, {place}", "zip(s.at, s.at, strict=True)"
        if what == 0:
            start = self.choices.pick(["", ", 1", ", start=c.k"])
            if "s" in scope.records and self.dares(10):
                start = ", s.at[c.k]"
            return f"{place}, {name}", f"enumerate({source}{start})"
        if what == 2:
            return f"{place}, {name}", f"zip(range(c.k, -1, {self.choices.pick(['-1', '-2'])}), {source})"
        if what == 3:
            return f"{place}, {name}", f"enumerate(reversed({source}))"
        self.let(scope, other, "c.n")
        return f"{place}, ({name}, {other})", f"enumerate(zip({source}, range(c.n)))"

    def let(self, scope: Scope, name: str, below: str = "") -> None:
        scope.numbers[name] = below
        scope.fixed = scope.fixed | {name}

    def bags(self, scope: Scope) -> list[str]:
        return [text for text, kind in self.roots(scope) if kind.bag]

    def queued(self, scope: Scope, source: str) -> bool:
        """Return whether a loop runs over the messages of a channel."""
        patterns = [re.escape(text).replace(r"\{\}", ".*") for text, _, kind in self.parts(scope) if kind.queues]
        return any(re.match(pattern, source) for pattern in patterns)

    def source(self, scope: Scope, depth: int) -> tuple[str, Type | None, str]:
        """Return what a loop runs over, what its items are (None: numbers), and what they stay below."""
        bags = self.bags(scope)
        if bags and self.choices.chance(20):
            return self.choices.pick(bags), Type(record=self.classes["M"]), ""
        if self.choices.chance(15):
            return f"range(max(-1, min(3, {self.number(scope, depth)})))", None, ""
        if self.choices.chance(10):
            return f"range(max(-3, {self.number(scope, depth)}), min(4, {self.number(scope, depth)}))", None, ""
        known = [item for item in self.parts(scope) if (item[2].element is not None or item[2].bag or item[2].channel)]
        own = [item for item in known if head(item[0]) not in ("s", "before", "after")]
        if own and self.choices.chance(40):
            known = own
        elif self.choices.chance(75):
            known = [item for item in known if not item[1]]
        if not known or self.choices.chance(20):
            return self.choices.pick([("range(c.n)", None, "c.n"), ("range(2)", None, "2")])
        text, sizes, kind = self.choices.pick(known)
        if kind.queues:
            return self.queue(scope, text, sizes, kind, depth), Type(record=self.classes["M"]), ""
        if kind.bag:
            return text, Type(record=kind.record), ""
        below = "c.n" if kind.element.domain is not None and kind.element.domain.alias == "Thing" else ""
        return self.at(scope, text, sizes, depth), kind.element, below

    def queue(self, scope: Scope, text: str, sizes: tuple[str, ...], kind: Type, depth: int) -> str:
        text = self.at(scope, text, sizes, depth)
        while kind.element is not None:
            text += f"[{self.index(scope, kind.size, depth)}]"
            kind = kind.element
        return text

    def bind(self, scope: Scope, name: str, kind: Type | None, below: str) -> None:
        scope.forget(name)
        scope.received.discard(name)
        if kind is None or kind.domain is not None:
            scope.numbers[name] = below
        elif kind.element is not None:
            scope.arrays[name] = kind
        else:
            scope.records[name] = kind.record

    # -- helpers

    def helper(self, scope: Scope, depth: int) -> str:
        known = [item for item in self.known(scope, "int") if scope.effects or not item.effect]
        return self.call(scope, self.choices.pick(known), depth) if known else self.bits(scope, depth)

    def changing(self, scope: Scope, depth: int) -> str:
        """Return a call of a helper that changes the state and gives a number."""
        known = [item for item in self.known(scope, "int") if item.effect]
        return self.call(scope, self.choices.pick(known), depth) if known else self.literal(scope, depth)

    def arguments(self, scope: Scope, helper: Helper, wanted: str) -> list[tuple[str, tuple[str, ...]]]:
        """Return the places that a helper may be given for a parameter."""
        named = [(name, ()) for name, record in scope.records.items() if record.name == wanted]
        known = [*named, *((text, sizes) for text, sizes, kind in self.parts(scope) if kind.text == wanted)]
        return [item for item in known if not (helper.effect and head(item[0]) in scope.received)]

    def callable(self, scope: Scope, helper: Helper) -> bool:
        return all(kind in ("int", "C") or self.arguments(scope, helper, kind) for kind in helper.parameters)

    def known(self, scope: Scope, *returns: str) -> list[Helper]:
        """Return the helpers that give one of these, and for which there is something to pass."""
        return [item for item in self.helpers if item.returns in returns and self.callable(scope, item)]

    def call(self, scope: Scope, helper: Helper, depth: int) -> str:
        given = []
        for kind in helper.parameters:
            if kind == "C":
                given.append("c")
            elif kind == "int":
                given.append(self.number(scope, depth - 1))
            else:
                text, sizes = self.choices.pick(self.arguments(scope, helper, kind))
                given.append(self.at(scope, text, sizes, depth - 1))
        return f"{helper.name}({', '.join(given)})"

    def bits(self, scope: Scope, depth: int) -> str:
        members, item = self.number(scope, depth - 1), f"min(1000, {self.index(scope, 'c.n', depth)})"
        calls = [
            f"contains({members}, {item})", f"size({members} & 7)", f"with_member({members}, {item})",
            f"without({members}, {item})", f"is_subset({members}, {self.number(scope, depth - 1)})", f"only({item})",
            f"everyone({self.choices.pick(['c.n', '2', 'c.k'])})",
        ]  # fmt: skip
        return f"bits.{self.choices.pick(calls)}"


def head(text: str) -> str:
    return re.split(r"\W", text, maxsplit=1)[0]


def unread(number: str) -> str:
    """Return a number that the checker cannot read: it refuses an index or a shift below 0 where it sees it."""
    is_read = number in ("NONE", "Sour.BAD") or re.fullmatch(r"\(?-*\d{2,}\)?|\(?-+\d\)?", number)
    return f"({number} + 0)" if is_read else number


def types_in(record: Record, name: str) -> list[Type]:
    """Return the types of the numbers of this name in a record, and in what it is made of."""
    return [found for field, kind in record.fields for found in ends_of(kind, name, field)]


def ends_of(kind: Type, name: str, field: str = "") -> list[Type]:
    """Return the types of the numbers of this name in a field; the numbers of an array have its name."""
    if kind.element is not None:
        return ends_of(kind.element, name, field or name)
    if kind.record is not None:
        return types_in(kind.record, name)
    return [kind] if field == name else []
