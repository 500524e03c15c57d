"""Parser for values in traces. Depending on the schema, they are numbers, words, sets or whole messages."""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from fencepost.model.language.actions import Action
from fencepost.model.language.domains import NONE, BitSet, Domain, Flag, InFlight, Member, Range
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.printing import show_message
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Key, Nested, Record, Scalar, Schema, fields

NUMBER = re.compile(r"0|-?[1-9][0-9]{0,39}", re.ASCII)
WORD = re.compile(r"[^\s{}\[\],=]+")


def arguments(plain: Interpreter, item: Action, label: str, text: str) -> tuple[Any, ...]:
    domains = dict(item.params)
    usage = " ".join([label, *(f"{name}=..." for name in domains)])
    given: dict[str, Any] = {}
    for name, value in pairs(text, f"{next(iter(domains), 'name')}=..."):
        if name not in domains:
            raise UsageError(f"{label} has no parameter {quoted(name)}.{nearest(name, list(domains))} Write `{usage}`.")
        if name in given:
            raise UsageError(f"parameter {name!r} of {label} appears twice. Write `{usage}`.")
        domain, what = domains[name], f"parameter {name!r} of {label}"
        if isinstance(domain, InFlight):
            given[name] = message(plain.schema, what, plain.message_class(domain), value)
        else:
            given[name] = parameter(plain.schema, what, domain, value)
    missing = [name for name in domains if name not in given]
    if missing:
        raise UsageError(f"parameter {missing[0]!r} of {label} is missing. Write `{usage}`.")
    return tuple(given[name] for name in domains)


def pairs(text: str, example: str) -> Iterator[tuple[str, str]]:
    for word in text.split():
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(
                f"{quoted(word)} is not of the form `name=value`. Write, for example, `{example}`, without spaces "
                "around the sign."
            )
        yield name, value


def quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def parameter(schema: Schema, what: str, domain: Domain, text: str) -> int:
    """Return the value of a parameter (never NONE); raise UsageError if no search explores the value."""
    low, high = schema.bounds(domain)
    return _scalar(what, domain, text, 0 if low == NONE else low, high)


def message(schema: Schema, what: str, record: type[Record], text: str) -> Key:
    reader = _Message(schema, what, text)
    key = reader.record(record)
    if reader.at != len(text):
        reader.refuse(f"{text[reader.at :]!r} follows the closing brace")
    return key


def describe(domain: Domain, low: int, high: int) -> str:
    if isinstance(domain, Flag | Member):
        return "one of: " + ", ".join(domain.spellings())
    if isinstance(domain, BitSet):
        return f"a set of numbers from 0 to {high.bit_length() - 1}, such as {domain.show(high)}"
    if low > high:
        return "nothing, because no value is possible with these constants"
    if low == NONE:
        return "none" if high == NONE else f"none or a number from 0 to {high}"
    return f"a number from {low} to {high}" if low < high else str(low)


def _scalar(what: str, domain: Domain, text: str, low: int, high: int) -> int:
    value = _number(domain, text)
    if value is None:
        words = [word for word, number in domain.spellings().items() if low <= number <= high]
        guess = nearest(text, words) if words else ""
        raise UsageError(f"{what} cannot be {quoted(text)}.{guess} Write {describe(domain, low, high)}.")
    if not low <= value <= high:
        raise UsageError(
            f"{what} cannot be {quoted(text)}, which is outside its domain. Write {describe(domain, low, high)}."
        )
    return value


def _number(domain: Domain, text: str) -> int | None:
    if isinstance(domain, BitSet):
        return _bits(text)
    words = domain.spellings()
    if text in words:
        return words[text]
    if text == "none" and isinstance(domain, Range):
        return NONE  # also for ranges that start below -1, so that old traces still replay
    if isinstance(domain, Flag | Member) or not NUMBER.fullmatch(text) or (text == str(NONE) and words):
        return None
    return int(text)


def _bits(text: str) -> int | None:
    members = text[1:-1].split(",") if text != "{}" else []
    if not (text.startswith("{") and text.endswith("}")) or len(set(members)) < len(members):
        return None
    if not all(NUMBER.fullmatch(item) and not item.startswith("-") and len(item) < 3 for item in members):
        return None
    return sum(1 << int(item) for item in members)


class _Message:
    """A message's text and the current read position. The schema determines what must come next."""

    def __init__(self, schema: Schema, what: str, text: str) -> None:
        self.schema, self.what, self.text, self.at = schema, what, text, 0
        self.top: type[Record] | None = None

    def refuse(self, why: str) -> NoReturn:
        example = show_message(self.top, self.schema.zero(self.top)) if self.top else "{}"
        raise UsageError(f"{self.what} cannot be {self.text!r}: {why}. Write a message such as {example}.")

    def expect(self, sign: str) -> None:
        if not self.comes(sign):
            place = f"before {self.text[self.at]!r}" if self.at < len(self.text) else "at the end"
            self.refuse(f"{sign!r} is missing {place}")

    def comes(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.at)
        self.at += found
        return found

    def word(self) -> str:
        found = WORD.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def record(self, record: type[Record]) -> Key:
        """Read `{field=value,...}` with every field once, in any order. A field with one possible value is optional."""
        self.top = self.top or record
        known, values = dict(fields(record)), dict[str, Any]()
        self.expect("{")
        while not values or self.comes(","):
            name = self.word()
            if name not in known:
                self.refuse(f"{name!r} is not a field of {record.__name__}{_question(nearest(name, list(known)))}")
            if name in values:
                self.refuse(f"field {name!r} appears twice")
            self.expect("=")
            values[name] = self.value(name, known[name])
        self.expect("}")
        for name, field in known.items():
            if name not in values:
                values[name] = self.only(name, record, field)
        return tuple(values[name] for name in known)

    def only(self, name: str, record: type[Record], field: FieldType) -> int:
        low, high = self.schema.bounds(field.domain) if isinstance(field, Scalar) else (0, 1)
        if low < high:
            self.refuse(f"field {name!r} of {record.__name__} is missing")
        return low

    def value(self, name: str, field: FieldType) -> Any:
        if isinstance(field, Scalar):
            return self.scalar(name, field.domain)
        if isinstance(field, Nested):
            return self.record(field.record)
        if isinstance(field, BagOf):
            self.refuse(f"field {name!r} is a bag, which no message can contain")
        return self.array(name, field)

    def array(self, name: str, field: ArrayOf) -> Key:
        self.expect("[")
        values: list[Any] = []
        while not self.comes("]"):
            if values:
                self.expect(",")
            values.append(self.value(f"{name}[{len(values)}]", field.element))
        length = self.schema.length(field)
        if len(values) != length:
            self.refuse(f"field {name!r} has length {len(values)} instead of {length}")
        return tuple(values)

    def scalar(self, name: str, domain: Domain) -> int:
        start = self.at
        if isinstance(domain, BitSet):
            end = self.text.find("}", start)
            self.at = end + 1 if end >= 0 else len(self.text)
        else:
            self.word()
        low, high = self.schema.bounds(domain)
        return _scalar(f"{self.what}: field {name!r}", domain, self.text[start : self.at], low, high)


def _question(hint: str) -> str:
    return hint.replace(" Did you mean ", " (did you mean ").replace("?", "?)")
