"""Constants of a machine: values that a user may set, each with a meaning and a range.

The native engine treats two groups of constants differently. A `shape` or a `capacity` is the size of arrays (brokers,
replicas, the length of logs). Compiled code has room for at least the default, and works for every smaller value. A
`bound`, a `switch` or a `choice` is read at run time, so one compilation serves all values.

On the class, a constant is an expression (`C.log_size + 1`, for use in domains). On an instance, it is a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from fencepost.model.language.domains import Linear
from fencepost.model.language.errors import ModelError, UsageError, nearest
from fencepost.model.language.names import require_distinct_spellings, require_trace_name, require_usable_names
from fencepost.model.language.own_names import in_class

T = TypeVar("T", bound=int)

MOST = (1 << 62) - 1
"""The largest number that every engine supports. The smallest number is -MOST."""
LONGEST = 40
"""Maximum length of a value that an error message quotes."""
SHAPE, CAPACITY, RUNTIME = "shape", "capacity", "run time"


class Constant(Linear, Generic[T]):
    """A constant of a machine, with its default, range, meaning and sort."""

    def __init__(self, default: T, *, low: int, high: int, meaning: str, sort: str, kind: type[T], room: int) -> None:
        super().__init__({}, 0)
        for name, value in (("default", default), ("low", low), ("high", high), ("room", room)):
            if not isinstance(value, int):
                raise ModelError(f"a constant ({meaning}) has the {name} {value!r}: expected a whole number.")
            if abs(value) > MOST:
                raise ModelError(
                    f"a constant ({meaning}) has the {name} {value}, which is out of range: use at most {MOST}."
                )
        self.default, self.low, self.high = default, low, high
        self.meaning, self.sort, self.kind, self.room = meaning, sort, kind, room
        self.name, self.fault = "", False

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.terms = {name: 1}

    if TYPE_CHECKING:  # at run time, values are in an instance's `__dict__`, and constants in the class

        @overload
        def __get__(self, instance: None, owner: type) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type) -> T: ...
        def __get__(self, instance: Any, owner: type) -> Any:
            """Return the constant if it is read from the class, and its value if it is read from an instance."""

    def parse(self, text: str) -> T:
        """Return the value that `text` names; raise UsageError for any other text."""
        word = text.strip().lower().replace("_", "-")
        names = self.spellings()
        if word in names:
            return self.kind(names[word])
        try:
            number = int(text)
        except ValueError:
            given = f"constant {self.name!r} was given {_short(text)!r}"
            if not names:
                raise UsageError(f"{given}: expected a whole number from {self.low} to {self.high}.") from None
            raise UsageError(f"{given}.{nearest(word, names, 'Write one of:')}") from None
        return self.accept(number)

    def accept(self, value: int) -> T:
        """Convert `value` to this constant's type; raise UsageError for a value outside the range."""
        if not self.low <= int(value) <= self.high:
            shown = int(value) if abs(int(value)) <= 10**LONGEST else f"a number of {int(value).bit_length():,} bits"
            raise UsageError(
                f"constant {self.name!r} was given {shown}, which is out of range: "
                f"write a value from {self.low} to {self.high} ({self.meaning})."
            )
        return self.kind(value)

    def spellings(self) -> dict[str, int]:
        """Return the words that can be written for values: enum members, or true and false."""
        if issubclass(self.kind, IntEnum):
            return {member.name.lower().replace("_", "-"): int(member) for member in self.kind}
        return {"false": 0, "true": 1, "off": 0, "on": 1} if self.kind is bool else {}

    def show(self, value: int) -> int | bool | str:
        """Return `value` as users write it, with dashes between words."""
        kind: type = self.kind
        if issubclass(kind, IntEnum):
            return str(kind(value).name.lower().replace("_", "-"))
        return bool(value) if kind is bool else int(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."


def shape(default: int, *, low: int, high: int, meaning: str) -> Constant[int]:
    """Return a constant that fixes the exact size of arrays."""
    return Constant(default, low=low, high=high, meaning=meaning, sort=SHAPE, kind=int, room=default)


def capacity(default: int, *, low: int, high: int, meaning: str, room: int | None = None) -> Constant[int]:
    """Return a constant that fixes the size of arrays. Values up to `room` share a compiled shape."""
    return Constant(default, low=low, high=high, meaning=meaning, sort=CAPACITY, kind=int, room=room or default)


def bound(default: int, *, low: int, high: int, meaning: str, fault: bool = False) -> Constant[int]:
    """Return a whole number read at run time. With `fault`, its value counts as faults, although no step uses it up."""
    made = Constant(default, low=low, high=high, meaning=meaning, sort=RUNTIME, kind=int, room=high)
    made.fault = fault
    return made


def switch(*, default: bool, meaning: str) -> Constant[bool]:
    """Return a constant that turns a KIP, a check or a bug on or off."""
    return Constant(default, low=0, high=1, meaning=meaning, sort=RUNTIME, kind=bool, room=1)


E = TypeVar("E", bound=IntEnum)


def choice(default: E, *, meaning: str) -> Constant[E]:
    """Return a constant whose value is a member of an enum, numbered from 0 without gaps."""
    require_usable_names(f"enum {type(default).__name__}", type(default))
    require_distinct_spellings(f"enum {type(default).__name__}", type(default).__members__)
    last = max(type(default))
    if {*range(last + 1)} != set(map(int, type(default))):
        raise ModelError(
            f"enum {type(default).__name__} is a choice ({meaning}): number its members from 0 without gaps."
        )
    return Constant(default, low=0, high=last, meaning=meaning, sort=RUNTIME, kind=type(default), room=last)


class Constants:
    """The constants of one machine. A subclass assigns `shape`, `capacity`, `bound`, `switch` and `choice`."""

    def __init_subclass__(cls) -> None:
        taken = {"values", "shown", "rooms", *(name for name in dir(Constants) if not name.startswith("__"))}
        for name, item in vars(cls).items():
            if isinstance(item, int) and not name.startswith("_"):
                said = (
                    f"constants {cls.__name__}: {name} = {item!r} is a number, not a constant of a run: "
                    f"write {name} = bound({int(item)}, "
                    'low=0, high=..., meaning="..."), or move it out of the class.'
                )
                raise ModelError(in_class(cls.__module__, cls.__name__, name, said))
            if not isinstance(item, Constant):
                continue
            require_trace_name(f"a constant of {cls.__name__}", name)
            if name in taken:
                raise ModelError(
                    f"constants {cls.__name__}: the name {name!r} is taken by the language: use another name."
                )

    def __init__(self, /, **values: int) -> None:
        declared = self.declared()
        for name in values:
            if name not in declared:
                raise UsageError(f"there is no constant {name!r}.{nearest(name, declared, 'The constants are:')}")
        self.values: Mapping[str, int] = {
            name: constant.accept(values.get(name, constant.default)) for name, constant in declared.items()
        }
        """The values by constant name."""
        self.shown: Mapping[str, int | bool | str] = {
            name: item.show(self.values[name]) for name, item in declared.items()
        }
        """Values in the form in which users write them."""
        self.rooms: Mapping[str, int] = {
            name: max(int(self.values[name]), item.room) if item.sort in (SHAPE, CAPACITY) else int(item.high)
            for name, item in declared.items()
        }
        """The maximum value of each constant that fits in the compiled shape."""
        self.__dict__.update(
            self.values
        )  # found before the class's attributes, for speed: models read them all the time

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(getattr(type(self), name, None), Constant):
            raise ModelError(f"constant {name!r} cannot be assigned: constants are fixed for a run.")
        super().__setattr__(name, value)

    @classmethod
    def declared(cls) -> dict[str, Constant[Any]]:
        """Return the constants by name, in the order of declaration, beginning with the constants of base classes."""
        found: dict[str, Constant[Any]] = {}
        for owner in reversed(cls.__mro__):
            found.update({name: item for name, item in vars(owner).items() if isinstance(item, Constant)})
        return found

    def replace(self, /, **values: int) -> Self:
        """Return constants with some values changed."""
        return type(self)(**{**self.values, **values})

    def sized(self, name: str) -> str:
        """Return the machine's name with the sizes of the run, such as `kip320 for 3 replicas`."""
        sizes = [f"{self.values[item]} {item}" for item, constant in self.declared().items() if constant.sort == SHAPE]
        return f"{name} for {', '.join(sizes)}" if sizes else name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values == other.values

    def __hash__(self) -> int:
        return hash((type(self), tuple(self.values.items())))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in self.shown.items())})"
