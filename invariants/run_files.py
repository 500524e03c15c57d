"""The runs of the catalogue, one TOML file per protocol in `invariants/runs/`. This is the complete schema.

    protocol = "follower-reads"          # the machine; without this key, each run's key names it before the version
    sizes = "replicas log_size"          # the key consists of the values of these constants: "3/2"
    [ids]                                # short names of properties, which claims use too
    S2 = "nothing-is-skipped"
    [lists]                              # several ids under one name
    live = "L1, L2"
    [sets]                               # constants under a name, for use in `set`
    moves = "crashes=0 fences=0 elections=3"
    [never]                              # witnesses that no run can reach with these constants; ";" means "or"
    "position-is-validated" = "position_epochs=off; records<2"

    [[group]]                            # runs with common values, which a row can override
    set = "replicas=2 records=2"         # constants; a row's `set` is added
    title = "2 replicas"                 # if given, the keys are versions ("" for none); otherwise, version and title
    version = "kafka-4.1"                # if given, the keys are titles
    run."kafka-4.1" = {pin=[22_123, 25], fails="S2 7, Q2 8", profile="quick", trace="Q2 replaced", never="lags, found"}

A long row is an array of such tables over several lines. A row or its group has these keys:

    set      constants as `name=value`, where the last value for a name wins; or names from `sets`
    pin      distinct states and depth
    fails    properties that must fail, each with the number of states in its shortest trace; all others must hold
    never    witnesses that are not reached; all others must be. A row's witnesses are added to its group's
    reaches  instead of `never`: the only witnesses that are reached
    judges   the properties to check, if they differ from the usual ones
    worst    the maximum cost of an at-most property: a number, `unbounded` or `never`
    trace    archived traces: `Q2 slug` is the file PROTOCOL-slug.trace
    profile  quick, ci (the default) or full
    why      the reason for an undesired failure
    compact  true: store only hashes of states
    serves   the purpose of a run that no entry names

To add a run, write its row with `pin=[0, 0]` (and 0 for unknown lengths), name it in the entry of `invariants/claims/`
that it decides, and let `fencepost check PROTOCOL --profile ci --pin` write the figures.
"""

import tomllib
from collections.abc import Mapping
from functools import cached_property

from fencepost.invariants.protocols import protocol
from fencepost.invariants.run import Run
from fencepost.invariants.run_rows import RunFile
from fencepost.model.language.errors import UsageError


class Runs:
    """The runs of several files, in order."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.all: list[Run] = []
        self.by_protocol: dict[str, dict[str, Run]] = {}
        """Runs by protocol and short name."""
        self.name_of: dict[str, str] = {}
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
            raise UsageError(f"two runs have the name {run.name!r}: give one of them another title.")
        own[run.short_name] = run
        self._files[run.protocol] = file
        self.all.append(run)

    def names(self, name: str, text: str) -> tuple[str, ...]:
        """Return a protocol's properties by their names in its file of runs; raise UsageError for an unknown name."""
        names = tuple(self._files[name].names(text))
        protocol(name).select(names)
        return names

    def knows(self, name: str, item: str) -> bool:
        """Return whether a protocol has a property, by its id or name."""
        return self._files[name].names(item)[0] in {found.name for found in protocol(name).every_property}

    @cached_property
    def _constants(self) -> dict[str, Mapping[str, int]]:
        return {run.name: constants_of(run) for run in self.all}

    def twins(self, run: Run, switch: set[str]) -> dict[str, int]:
        """Return the runs that differ only in constants of `switch`, each with the number of constants that differ."""
        found = {}
        mine = self._constants[run.name]
        for name, other in self.by_protocol[run.protocol].items():
            if (other.version, other.properties) == (run.version, run.properties):
                theirs = self._constants[other.name]
                differ = {constant for constant in mine if mine[constant] != theirs[constant]}
                if differ and differ <= switch:
                    found[name] = len(differ)
        return found


def judged_by(run: Run) -> frozenset[str]:
    """Return the properties that a run checks."""
    return frozenset(item.name for item in protocol(run.protocol).select(run.properties))


def values_of(run: Run) -> dict[str, int]:
    """Return the constants of a run: its version's, overridden by its own."""
    machine = protocol(run.protocol).machine
    base = dict(machine.version(run.version).values) if run.version else {}
    return {**base, **run.constants}


def constants_of(run: Run) -> Mapping[str, int]:
    """Return all constants of a run, including those that it does not set."""
    return protocol(run.protocol).machine.set_constants(values_of(run)).values
