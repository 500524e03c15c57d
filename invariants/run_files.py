"""The runs of the catalogue, read from `invariants/runs/`: one file for each protocol, TOML, and this is all of its schema.

    protocol = "follower-reads"          # the machine; a file without it names the machine in each key, before the version
    sizes = "replicas log_size"          # the key is the values of these constants: "3/2"
    [ids]                                # short names of properties, those that claims use too
    S2 = "nothing-is-skipped"
    [lists]                              # several ids under one name
    live = "L1, L2"
    [sets]                               # constants under a name, for use in `set`
    moves = "crashes=0 fences=0 elections=3"
    [never]                              # witnesses that no run can reach under these constants; ";" separates alternatives
    "position-is-validated" = "position_epochs=off; records<2"

    [[group]]                            # runs that have something in common; a row may say the same things, and then has the last word
    set = "replicas=2 records=2"         # constants; a row's `set` goes on top of it
    title = "2 replicas"                 # with it the keys are versions ("" for none), without it a version and a title
    version = "kafka-4.1"                # with it the keys are titles
    run."kafka-4.1" = {pin=[22_123, 25], fails="S2 7, Q2 8", profile="quick", trace="Q2 replaced-leader", never="lags, found"}

A row that is longer than a line is an array of such tables, over several lines. What a row or its group may say:

    set      constants as `name=value`, the last one of a name; a word alone is one of `sets`
    pin      distinct states and depth
    fails    properties that must fail, each with the states of its shortest trace; every other property must hold
    never    witnesses that are not reached; every other witness must be. A row's come on top of its group's
    reaches  instead of `never`: the only witnesses that are reached
    judges   the properties to judge, where not all of the usual ones are
    worst    the greatest cost of an at-most property: a number, `unbounded` or `never`
    trace    archived traces: `Q2 slug` is the file PROTOCOL-slug.trace
    profile  quick, ci (if nothing is written) or full
    why      why something fails that one would like to hold
    compact  true: keep hashes of states only
    serves   what the run is for, where no entry names it

To add a run, write its row with `pin=[0, 0]` (and 0 for lengths that are not known), name it in the entry of `invariants/claims/`
that it decides, and let `fencepost check PROTOCOL --profile ci --pin` write the figures.
"""

from __future__ import annotations

import re
import tomllib
from collections import ChainMap
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fencepost.invariants.protocols import protocol
from fencepost.invariants.run import Profile, Run
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language.constants import Constant

FILE_KEYS = ("protocol", "sizes", "ids", "lists", "sets", "never", "group")
ROW_KEYS = (
    *("set", "pin", "fails", "never", "reaches", "judges", "worst"),
    *("trace", "profile", "why", "compact", "serves"),
)
GROUP_KEYS = (*ROW_KEYS, "title", "version", "run")
_LISTED = 24
"""Names that a message lists."""
_ADDED = ("set", "never")
"""What a row says on top of its group, not instead of it."""


class Runs:
    """The runs of several files, in their order."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Read files, texts by name; raise UsageError, which names the run, for anything that makes no sense."""
        self.all: list[Run] = []
        self.by_protocol: dict[str, dict[str, Run]] = {}
        """The runs by protocol and short name."""
        self.name_of: dict[str, str] = {}
        """The name of the file of each protocol."""
        self._files: dict[str, RunFile] = {}
        for name, text in texts.items():
            try:
                file = RunFile(tomllib.loads(text))
                for run in file.runs():
                    self._add(run, file)
                    self.name_of[run.protocol] = name
            except tomllib.TOMLDecodeError as error:
                raise UsageError(f"{name} cannot be read as TOML: {error}.") from None
            except UsageError as error:
                raise UsageError(f"{name}: {error}") from None

    def _add(self, run: Run, file: RunFile) -> None:
        own = self.by_protocol.setdefault(run.protocol, {})
        if run.short_name in own:
            raise UsageError(f"two runs are called {run.name!r}: give one of them another title.")
        own[run.short_name] = run
        self._files[run.protocol] = file
        self.all.append(run)

    def names(self, name: str, text: str) -> tuple[str, ...]:
        """Return the properties of a protocol that a text names as its file does; raise UsageError for one that is unknown."""
        names = tuple(self._files[name].names(text))
        protocol(name).select(names)
        return names

    def knows(self, name: str, item: str) -> bool:
        """Say whether a protocol has a property, by its id or name."""
        return self._files[name].names(item)[0] in {found.name for found in protocol(name).every_property}

    def twins(self, run: Run, switch: set[str]) -> dict[str, int]:
        """Return the runs that ask the same under other values of `switch` alone, with the number of constants that differ."""
        found = {}
        for name, other in self.by_protocol[run.protocol].items():
            if (other.version, other.properties) == (run.version, run.properties):
                mine, theirs = constants_of(run), constants_of(other)
                differ = {constant for constant in mine if mine[constant] != theirs[constant]}
                if differ and differ <= switch:
                    found[name] = len(differ)
        return found


def judged_by(run: Run) -> frozenset[str]:
    """Return the properties that a run judges."""
    return frozenset(item.name for item in protocol(run.protocol).select(run.properties))


def values_of(run: Run) -> dict[str, int]:
    """Return the constants of a run: its version's, and then its own."""
    machine = protocol(run.protocol).machine
    base = dict(machine.version(run.version).values) if run.version else {}
    return {**base, **run.constants}


def constants_of(run: Run) -> Mapping[str, int]:
    """Return all constants of a run, those included that it does not set."""
    return protocol(run.protocol).machine.set_constants(values_of(run)).values


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Return the pairs of a text such as `TOK-S1 14, no timeouts 5`: what is before the last word, and that word."""
    for item in words(text):
        first, _, last = item.rpartition(" ")
        if not first:
            raise UsageError(f"{item!r} was given alone, and two words are needed: write {item + ' ...'!r}.")
        yield first, last


def words(text: str) -> list[str]:
    """Return the items between commas, without the line breaks."""
    return [" ".join(item.split()) for item in text.split(",") if item.strip()]


def joined(row: Mapping[str, Any] | list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row as one table; raise UsageError for a key that is unknown or stands there twice."""
    found: dict[str, Any] = {}
    for part in row if isinstance(row, list) else [row]:
        only(part, ROW_KEYS, "key of a run")
        for name in part:
            if name in found:
                raise UsageError(f"{name!r} was given twice: leave one out.")
        found |= part
    return found


def only(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Raise UsageError for a name that is not known."""
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
        """Return the properties that a text names: by id, by name, or as a list."""
        return [name for item in words(text) for name in self._names(item)]

    def _names(self, item: str) -> list[str]:
        return self.names(self.lists[item]) if item in self.lists else [self.ids.get(item, item)]

    def constants(self, text: str, declared: Mapping[str, Constant[Any]]) -> dict[str, int]:
        """Return the constants of `name=value` words and named sets, the last value of each name."""
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
    """One row of a file, with what its group says."""

    file: RunFile
    key: str
    group: Mapping[str, Any]
    row: Mapping[str, Any]

    @cached_property
    def said(self) -> Mapping[str, Any]:
        """What the row says, or else its group."""
        joined = {
            name: f"{self.group.get(name, '')}{mark}{self.row.get(name, '')}" for name, mark in zip(_ADDED, " ,", strict=True)
        }
        return ChainMap(joined, dict(self.row), dict(self.group))

    @cached_property
    def named(self) -> tuple[str, str, str]:
        """The protocol, the version and the title."""
        key, name = self.key, self.file.protocol
        if not name:
            name, _, key = key.partition(" ")
        if "title" in self.group:
            return name, key, self.group["title"]
        if "version" in self.group:
            return name, self.group["version"], key
        versions = [item.name for item in protocol(name).machine.versions]
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
            raise UsageError(f"{title!r} has {len(values)} values where {len(sizes)} are needed: {', '.join(sizes)}.")
        return self.file.constants(" ".join(map("=".join, zip(sizes, values, strict=True))), declared)

    def _pin(self) -> tuple[int, int]:
        pin = self.said.get("pin")
        match pin:
            case [int(distinct), int(depth)]:
                return distinct, depth
        raise UsageError("it has no figures: write `pin=[0, 0]`, and have `fencepost check --pin` write them.")

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
                raise UsageError(f"{name} is out of reach anyway, as [never] says: leave it out.")
        return (*out, *never)

    def _is_out(self, text: str, values: Mapping[str, int]) -> bool:
        """Say whether one of the alternatives is met: all of its words."""
        return any(all(self._is_met(word, values) for word in part.split()) for part in text.split(";"))

    def _is_met(self, word: str, values: Mapping[str, int]) -> bool:
        name, sign, value = re.fullmatch(r"(\w+)(=|<)(.+)", word).groups()  # type: ignore[union-attr]
        declared = self.found.machine.constants.declared()
        only([name], declared, "constant")
        wanted = int(declared[name].parse(value))
        return values[name] == wanted if sign == "=" else values[name] < wanted

    def _check(self, run: Run) -> None:
        """Raise UsageError where the row says of a property what cannot be said of it."""
        judged = {item.name: item.kind for item in self.found.select(run.properties)}
        for key, names in (("fails", run.violated), ("never", run.unreached), ("worst", run.worst), ("trace", run.trace)):
            only(names, judged, f"judged property for `{key}`:")
        for name, kind in judged.items():
            if (name in run.violated) and kind == "sometimes":
                raise UsageError(f"{name} is a witness, which cannot fail: write it under `never`.")
            if (name in run.unreached) and kind != "sometimes":
                raise UsageError(f"{name} is no witness: write it under `fails`, or leave it out.")
            if (name in run.worst) and kind != "at-most":
                raise UsageError(f"{name} bounds no cost: leave it out of `worst`.")
        for name, cost in run.worst.items():
            if isinstance(cost, str) and cost not in ("unbounded", "never"):
                raise UsageError(f"the worst case of {name} was given as {cost!r}: write a number, unbounded or never.")


def number(text: str) -> int:
    """Return a whole number; raise UsageError for anything else."""
    if not text.isdigit():
        raise UsageError(f"{text!r} was given where the states of a trace are counted: write a whole number.")
    return int(text)
