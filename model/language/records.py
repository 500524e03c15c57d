"""Records: the closed schema of a state, and its plain, strict form.

A record class declares fields by annotation. Instances exist only inside a state that a `Schema` created for given
constants, and reject values outside their bounds. Assigning a record to a field or an array slot copies the record's
content, so two places never share a record.
"""

import dataclasses
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import CodeType, UnionType
from typing import Annotated, Any, Generic, TypeVar
from weakref import WeakValueDictionary

from fencepost.model.language.constants import Constants
from fencepost.model.language.domains import BitSet, Domain, Linear, Range, Size, domain_of, linear
from fencepost.model.language.errors import DomainError, ModelError, nearest
from fencepost.model.language.names import require_trace_name
from fencepost.model.language.own_names import OwnNames, as_declared, in_class, own_names

T = TypeVar("T")
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Scalar:
    """A field that holds one value of a domain."""

    domain: Domain


@dataclass(frozen=True)
class Nested:
    """A field that holds a record."""

    record: "type[Record]"


@dataclass(frozen=True)
class ArrayOf:
    """A field that holds `length` elements, scalars or records."""

    element: Scalar | Nested
    length: Linear


@dataclass(frozen=True)
class BagOf:
    """A field that holds up to `room` messages, as an unordered multiset in canonical order."""

    record: "type[Record]"
    room: Linear


FieldType = Scalar | Nested | ArrayOf | BagOf


class _RecordMeta(type):
    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
        annotations = _annotations_in(namespace)
        for field in annotations:
            if field in namespace:
                said = (
                    f"{name}.{field} is given {namespace[field]!r}, but every field starts at 0: omit the value, and "
                    "assign the field in the initial action."
                )
                raise ModelError(in_class(namespace["__module__"], name, field, said))
        for field, value in namespace.items():
            if bases and isinstance(value, int) and not field.startswith("_"):
                said = (
                    f"{name}.{field} = {value!r} is not a field: annotate it with its domain, as in `{field}: bool`, "
                    "or move it out of the class."
                )
                raise ModelError(in_class(namespace["__module__"], name, field, said))
        namespace.setdefault("__slots__", tuple(annotations))
        return super().__new__(mcs, name, bases, namespace)


def _annotations_in(namespace: dict[str, Any]) -> Mapping[str, Any]:
    """Return the annotations of a class that is being created. Python 3.14 and later evaluate them only on request."""
    if sys.version_info >= (3, 14):
        import annotationlib

        annotate = annotationlib.get_annotate_from_class_namespace(namespace)
        if annotate is not None:
            return annotationlib.call_annotate_function(annotate, annotationlib.Format.VALUE)
    found: Mapping[str, Any] = namespace.get("__annotations__", {})
    return found


class Record(metaclass=_RecordMeta):
    """Base of all record classes. A record literal such as `Replica(end=3)` can be assigned to a place or compared with
    one. Fields that the literal omits are cleared.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # records change

    def __init__(self, /, **values: Any) -> None:
        record = type(self)
        known = dict(fields(record))
        for name in values:
            if name not in known:
                raise ModelError(f"record {record.__name__} has no field {name!r}.{nearest(name, list(known))}")
        for name, field in known.items():
            cleared = 0 if isinstance(field, Scalar) else field.record() if isinstance(field, Nested) else CLEARED
            setattr(self, name, values.get(name, cleared))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record) or declared_class(type(self)) is not declared_class(type(other)):
            return NotImplemented
        return all(
            _same(getattr(self, name), getattr(other, name), field)
            for name, field in fields(declared_class(type(self)))
        )

    def __getattr__(self, name: str) -> Any:
        record = type(self)
        known = [field for field, _ in fields(record)]
        raise ModelError(f"record {record.__name__} has no field {name!r}.{nearest(name, known)}")

    def __repr__(self) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name, _ in fields(type(self)))
        return f"{type(self).__name__}({inner})"


class Members(int):
    """A set of numbered things, read from a state. `broker in s.isr` tests membership."""

    __slots__ = ()

    def __contains__(self, item: int) -> bool:
        return item >= 0 and int(self) >> item & 1 == 1


class Array(list[T]):
    """A strict list of fixed length. Negative indices are errors, and values are checked on every store."""

    __slots__ = ("_check", "_label")

    _check: Callable[[Any, str, int], Any] | None
    _label: str

    def __getitem__(self, index: Any) -> T:  # type: ignore[override]
        if type(index) is slice or not 0 <= index < len(self):
            raise DomainError(_outside(self._label, index, len(self)))
        found: T = list.__getitem__(self, index)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        if type(index) is slice or not 0 <= index < len(self):
            raise DomainError(_outside(self._label, index, len(self)))
        if self._check is None:
            _assign(list.__getitem__(self, index), value, self._label)
        else:
            list.__setitem__(self, index, self._check(value, self._label, index))


class Bag(Generic[T]):
    """Messages in flight. `add` takes the fields of a new message, and `remove` takes a message in flight."""

    __slots__ = ("_items", "_label", "_make", "_room", "_size")

    _items: list[Any]

    def __init__(self, label: str, room: int, make: Callable[[], Any], size: Linear) -> None:
        self._items, self._label, self._room, self._make, self._size = [], label, room, make, size

    def add(self, /, **values: Any) -> T:
        """Put a message in flight and return the message. Omitted fields are zero."""
        if len(self._items) >= self._room:
            raise DomainError(of_full_bag(self._label, self._size, self._room))
        message = self._make()
        for name, value in values.items():
            setattr(message, name, value)
        self._items.append(message)
        return typing.cast("T", message)

    def remove(self, message: T) -> None:
        """Remove the given message if it is in the bag, otherwise the first equal message."""
        wanted = key_of(message)
        places = [place for place, item in enumerate(self._items) if item is message]
        places += [place for place, item in enumerate(self._items) if key_of(item) == wanted]
        if places:
            del self._items[places[0]]
            return
        raise DomainError(f"{self._label}: there is no message {message!r} in flight to remove.")

    def __iter__(self) -> Iterator[T]:
        """Iterate over the messages from the last to the first, so that a loop may remove the current message."""
        return iter(tuple(reversed(self._items)))

    def __len__(self) -> int:
        return len(self._items)

    def sort(self) -> None:
        """Sort the messages into canonical order."""
        self._items.sort(key=key_of)


def of_full_bag(label: str, size: Linear, room: int) -> str:
    """Return the error message for a bag that has no room for another message."""
    held = f"{size.source()[1:-1].replace('c.', '')} = {room}" if size.names else str(room)
    return f"{label}: the bag is full: it holds {held} messages. Raise {' or '.join(size.names) or 'its size'}."


class Row(Record):
    """An array inside another array, as a record with one field, `items`, which models cannot access."""

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return bool(self.items == other) if isinstance(other, Array) else super().__eq__(other)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.items[index] = value

    def __iter__(self) -> Iterator[Any]:
        yield from self.items

    def __reversed__(self) -> Iterator[Any]:
        yield from reversed(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Channel(Record, Generic[T]):
    """A first-in, first-out queue of messages: a record with `items` and `items_end`, which models cannot access."""

    __slots__ = ()

    def add(self, /, **values: Any) -> T:
        """Put a message at the end and return the message. Omitted fields are zero."""
        mine: Any = self
        if mine.items_end >= len(mine.items):
            raise DomainError(
                f"{mine.items._label}: the channel is full ({len(mine.items)} in flight). Raise the bound on its size."
            )
        message = mine.items[mine.items_end]
        for name, value in values.items():
            setattr(message, name, value)
        mine.items_end += 1
        return typing.cast("T", message)

    def popleft(self) -> None:
        """Remove the first message."""
        mine: Any = self
        if not mine.items_end:
            raise DomainError(f"{mine.items._label}: the channel is empty: there is no message to remove.")
        last = mine.items_end - 1
        for index in range(last):
            mine.items[index] = mine.items[index + 1]
        mine.items[last] = declared_class(type(mine.items[last]))()
        mine.items_end = last

    def clear(self) -> None:
        """Remove all messages."""
        mine: Any = self
        for index in range(mine.items_end):
            mine.items[index] = declared_class(type(mine.items[index]))()
        mine.items_end = 0

    def __getitem__(self, index: int) -> T:
        if not 0 <= index < self.items_end:
            what = "NONE used as an index" if index == -1 else f"there is no message {int(index)}"
            raise DomainError(
                f"{self.items._label}: {what}: the channel has {self.items_end} messages, numbered from 0."
            )
        return typing.cast("T", self.items[index])

    def __iter__(self) -> Iterator[T]:
        for index in range(self.items_end):
            yield self.items[index]

    def __reversed__(self) -> Iterator[T]:
        """Iterate over the channel's messages from the last to the first."""
        return (self.items[index] for index in reversed(range(self.items_end)))

    def __len__(self) -> int:
        return int(self.items_end)


def is_row(record: type[Record]) -> bool:
    """Return whether a record class represents an array inside an array."""
    return issubclass(record, Row)


def is_channel(record: type[Record]) -> bool:
    """Return whether a record class represents a channel."""
    return issubclass(record, Channel)


_MADE: WeakValueDictionary[tuple[type[Record], ArrayOf], type[Record]] = WeakValueDictionary()
"""Classes of rows and channels, by their fields. Equal types share a class."""


def _made(kind: type[Record], items: ArrayOf, annotations: dict[str, Any]) -> type[Record]:
    made: type[Record] | None = _MADE.get((kind, items))
    if made is None:
        made = _RecordMeta(kind.__name__, (kind,), {"__annotations__": annotations, "__module__": __name__})
        _MADE[kind, items] = made
    return made


def _row(items: ArrayOf, annotation: Any) -> type[Record]:
    return _made(Row, items, {"items": annotation})


def _channel(items: ArrayOf, message: Any, size: Size) -> type[Record]:
    annotations = {"items": Annotated[Array[message], size], "items_end": Annotated[int, Range(0, size.length)]}
    return _made(Channel, items, annotations)


def _outside(label: str, index: Any, length: int) -> str:
    shown = index if type(index) is slice else int(index)  # enum members and flags count as numbers, as in every engine
    what = "NONE used as an index" if index == -1 else f"index {shown!r} is outside the array"
    return f"{label}: {what}: the array has {length} elements, numbered from 0."


CLEARED = ()
"""An empty array in a record literal, which clears the array field to which it is assigned."""


def _same(one: Any, other: Any, field: FieldType) -> bool:
    if not isinstance(field, ArrayOf) or (one is not CLEARED and other is not CLEARED):
        return bool(one == other)
    cleared = 0 if isinstance(field.element, Scalar) else field.element.record()
    return all(item == cleared for item in (other if one is CLEARED else one))


def _assign(target: Record, source: Any, label: str) -> None:
    kind = type(target).__mro__[1]
    if not isinstance(source, kind):
        raise DomainError(f"{label}: {source!r} was stored where a {kind.__name__} is expected.")
    for name, field in fields(kind):
        value = getattr(source, name)
        if isinstance(field, ArrayOf):
            mine = getattr(target, name)
            for index in range(len(mine)):
                if value is CLEARED:
                    mine[index] = field.element.record() if isinstance(field.element, Nested) else 0
                else:
                    mine[index] = value[index]
        else:
            setattr(target, name, value)


def fields(record: type[Record]) -> tuple[tuple[str, FieldType], ...]:
    """Return a record class's fields in order, with their types; raise ModelError for a class without fields."""
    kept: tuple[tuple[str, FieldType], ...] | None = vars(record).get("_fields")
    if kept is not None:
        return kept
    found: list[tuple[str, FieldType]] = []
    for owner in reversed(record.__mro__):
        for name, annotation in inspect.get_annotations(owner).items():
            require_trace_name(f"a field of {owner.__name__}", name)
            if name in dict(found):
                raise ModelError(
                    f"{owner.__name__}.{name}: its base class has a field of the same name: rename one of the fields."
                )
            try:
                own = own_names(vars(sys.modules.get(owner.__module__, typing)))
                found.append((name, _field_type(f"{owner.__name__}.{name}", annotation, own)))
            except ModelError as error:
                raise ModelError(pointed_at(owner, name, str(error))) from error
    if not found:
        said = f"record {record.__name__} has no fields: declare one, such as `sent: bool`."
        raise ModelError(in_class(record.__module__, record.__name__, "", said))
    made = tuple(found)
    record._fields = made  # type: ignore[attr-defined]  # kept as long as the class
    return made


def pointed_at(record: type[Record], name: str, said: str) -> str:
    """Return a message about a field with the file, the line and a caret, if the class's source is available."""
    owner = next((item for item in record.__mro__ if name in inspect.get_annotations(item)), record)
    return in_class(owner.__module__, owner.__name__, name, said)


def _field_type(label: str, annotation: Any, own: OwnNames) -> FieldType:
    if isinstance(annotation, str):
        raise ModelError(f"{label}: a model file must not use `from __future__ import annotations`: remove it.")
    domain = domain_of(annotation)
    if domain is not None:
        return Scalar(domain)
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return Nested(annotation)
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *notes = typing.get_args(annotation)
        size = next((note for note in notes if isinstance(note, Size)), None)
        origin = typing.get_origin(inner)
        if size is not None and origin in (Array, Bag, Channel):
            within = typing.get_args(inner)[0]
            if origin in (Bag, Channel) and (within is int or domain_of(within) is not None):
                raise ModelError(
                    f"{label}: a {origin.__name__.lower()} contains messages, which are records: {_AS_RECORD}."
                )
            element = _field_type(label, within, own)
            if origin is Array and isinstance(element, ArrayOf):
                return ArrayOf(Nested(_row(element, within)), linear(size.length))
            if origin is Channel and isinstance(element, Nested):
                return Nested(_channel(ArrayOf(element, linear(size.length)), within, size))
            if origin is Array and isinstance(element, Scalar | Nested):
                return ArrayOf(element, linear(size.length))
            if origin is Bag and isinstance(element, Nested):
                return BagOf(element.record, linear(size.length))
    what = "this" if typing.get_origin(annotation) is typing.Annotated else _spelt(annotation)
    raise ModelError(f"{label}: {what} is not a field type: {_instead(annotation, own)}.")


FIELD_TYPES = (
    "write a domain alias, bool, an IntEnum, a record class, Annotated[Array[element], Size(n)], "
    "Annotated[Bag[record], Size(n)] or Annotated[Channel[record], Size(n)]"
)


_AS_RECORD = "declare class Message(Record) with a field for the number, and write Bag[Message]"


def _spelt(annotation: Any) -> str:
    if isinstance(annotation, type) and typing.get_origin(annotation) is None:
        return annotation.__name__
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return " | ".join("None" if item is type(None) else _spelt(_bare(item)) for item in typing.get_args(annotation))
    return re.sub(r"\b(fencepost|fencepost_user_)[\w.]*\.|\btyping\.", "", repr(annotation))


def _bare(annotation: Any) -> Any:
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation


def _instead(annotation: Any, own: OwnNames) -> str:
    origin = typing.get_origin(annotation)
    per = f"Per({own.alias}), one for each {own.one}"
    if annotation is int:
        return f"give the number bounds, as in Annotated[int, Range(0, 3)] or Annotated[int, Index({own.many})]"
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return (
            f"enum members must be numbers: write class {annotation.__name__}(IntEnum), with `from enum import IntEnum`"
        )
    if dataclasses.is_dataclass(annotation):
        return f"write class {_spelt(annotation)}(Record), without @dataclass"
    if annotation in (float, str):
        return "use whole numbers, flags and members of an IntEnum"
    if origin in (typing.Union, UnionType) and type(None) in typing.get_args(annotation):
        return f"NONE is a value of a domain: write Annotated[int, Index({own.many}, none=True)], and compare with NONE"
    if annotation in (list, tuple) or origin in (list, tuple):
        return f"write Annotated[Array[element], Size(n)], which has a fixed length, or {per}"
    if annotation in (set, frozenset) or origin in (set, frozenset):
        return f"write Annotated[int, BitSet({own.many})], a set of numbered things"
    if annotation is dict or origin is dict:
        return "write an array with an element for each key: Annotated[Array[value], Per(Key)]"
    if origin in (Array, Bag, Channel):
        return f"give the array a length: Annotated[{_spelt(annotation)}, Size(n)], or {per}"
    if origin is typing.Annotated:
        inner, *notes = typing.get_args(annotation)
        within = typing.get_args(inner)[0] if typing.get_origin(inner) is Array else None
        if typing.get_origin(typing.get_args(within)[0] if typing.get_args(within) else None) is Bag:
            return (
                "a bag cannot be an element of an array: declare one bag in the state whose messages have a field such "
                "as `to`"
            )
        sizes = [note for note in notes if isinstance(note, Linear | int)]
        if sizes:
            return f"write the length as Size({as_declared(sizes[0])}), or {per}"
    return FIELD_TYPES


def key_of(record: Any) -> Key:
    """Return the content of a record as nested tuples. Records with equal content have equal keys."""
    return tuple(_key(getattr(record, name), field) for name, field in fields(declared_class(type(record))))


def declared_class(record: type) -> type[Record]:
    """Return the class that declares the fields: the base of a class bound to constants."""
    return record.__mro__[1] if "_bounds" in vars(record) else record


def _key(value: Any, field: FieldType) -> Any:
    if isinstance(field, Scalar):
        return int(value)
    if isinstance(field, Nested):
        return key_of(value)
    if isinstance(field, ArrayOf):
        return tuple(_key(item, field.element) for item in value)
    return tuple(sorted(key_of(item) for item in value))


class Schema:
    """A state class bound to constants, which creates states, converts them to keys, and restores them from keys."""

    def __init__(self, state: type[Record], constants: Constants) -> None:
        self.state, self.constants = state, constants
        self._bound: dict[type[Record], type[Record]] = {}
        self._makers: dict[type[Record], Callable[[Key], Any]] = {}
        text = f"lambda s: {_key_source('s', Nested(state))}"
        self._read = eval(_code(text, "eval"))  # noqa: S307 (our own text, for speed)
        self._bags = [name for name, field in fields(state) if isinstance(field, BagOf)]
        self._zero = self.zero(state)

    def new(self) -> Any:
        """Return a state in which every field is zero."""
        return self.restore(self._zero)

    def key(self, state: Any) -> Key:
        """Return the content of a state as nested tuples."""
        for name in self._bags:
            getattr(state, name).sort()
        return typing.cast("Key", self._read(state))

    def restore(self, key: Key) -> Any:
        """Return a new state with the content of a key."""
        return self.maker(self.state)(key)

    def message(self, record: type[Record], key: Key) -> Any:
        """Return a new message with the content of a key."""
        return self.maker(record)(key)

    def bounds(self, domain: Domain) -> tuple[int, int]:
        """Return (low, high) of a domain."""
        return domain.bounds(self.constants.values)

    def length(self, field: ArrayOf | BagOf) -> int:
        """Return the length of an array, or the capacity of a bag."""
        return (field.length if isinstance(field, ArrayOf) else field.room).value(self.constants.values)

    def zero(self, record: type[Record]) -> Key:
        """Return the key of a record of zeros; raise ModelError if a domain lacks 0 or a size is below 0."""
        found = []
        for name, field in fields(record):
            try:
                found.append(self._zero_of(f"{record.__name__}.{name}", field))
            except ModelError as error:
                raise ModelError(pointed_at(record, name, str(error))) from error
        return tuple(found)

    def _zero_of(self, label: str, field: FieldType) -> Any:
        if isinstance(field, Scalar):
            low, high = self.bounds(field.domain)
            if not low <= 0 <= high:
                if low > high:
                    raise ModelError(
                        f"{label}: the domain {low}..{high} is empty: write the lower bound first, or choose other "
                        "constants."
                    )
                raise ModelError(
                    f"{label}: the domain {low}..{high} excludes 0, which cleared records contain: start it at 0."
                )
            return 0
        if isinstance(field, Nested):
            return self.zero(field.record)
        if isinstance(field, ArrayOf):
            return (self._zero_of(label, field.element),) * self._size_of(label, field)
        self._size_of(label, field)
        self.zero(field.record)
        return ()

    def _size_of(self, label: str, field: ArrayOf | BagOf) -> int:
        size = self.length(field)
        if size < 0:
            raise ModelError(f"{label}: its size is {size} under these constants, but must be 0 or more.")
        return size

    def maker(self, record: type[Record]) -> Callable[[Key], Any]:
        """Return the function that creates a record from a key, generated as text for speed."""
        if record in self._makers:
            return self._makers[record]
        bound = self._bind(record)
        scope: dict[str, Any] = {"new": object.__new__, "bound": bound, "Array": Array, "Bag": Bag, "Members": Members}
        names = [f"k{number}" for number in range(len(fields(record)))]
        lines = [f"({', '.join(names)},) = key", "made = new(bound)"]
        for value, (name, field) in zip(names, fields(record), strict=True):
            label = f"{record.__name__}.{name}"
            scope[f"set_{value}"] = getattr(record, name).__set__
            if isinstance(field, Nested):
                scope[f"make_{value}"] = self.maker(field.record)
                value_text = f"make_{value}({value})"
            elif isinstance(field, ArrayOf):
                value_text = f"array_{value}({value})"
                scope[f"array_{value}"] = self._array_maker(field, label)
            elif isinstance(field, BagOf):
                value_text = f"bag_{value}({value})"
                scope[f"bag_{value}"] = self._bag_maker(field, label)
            elif isinstance(field.domain, BitSet):
                value_text = f"Members({value})"
            else:
                value_text = value
            lines.append(f"set_{value}(made, {value_text})")
        body = "\n".join("    " + line for line in [*lines, "return made"])
        exec(_code(f"def make(key):\n{body}\n", "exec"), scope)  # noqa: S102 (our own text, for speed)
        self._makers[record] = scope["make"]
        return self._makers[record]

    def _array_maker(self, field: ArrayOf, label: str) -> Callable[[Key], Array[Any]]:
        element = field.element
        make: Callable[[Any], Any] | None = self.maker(element.record) if isinstance(element, Nested) else None
        check = None if isinstance(element, Nested) else self._checker(element.domain)
        if isinstance(element, Scalar) and isinstance(element.domain, BitSet):
            make = Members

        def array(key: Key) -> Array[Any]:
            made: Array[Any] = Array(key if make is None else map(make, key))
            made._label, made._check = label, check
            return made

        return array

    def _bag_maker(self, field: BagOf, label: str) -> Callable[[Key], Bag[Any]]:
        make, room, zero = self.maker(field.record), self.length(field), self.zero(field.record)

        def bag(key: Key) -> Bag[Any]:
            made: Bag[Any] = Bag(label, room, lambda: make(zero), field.room)
            made._items = [make(item) for item in key]
            return made

        return bag

    def _checker(self, domain: Domain) -> Callable[..., int]:
        made = _checker(*self.bounds(domain), Members if isinstance(domain, BitSet) else int)
        made.__dict__["domain"] = domain
        return made

    def _bind(self, kind: type[Record]) -> type[Record]:
        if kind not in self._bound:
            checks = {
                name: self._checker(field.domain) if isinstance(field, Scalar) else None for name, field in fields(kind)
            }
            setters = {name: getattr(kind, name).__set__ for name, _ in fields(kind)}
            title = kind.__name__

            def set_field(record: Any, name: str, value: Any) -> None:
                if name not in checks:
                    raise ModelError(f"record {title} has no field {name!r}.{nearest(name, list(checks))}")
                check = checks[name]
                if check is not None:
                    setters[name](record, check(value, f"{title}.{name}"))
                elif isinstance(getattr(record, name), Record):
                    _assign(getattr(record, name), value, f"{title}.{name}")
                else:
                    raise ModelError(f"{title}.{name} is an array or a bag: change its elements; do not replace it.")

            self._bound[kind] = type(title, (kind,), {"__slots__": (), "__setattr__": set_field, "_bounds": checks})
        return self._bound[kind]


def _checker(low: int, high: int, kind: type[int]) -> Callable[..., int]:
    def check(value: Any, label: str, index: int | None = None) -> int:
        number = int(value)
        if not low <= number <= high:
            place = label if index is None else f"{label}[{int(index)}]"
            raise DomainError(f"{place}: {number} is out of its domain {low}..{high}.")
        return number if kind is int else kind(number)

    return check


@lru_cache(maxsize=1000)
def _code(text: str, mode: str) -> CodeType:
    return compile(text, "<record>", mode)


def _key_source(path: str, field: FieldType, depth: int = 0) -> str:
    """Return Python text that reads the key of `path`. Such text is fast, and every plain step reads keys."""
    if isinstance(field, Scalar):
        return f"int({path})" if isinstance(field.domain, BitSet) else path
    if isinstance(field, Nested):
        inner = "".join(f"{_key_source(f'{path}.{name}', item, depth)}, " for name, item in fields(field.record))
        return f"({inner})"
    variable = f"e{depth}"
    if isinstance(field, ArrayOf):
        if isinstance(field.element, Scalar):
            return f"tuple(map(int, {path}))" if isinstance(field.element.domain, BitSet) else f"tuple({path})"
        return f"tuple([{_key_source(variable, field.element, depth + 1)} for {variable} in {path}])"
    return f"tuple([{_key_source(variable, Nested(field.record), depth + 1)} for {variable} in {path}._items])"
