"""A file of runs, read from its tables and validated. The docstring of `run_files` describes the schema."""

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fencepost.invariants.protocols import Protocol, protocol
from fencepost.invariants.run import Profile, Run
from fencepost.model.language.constants import Constant
from fencepost.model.language.errors import UsageError, nearest

FILE_KEYS = ("protocol", "sizes", "ids", "lists", "sets", "never", "group")
ROW_KEYS = (
    *("set", "pin", "fails", "never", "reaches", "judges", "worst"),
    *("trace", "profile", "why", "compact", "serves"),
)
GROUP_KEYS = (*ROW_KEYS, "title", "version", "run")
_LISTED = 24
"""Maximum number of names that a message lists."""
_ADDED = ("set", "never")
"""Keys of a row whose values are added to those of its group instead of replacing them."""


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs from a string such as `TOK-S1 14, no timeouts 5`: the text before the last word, and that word."""
    for item in words(text):
        first, _, last = item.rpartition(" ")
        if not first:
            raise UsageError(f"{item!r} is a single word: expected a name and a value, such as {item + ' ...'!r}.")
        yield first, last


def words(text: str) -> list[str]:
    """Return the comma-separated items of a string, without line breaks."""
    return [" ".join(item.split()) for item in text.split(",") if item.strip()]


def joined(row: Mapping[str, Any] | list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row as one table; raise UsageError for an unknown or repeated key."""
    found: dict[str, Any] = {}
    for part in row if isinstance(row, list) else [row]:
        only(part, ROW_KEYS, "key of a run")
        for name in part:
            if name in found:
                raise UsageError(f"{name!r} was given twice: remove one of the two.")
        found |= part
    return found


def only(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise UsageError for an unknown name."""
    listed = list(known)
    for name in given:
        if name not in listed:
            choice = f" Write one of: {', '.join(listed)}." if len(listed) <= _LISTED else ""
            raise UsageError(f"there is no {what} {name!r}.{nearest(name, listed)}{choice}")


class RunFile:
    """One file of runs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        only(data, FILE_KEYS, "key")
        self.data = data
        self.protocol: str = data.get("protocol", "")
        self.ids: Mapping[str, str] = data.get("ids", {})
        self.lists: Mapping[str, str] = data.get("lists", {})
        self.sets: Mapping[str, str] = data.get("sets", {})
        if self.protocol:
            known = [item.name for item in protocol(self.protocol).every_property]
            only(self.ids.values(), known, "property")

    def runs(self) -> Iterator[Run]:
        """Yield the runs of all groups."""
        for group in self.data.get("group", ()):
            only(group, GROUP_KEYS, "key of a group")
            for key, row in group.get("run", {}).items():
                try:
                    run = Row(self, key, group, joined(row)).run()
                except UsageError as error:
                    raise UsageError(f"run {key!r}: {error}") from None
                yield run

    def names(self, text: str) -> list[str]:
        """Return the properties that a string names by id, by name, or as a list."""
        return [name for item in words(text) for name in self._names(item)]

    def _names(self, item: str) -> list[str]:
        return self.names(self.lists[item]) if item in self.lists else [self.ids.get(item, item)]

    def constants(self, text: str, declared: Mapping[str, Constant[Any]]) -> dict[str, int]:
        """Return the constants in `name=value` words and named sets. If a name is repeated, its last value wins."""
        found: dict[str, int] = {}
        for word in text.split():
            name, equals, value = word.partition("=")
            if not equals:
                only([name], self.sets, "set")
                found |= self.constants(self.sets[name], declared)
                continue
            only([name], declared, "constant")
            found[name] = int(declared[name].parse(value))
        return found


@dataclass(frozen=True)
class Row:
    """A row of a file, with the values of its group."""

    file: RunFile
    key: str
    group: Mapping[str, Any]
    row: Mapping[str, Any]

    @cached_property
    def said(self) -> Mapping[str, Any]:
        """Return the values of the row, with those of its group for missing keys."""
        joined = {
            name: f"{self.group.get(name, '')}{mark}{self.row.get(name, '')}"
            for name, mark in zip(_ADDED, " ,", strict=True)
        }
        return ChainMap(joined, dict(self.row), dict(self.group))

    @cached_property
    def named(self) -> tuple[str, str, str]:
        """Return the protocol, the version and the title."""
        key, name = self.key, self.file.protocol
        if not name:
            name, _, key = key.partition(" ")
        if "title" in self.group:
            return name, key, self.group["title"]
        if "version" in self.group:
            return name, self.group["version"], key
        machine = protocol(name).machine
        versions = [item.name for item in (*machine.versions, *machine.patches())]
        first, _, rest = key.partition(" ")
        return (name, first, rest) if first in versions else (name, "", key)

    @cached_property
    def found(self) -> Protocol:
        """The protocol."""
        return protocol(self.named[0])

    def run(self) -> Run:
        """Return the run."""
        name, version, title = self.named
        machine = self.found.machine
        constants = self._constants(title)
        judged = tuple(self.file.names(self.said.get("judges", "")))
        base = machine.version(version).values if version else {}
        shown = machine.set_constants({**base, **constants})
        profile = self.said.get("profile", Profile.CI)
        only([profile], list(Profile), "profile")
        run = Run(
            name,
            constants,
            version=version,
            profile=Profile(profile),
            distinct=self._pin()[0],
            depth=self._pin()[1],
            violated={prop: number(text) for prop, text in self._pairs("fails")},
            unreached=self._unreached(judged, shown.values),
            worst={prop: int(text) if text.isdigit() else text for prop, text in self._pairs("worst")},
            properties=judged,
            compact=self.said.get("compact", False),
            why=" ".join(self.said.get("why", "").split()),
            title="" if "sizes" in self.file.data else title,
            trace={prop: f"{name}-{slug}.trace" for prop, slug in self._pairs("trace")},
            serves=self.said.get("serves", ""),
        )
        self._check(run)
        return run

    def _constants(self, title: str) -> dict[str, int]:
        declared = self.found.machine.constants.declared()
        if "sizes" not in self.file.data:
            return self.file.constants(self.said["set"], declared)
        sizes, values = self.file.data["sizes"].split(), title.split("/")
        if len(sizes) != len(values):
            raise UsageError(f"{title!r} has {len(values)} values instead of {len(sizes)}: {', '.join(sizes)}.")
        return self.file.constants(" ".join(map("=".join, zip(sizes, values, strict=True))), declared)

    def _pin(self) -> tuple[int, int]:
        pin = self.said.get("pin")
        match pin:
            case [int(distinct), int(depth)]:
                return distinct, depth
        raise UsageError(
            "the run has no figures: write a pin of zeros; `fencepost.check(PROTOCOL, pin=True)` writes the figures."
        )

    def _pairs(self, key: str) -> Iterator[tuple[str, str]]:
        for item, last in pairs(self.said.get(key, "")):
            for name in self.file.names(item):
                yield name, last

    def _unreached(self, judged: tuple[str, ...], values: Mapping[str, int]) -> tuple[str, ...]:
        never = self.file.names(self.said["never"])
        if "reaches" in self.said:
            reached = self.file.names(self.said["reaches"])
            only(reached, judged, "judged property")
            return tuple(name for name in judged if name not in reached)
        if judged:
            return tuple(never)
        out = [
            self.file.ids.get(name, name)
            for name, text in self.file.data.get("never", {}).items()
            if self._is_out(text, values)
        ]
        for name in never:
            if name in out:
                raise UsageError(f"{name} is already listed under [never]: remove it.")
        return (*out, *never)

    def _is_out(self, text: str, values: Mapping[str, int]) -> bool:
        return any(all(self._is_met(word, values) for word in part.split()) for part in text.split(";"))

    def _is_met(self, word: str, values: Mapping[str, int]) -> bool:
        name, sign, value = re.fullmatch(r"(\w+)(=|<)(.+)", word).groups()  # type: ignore[union-attr]
        declared = self.found.machine.constants.declared()
        only([name], declared, "constant")
        wanted = int(declared[name].parse(value))
        return values[name] == wanted if sign == "=" else values[name] < wanted

    def _check(self, run: Run) -> None:
        judged = {item.name: item.kind for item in self.found.select(run.properties)}
        for key, names in (
            ("fails", run.violated),
            ("never", run.unreached),
            ("worst", run.worst),
            ("trace", run.trace),
        ):
            only(names, judged, f"judged property for `{key}`:")
        for name, kind in judged.items():
            if (name in run.violated) and kind == "sometimes":
                raise UsageError(f"{name} is a witness, which cannot fail: write it under `never`.")
            if (name in run.unreached) and kind != "sometimes":
                raise UsageError(f"{name} is not a witness: write it under `fails`, or remove it.")
            if (name in run.worst) and kind != "at-most":
                raise UsageError(f"{name} does not bound a cost: remove it from `worst`.")
        for name, cost in run.worst.items():
            if isinstance(cost, str) and cost not in ("unbounded", "never"):
                raise UsageError(f"the worst case of {name} is {cost!r}: expected a number, `unbounded` or `never`.")


def number(text: str) -> int:
    """Return a whole number; raise UsageError for anything else."""
    if not text.isdigit():
        raise UsageError(f"a trace's number of states is {text!r}: expected a whole number.")
    return int(text)
