"""What a random machine's state is made of: domains, records, arrays, a bag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.testing.random_machines.choices import Choices

NASTY = [
    "count", "items", "row", "words", "out_words", "shape", "dtype", "real", "np", "f0", "rows", "kernel", "hashes", "label", "entry",
    "ptr", "call", "ret", "define", "icmp", "i64", "memcpy", "malloc", "free", "exit", "log", "main", "llvm", "numba", "size", "data",
    "base", "copy", "values", "keys", "self", "type", "match", "print", "id", "len", "sum", "range", "bool", "T",
]  # fmt: skip
"""Names that mean something to a back end."""


@dataclass(frozen=True)
class Domain:
    """A domain's alias, and the ends of it as text in a function."""

    alias: str
    low: str
    high: str


SMALL = Domain("Small", "-3", "3")
COUNTER = Domain("Counter", "0", "3")
PLACE = Domain("Place", "0", "6 - c.n")
TURN = Domain("Turn", "0", "5")
WIDE = Domain("Wide", "-4611686018427387903", "4611686018427387903")
DOMAINS = [
    SMALL,
    Domain("Offset", "0", "c.k"),
    Domain("Thing", "0", "c.n - 1"),
    Domain("MaybeThing", "-1", "c.n - 1"),
    Domain("Things", "0", "(1 << c.n) - 1"),
    Domain("bool", "0", "1"),
    Domain("Mood", "0", "2"),
    Domain("Sour", "-1", "1"),
    Domain("Widest", "0", "max(c.k, c.n) + 1"),
    Domain("Large", "-1000000", "1000000"),
    Domain("Twice", "0", "2 * c.k - 1"),
    WIDE,
]


@dataclass
class Type:
    """The type of a field: a number of a domain, a record, an array (`size` as text), a bag, or a channel."""

    domain: Domain | None = None
    record: Record | None = None
    element: Type | None = None
    size: str = ""
    bag: bool = False
    channel: bool = False

    @property
    def text(self) -> str:
        """The annotation."""
        if self.domain is not None:
            return self.domain.alias
        if self.element is not None:
            return f"Annotated[Array[{self.element.text}], {SIZES[self.size]}]"
        assert self.record is not None
        if self.channel:
            return f"Annotated[Channel[{self.record.name}], {SIZES[self.size]}]"
        return f"Annotated[Bag[{self.record.name}], {SIZES[self.size]}]" if self.bag else self.record.name

    @property
    def row(self) -> Type | None:
        """The elements of the arrays that an array has as its elements."""
        return self.element.element if self.element is not None else None

    @property
    def queues(self) -> bool:
        """Whether it is a channel, or an array of channels."""
        return self.channel or (self.element is not None and self.element.queues)


@dataclass
class Record:
    """A record class."""

    name: str
    fields: list[tuple[str, Type]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The class."""
        return "\n".join([f"class {self.name}(Record):", *(f"    {name}: {kind.text}" for name, kind in self.fields)])


SIZES = {
    "c.n": "Per(Thing)",
    "c.k": "Size(C.k)",
    "2": "Size(2)",
    "3": "Size(3)",
    "c.k + 1": "Size(C.k + 1)",
    "min(c.k, 2)": "Size(smallest(C.k, 2))",
}
"""By length, as text in a function: the size as text in an annotation."""


def scalar(choices: Choices) -> Type:
    """Return a number of some domain."""
    return Type(domain=choices.pick(DOMAINS))


def array(choices: Choices, element: Type) -> Type:
    """Return an array."""
    return Type(element=element, size=choices.pick([size for size in SIZES if size != "3"]))


def channel(choices: Choices, message: Record, depth: int) -> Type:
    """Return a channel, or one for each thing, or one for each pair of them."""
    made = Type(record=message, channel=True, size=choices.pick(["2", "c.k"]))
    for _ in range(max(0, depth - 1)):
        made = Type(element=made, size="c.n")
    return made


def records(choices: Choices) -> list[Record]:
    """Return the records of a machine, the state last."""
    letters = iter([*"abdeghjklopqtuwz", "aa", "dd", "ee", "gg", "jj", "oo"])
    nasty = list(NASTY)

    def fresh() -> str:
        letter: str = next(letters)
        if not choices.chance(12):
            return letter
        name: str = choices.pick(nasty)
        nasty.remove(name)
        return name

    inner = Record("P", [(fresh(), scalar(choices)) for _ in range(1 + choices.below(3))])
    outer = Record("R", [(fresh(), scalar(choices)) for _ in range(1 + choices.below(2))])
    outer.fields.append((fresh(), Type(record=inner)))
    if choices.chance(60):
        outer.fields.append((fresh(), array(choices, Type(record=inner) if choices.chance(40) else scalar(choices))))
    message = Record("M", [(fresh(), scalar(choices)) for _ in range(1 + choices.below(2))])
    if choices.chance(30):
        message.fields.append((fresh(), array(choices, Type(record=inner) if choices.chance(50) else scalar(choices))))
    state = Record(
        "State",
        [
            ("pc", Type(domain=COUNTER)),
            ("out", Type(domain=WIDE)),
            ("turn", Type(domain=TURN)),
            ("at", Type(element=Type(domain=PLACE), size="c.n")),
            ("moves_left", Type(domain=COUNTER)),
            ("ghost_seen", Type(domain=SMALL)),
            (fresh(), Type(domain=SMALL)),
        ],
    )
    state.fields += [(fresh(), scalar(choices)) for _ in range(choices.below(3))]
    state.fields.append((fresh(), array(choices, scalar(choices))))
    state.fields.append((fresh(), array(choices, Type(record=outer))))
    if choices.chance(50):
        state.fields.append((fresh(), Type(record=outer)))
    if choices.chance(40):
        name = fresh()
        matrix = array(choices, array(choices, Type(record=inner) if choices.chance(30) else scalar(choices)))
        state.fields.append((name, matrix))
        if matrix.element is not None and sum(map(ord, matrix.text)) % 5 == 1:
            state.fields.append(("line", matrix.element))
    if choices.chance(40):
        state.fields.append(("pipe", channel(choices, message, choices.below(4))))
    if choices.chance(15):
        outer.fields.append((fresh(), channel(choices, message, 0)))
    if choices.chance(75):
        state.fields.append(("box", Type(record=message, bag=True, size=choices.pick(["2", "c.k", "3"]))))
    return [inner, outer, message, state]
