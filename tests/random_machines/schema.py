"""What a random machine's state is made of: domains, records, arrays, a bag."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from tests.random_machines.choices import Choices

T = TypeVar("T")
NASTY = [
    "count", "items", "row", "words", "out_words", "shape", "dtype", "real", "np", "f0", "rows", "kernel", "hashes",
    "label", "entry", "ptr", "call", "ret", "define", "icmp", "i64", "memcpy", "malloc", "free", "exit", "log", "main",
    "llvm", "numba", "size", "data", "base", "copy", "values", "keys", "self", "type", "match", "print", "id", "len",
    "sum", "range", "bool", "T",
]  # fmt: skip
"""Names that mean something to a back end."""


@dataclass(frozen=True)
class Domain:
    """A domain's alias, its ends as text in a function, and what the alias stands for if that is no class."""

    alias: str
    low: str
    high: str
    text: str = ""


def numbers(alias: str, low: str, high: str) -> Domain:
    """Return a range between ends that are given as texts in a function."""
    return Domain(alias, low, high, f"Range({annotated(low)}, {annotated(high)})")


def annotated(text: str) -> str:
    text = text.replace("c.", "C.")
    return text.replace("max(", "largest(").replace("min(", "smallest(")


SMALL = numbers("Small", "-3", "3")
COUNTER = numbers("Counter", "0", "3")
PLACE = numbers("Place", "0", "c.n * -1 + 6")
TURN = numbers("Turn", "0", "5")
WIDE = numbers("Wide", "-4611686018427387903", "4611686018427387903")
FIXED = [
    SMALL,
    numbers("Offset", "0", "c.k"),
    Domain("Thing", "0", "c.n - 1", "Index(C.n)"),
    Domain("MaybeThing", "-1", "c.n - 1", "Index(C.n, none=True)"),
    Domain("bool", "0", "1"),
    Domain("Mood", "0", "2"),
    Domain("Sour", "-1", "1"),
]
"""Domains that every machine has, beside those that differ."""
ENDS = [
    *((0, 2**bits - 1) for bits in (1, 4, 7, 8, 16, 32, 62)),
    *((-(2**bits), 2**bits - 1) for bits in (3, 7, 15, 31, 61)),
    *((-(2**bits), 2**bits) for bits in (7, 15, 31, 61)),
    *((-129, 127), (0, 128), (0, 16), (-1, 126), (-1, 127), (-1, 2**62 - 1), (1 - 2**62, 0), (-(2**40), 5), (-200, 0)),
    *((-5, 0), (-1, 0), (0, 0), (-100, 100), (-3, 12)),
]
"""Ends of domains about the widths that numbers have in engines."""
OF_CONSTANTS = [
    ("0", "max(c.k, c.n) + 1"), ("0 - c.k", "c.k"), ("c.b * -1", "c.n"), ("0", "c.b"), ("c.k * -40", "c.n * 50"),
    ("c.b - 3", "127"), ("-1", "c.k * 42 + 1"), ("0 - c.n * 43", "0"),
]  # fmt: skip
"""Ends of domains that depend on constants."""
SETS = ["c.n", "c.k", "1", "c.k - 1", "7", "8", "16", "31", "32", "c.n * 5", "c.k + 28", "c.n + 59", "62"]
"""How many members sets may have."""
ASIDE = 35  # per cent of machines in which a domain is not the usual one


def domains(choices: Choices) -> list[Domain]:
    def usual(item: T, others: list[T]) -> T:
        return choices.pick(others) if choices.chance(ASIDE) else item

    ends = [(str(low), str(high)) for low, high in ENDS]
    size = usual(SETS[0], SETS[1:])
    last = str((1 << int(size)) - 1) if size.isdigit() else f"(1 << ({size})) - 1"
    return [
        *FIXED,
        Domain("Things", "0", last, f"BitSet({annotated(size)})"),
        numbers("Widest", *usual(OF_CONSTANTS[0], OF_CONSTANTS[1:])),
        numbers("Large", *usual(("-1000000", "1000000"), ends)),
        numbers("Twice", *usual(("0", "2 * c.k - 1"), ends)),
        WIDE,
    ]


@dataclass
class Type:
    """The type of a field: a number of a domain, a record, an array (`size` as text), a bag, or a channel."""

    domain: Domain | None = None
    record: "Record | None" = None
    element: "Type | None" = None
    size: str = ""
    bag: bool = False
    channel: bool = False

    @property
    def text(self) -> str:
        if self.domain is not None:
            return self.domain.alias
        if self.element is not None:
            return f"Annotated[Array[{self.element.text}], {sized(self.size)}]"
        if self.channel or self.bag:
            return f"Annotated[{'Channel' if self.channel else 'Bag'}[{self.record.name}], {sized(self.size)}]"
        return self.record.name

    @property
    def queues(self) -> bool:
        """Whether it is a channel, or an array of channels."""
        return self.channel or (self.element is not None and self.element.queues)


@dataclass
class Record:
    name: str
    fields: list[tuple[str, Type]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join([f"class {self.name}(Record):", *(f"    {name}: {kind.text}" for name, kind in self.fields)])


SIZES = ["c.n", "c.k", "2", "c.k + 1", "min(c.k, 2)"]  # usual lengths of arrays, as texts in a function
ODD_SIZES = ["1", "c.k - 1", "c.k * 5", "c.n * 3", "c.n + c.k", "max(c.k, c.n)", "17", "40"]
"""Lengths of some arrays of numbers."""


def sized(size: str) -> str:
    return "Per(Thing)" if size == "c.n" else f"Size({annotated(size)})"


def parts(kind: Type, text: str = "", sizes: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], Type]]:
    """Yield the places in a place, itself first: each with `{}` for every index, and the lengths of its arrays."""
    yield text, sizes, kind
    if kind.queues or kind.bag:
        return
    if kind.element is not None:
        yield from parts(kind.element, text + "[{}]", (*sizes, kind.size))
    elif kind.record is not None:
        for name, inner in kind.record.fields:
            yield from parts(inner, f"{text}.{name}", sizes)


def array(choices: Choices, element: Type) -> Type:
    odd = element.domain is not None and choices.chance(10)
    return Type(element=element, size=choices.pick(ODD_SIZES if odd else SIZES))


def channel(choices: Choices, message: Record, depth: int) -> Type:
    """Return a channel, or one for each thing, or one for each pair of them."""
    made = Type(record=message, channel=True, size=choices.pick(["2", "c.k"]))
    for _ in range(max(0, depth - 1)):
        made = Type(element=made, size="c.n")
    return made


class Schema:
    """Draws the records of a machine, the state last."""

    def __init__(self, choices: Choices, known: list[Domain]) -> None:
        self.choices, self.domains = choices, known
        self.letters = iter([*"abdeghjklopqtuwz", *(letter * 2 for letter in "adegjoux")])
        self.nasty = list(NASTY)

    def fresh(self) -> str:
        letter: str = next(self.letters)
        if not self.choices.chance(12):
            return letter
        name: str = self.choices.pick(self.nasty)
        self.nasty.remove(name)
        return name

    def scalar(self) -> Type:
        return Type(domain=self.choices.pick(self.domains))

    def scalars(self, most: int) -> list[tuple[str, Type]]:
        """Return so many fields at most that are numbers, and one at least."""
        return [(self.fresh(), self.scalar()) for _ in range(1 + self.choices.below(most))]

    def records(self) -> list[Record]:
        choices = self.choices
        inner = Record("P", self.scalars(3))
        outer = Record("R", self.scalars(2))
        outer.fields.append((self.fresh(), Type(record=inner)))
        if choices.chance(60):
            element = self.element(inner, 40)
            outer.fields.append((self.fresh(), array(choices, element)))
        message = Record("M", self.scalars(2))
        if choices.chance(30):
            element = self.element(inner, 50)
            message.fields.append((self.fresh(), array(choices, element)))
        if choices.chance(20):
            message.fields.append((self.fresh(), Type(record=inner)))
        if choices.chance(8):
            message.fields.append((self.fresh(), Type(element=Type(element=self.scalar(), size="2"), size="2")))
        state = self.state(inner, outer, message)
        if choices.chance(15):
            outer.fields.append((self.fresh(), channel(choices, message, 0)))
        return [inner, outer, message, state]

    def element(self, record: Record, percent: int) -> Type:
        return Type(record=record) if self.choices.chance(percent) else self.scalar()

    def state(self, inner: Record, outer: Record, message: Record) -> Record:
        choices = self.choices
        fields = [
            ("pc", Type(domain=COUNTER)),
            ("out", Type(domain=WIDE)),
            ("turn", Type(domain=TURN)),
            ("at", Type(element=Type(domain=PLACE), size="c.n")),
            ("moves_left", Type(domain=COUNTER)),
            ("ghost_seen", Type(domain=SMALL)),
            (self.fresh(), Type(domain=SMALL)),
        ]
        fields += [(self.fresh(), self.scalar()) for _ in range(choices.below(3))]
        fields.append((self.fresh(), array(choices, self.scalar())))
        fields.append((self.fresh(), array(choices, Type(record=outer))))
        if choices.chance(50):
            fields.append((self.fresh(), Type(record=outer)))
        if choices.chance(40):
            row = array(choices, self.element(inner, 30))
            matrix = Type(element=row, size=choices.pick(SIZES))
            fields.append((self.fresh(), matrix))
            if choices.chance(20):
                fields.append(("line", row))
            if choices.chance(15):
                fields.append((self.fresh(), Type(element=matrix, size="2")))
        if choices.chance(40):
            fields.append(("pipe", channel(choices, message, choices.below(4))))
        if choices.chance(20):
            fields.append(("last", Type(record=message)))
        if choices.chance(10):
            fields.append(("lasts", Type(element=Type(record=message), size=choices.pick(["2", "c.k", "c.n"]))))
        if choices.chance(75):
            bag = Type(record=message, bag=True, size=choices.pick(["2", "c.k", "3"]))
            fields.append(("box", bag))
            if choices.chance(20):
                fields.append(("spare", bag))
        return Record("State", fields)
