"""The elements of the catalogue: runs, and the entries that they decide."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Profile(StrEnum):
    """The part of the catalogue to run. Each profile includes the smaller profiles."""

    QUICK = "quick"
    """A selection that includes every protocol and takes minutes."""
    CI = "ci"
    """All runs that are small enough for a CI build."""
    FULL = "full"
    """All runs, including those that may take hours."""


@dataclass(frozen=True)
class Run:
    """An exploration and its expected results.

    `violated` gives the length of the shortest trace for each property that must be violated. Every other property must
    hold, and every other witness must be reached, except those in `unreached`. Figures that are None are not pinned.
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
    """Maximum cost of at-most properties: a number, `unbounded` or `never`."""
    properties: tuple[str, ...] = ()
    """Properties to evaluate; if empty, all properties of the protocol except those in `on_request`."""
    compact: bool = False
    why: str = ""
    title: str = ""
    """Name of the run within its protocol; if empty, the values of its constants."""
    trace: Mapping[str, str] = field(default_factory=dict)
    """The file name of each property's archived trace, if it is not named after the protocol and property."""
    serves: str = ""
    """Purpose of the run, used if no entry names the run."""

    @property
    def name(self) -> str:
        """Return a short, unique description of the run: `kip320 3/2/2/2`, `replication 2 brokers, B09`."""
        return f"{self.protocol} {self.short_name}"

    @property
    def short_name(self) -> str:
        """Return the version and the title, which entries use to refer to the run."""
        values = self.title or "/".join(str(value) for value in self.constants.values())
        return " ".join(part for part in (self.version, values) if part)

    @property
    def traces(self) -> dict[str, str]:
        """Return the file name of each violated property's trace; not every run's traces are archived."""
        return {name: self.trace.get(name, f"{self.protocol}-{name}.trace") for name in self.violated}


@dataclass(frozen=True)
class Case:
    """One run as evidence about `prop`."""

    run: Run
    prop: str

    @property
    def expect(self) -> str:
        """Return the verdict expected for the property in this run."""
        if self.prop in self.run.violated:
            return "violated"
        return "unreached" if self.prop in self.run.unreached else "holds"

    @property
    def worst(self) -> int | str | None:
        """Return the pinned maximum cost, if there is one."""
        return self.run.worst.get(self.prop)

    @property
    def length(self) -> int | None:
        """Return the length of the shortest trace, if the property must be violated."""
        return self.run.violated.get(self.prop)


@dataclass(frozen=True)
class Entry:
    """A guarantee, bug, hypothesis, question or claim."""

    id: str
    kind: str
    protocol: str
    sentence: str
    source: str
    depends: tuple[str, ...] = ()
    same_as: tuple[str, ...] = ()
    switch: str = ""
    reference: str = ""


@dataclass(frozen=True)
class Evidence:
    """The evidence for an entry: its cases and, for a question or a hypothesis, the answer in words."""

    entry: str
    cases: tuple[Case, ...]
    answer: str = ""
    verdict: str = ""
    """`confirmed` or `refuted` for a hypothesis; `broken` for a guarantee that the protocol violates."""
    gap: str = ""
    """A known gap: why the entry is unsettled or only partly settled."""
    avoid: str = ""
    """For a hypothesis: a workaround for operators until the bug is fixed."""
    classes: Mapping[str, str] = field(default_factory=dict)
    """The expected verdict on the classes of each release: `holds`, `differs` or `not built`."""
    releases: tuple[str, ...] = ()
    """For a bug that was observed in Kafka before a model covered it: the affected releases, such as `4.1`."""
    driven: tuple[str, ...] = ()
    """For a hypothesis that no model covers: the patch releases in whose classes the bug was reproduced."""
    harm: str = ""
    """The verdict of `fencepost reproduce`, such as `lost`, for a hypothesis that no model covers."""
    without_elr: str = ""
    """The harm without eligible leader replicas, if it differs, for a hypothesis that no model covers."""
    repair: str = ""
    """For a hypothesis that no model covers: the fix."""
