"""The catalogue: what is promised, where that is written, and the runs that give a verdict on it.

A run explores one protocol under given constants and is judged against pinned figures: distinct states, depth, and
for each property that must fail the length of its shortest trace. Guarantees, bugs, hypotheses and questions are the
entries of `claims.toml`; evidence ties them to runs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Profile(StrEnum):
    """How much of the catalogue is run; each includes the ones before it."""

    QUICK = "quick"
    """A selection that shows every protocol: minutes."""
    CI = "ci"
    """The whole catalogue at sizes that fit a build."""
    FULL = "full"
    """Sizes that may take hours."""


@dataclass(frozen=True)
class Run:
    """One exploration and what it must find.

    `violated` gives for each property that must fail the states of its shortest trace; every other property must hold
    and every other witness must be reached, but for those listed in `unreached`. Figures that are None are not pinned.
    """

    protocol: str
    constants: Mapping[str, int] = field(default_factory=dict)
    version: str = ""
    profile: Profile = Profile.CI
    distinct: int | None = None
    depth: int | None = None
    violated: Mapping[str, int] = field(default_factory=dict)
    unreached: tuple[str, ...] = ()
    worst: Mapping[str, int | str] = field(default_factory=dict)
    """For at-most properties what the dearest way costs: a number, `unbounded` or `never`."""
    properties: tuple[str, ...] = ()
    """The properties to evaluate; all of the protocol's if empty, but for those that are on request."""
    compact: bool = False
    why: str = ""
    title: str = ""
    """What tells the run from others of its protocol, where its constants are too many to be its name."""
    trace: Mapping[str, str] = field(default_factory=dict)
    """The archived traces that are not named after protocol and property: file name by property."""

    @property
    def name(self) -> str:
        """The run in a few words, unique in the catalogue: `kip320 3/2/2/2`, `replication 2 brokers, B09`."""
        values = self.title or "/".join(str(value) for value in self.constants.values())
        return " ".join(part for part in (self.protocol, self.version, values) if part)

    @property
    def traces(self) -> dict[str, str]:
        """The archived trace of each property that must fail, by file name; it need not exist for every run."""
        return {name: self.trace.get(name, f"{self.protocol}-{name}.trace") for name in self.violated}


@dataclass(frozen=True)
class Case:
    """One run as evidence: what it says about `prop`."""

    run: Run
    prop: str

    @property
    def expect(self) -> str:
        """The verdict that the property must get in this run."""
        if self.prop in self.run.violated:
            return "violated"
        return "unreached" if self.prop in self.run.unreached else "holds"

    @property
    def worst(self) -> int | str | None:
        """What the dearest way costs, where that is pinned."""
        return self.run.worst.get(self.prop)

    @property
    def length(self) -> int | None:
        """States of the shortest trace, where the property must fail."""
        return self.run.violated.get(self.prop)


RULE = "A rule that the model follows: nothing is left to judge."
"""The gap of a sentence that says what the model does, and so cannot be violated in it."""


@dataclass(frozen=True)
class Evidence:
    """What settles an entry: cases, and for a question or a hypothesis the answer in words."""

    entry: str
    cases: tuple[Case, ...]
    answer: str = ""
    verdict: str = ""
    """For a hypothesis: confirmed or refuted. For a guarantee that the protocol does not keep: broken."""
    gap: str = ""
    """Why the entry is not settled, or only in part: a known gap."""


@dataclass(frozen=True)
class Entry:
    """A guarantee, bug, hypothesis, question or claim, from `claims.toml`."""

    id: str
    kind: str
    protocol: str
    sentence: str
    source: str
    depends: tuple[str, ...] = ()
    same_as: tuple[str, ...] = ()
    switch: str = ""
    reference: str = ""


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by id, in the order of the file."""
    text = resources.files("fencepost.invariants").joinpath("claims.toml").read_text()
    return {item["id"]: _entry(item) for item in tomllib.loads(text)["claim"]}


def _entry(item: dict[str, Any]) -> Entry:
    lists: Any = {name: tuple(item.get(name, ())) for name in ("depends", "same_as")}
    words = {name: item.get(name, "") for name in ("id", "kind", "protocol", "sentence", "source", "switch", "reference")}
    return Entry(**words, **lists)


def values_of(run: Run) -> dict[str, int]:
    """Return the constants of a run: its version's, and then its own."""
    machine = protocol(run.protocol).machine
    base = dict(machine.version(run.version).values) if run.version else {}
    return {**base, **run.constants}


def runs() -> tuple[Run, ...]:
    """Return every run of the catalogue."""
    from fencepost.invariants.runs import RUNS

    return RUNS


def evidence() -> dict[str, Evidence]:
    """Return the evidence by entry."""
    from fencepost.invariants.runs import EVIDENCE

    return {item.entry: item for item in EVIDENCE}


def status(entry: Entry) -> str:
    """Return `holds`, `broken`, `settled`, `known-gap` or `open` for an entry, as its evidence says.

    A bug holds if its variant fails as it must. A claim takes the status of what it is the same as.
    """
    found = evidence().get(entry.id)
    if found is None:
        inherited = [status(entries()[item]) for item in entry.same_as]
        settled = [item for item in inherited if item != "open"]
        return settled[0] if settled and len(settled) == len(inherited) else "open"
    if found.gap and not found.cases:
        return "known-gap"
    if entry.kind in ("bug", "hypothesis", "question"):
        return "settled"
    return found.verdict or "holds"
