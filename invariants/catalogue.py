"""The catalogue: guarantees with their sources, and the runs that decide them.

A run explores one protocol with given constants. Its results are compared with pinned figures: the number of distinct
states, the depth, and the length of the shortest trace for each property that must fail. Guarantees, bugs, hypotheses,
questions and claims are entries; each entry names the runs that settle it. Runs and entries are stored as data in
`runs/` and `claims/`. The docstrings of the modules `run_files` and `claim_files` describe the schemas of these files.

For each run, `figures/reached.json` lists the constants whose limits prevented a step, including budgets of 0. The
run's verdicts are valid only within these limits. `fencepost check --profile ci --pin` writes `figures/reached.json`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from fencepost.invariants.claim_files import Claim, read_claims, settle
from fencepost.invariants.figures import store
from fencepost.invariants.run import Case, Entry, Evidence, Profile, Run
from fencepost.invariants.run_files import Runs, constants_of, values_of
from fencepost.invariants.run_rows import words
from fencepost.model.language.errors import UsageError

__all__ = [
    "Case", "Entry", "Evidence", "Profile", "Run", "entries", "evidence", "file_of", "named_by", "observed_on", "runs",
    "runs_of", "sections", "status", "values_of",
]  # fmt: skip

RUN_FILES = (
    *("lineage", "replication", "quorum", "controller-failover", "metadata-reads", "leader-discovery"),
    *("hints-and-tokens", "follower-reads", "watermark-propagation", "unclean-recovery"),
    *("broker-sessions", "topic-deltas", "idempotent-producer", "tiers", "directory-moves"),
)
"""Files that contain the runs, in order of exploration."""
CLAIM_FILES = (
    *("guarantees", "bugs", "hypotheses", "questions"),
    *("kip-1166", "consistency-tokens", "kip-951", "kip-903", "kip-392"),
)
"""Files that contain the entries, in display order."""


def _texts(folder: str, names: tuple[str, ...]) -> dict[str, str]:
    place = resources.files("fencepost.invariants") / folder
    return {f"invariants/{folder}/{name}.toml": (place / f"{name}.toml").read_text() for name in names}


@cache
def _runs() -> Runs:
    return Runs(_texts("runs", RUN_FILES))


@cache
def _claims() -> dict[str, Claim]:
    found: dict[str, Claim] = {}
    for name, text in _texts("claims", CLAIM_FILES).items():
        for claim in read_claims(name, text):
            if claim.entry.id in found:
                raise UsageError(f"{name}: two entries have the id {claim.entry.id}: give one of them another id.")
            found[claim.entry.id] = claim
    return found


@cache
def entries() -> dict[str, Entry]:
    """Return all entries by id, in the order of the files."""
    return {item: claim.entry for item, claim in _claims().items()}


@cache
def sections() -> dict[str, tuple[str, ...]]:
    """Return the ids of the entries under each heading."""
    titles = dict.fromkeys(claim.section for claim in _claims().values())
    return {title: tuple(item for item, claim in _claims().items() if claim.section == title) for title in titles}


@cache
def runs() -> tuple[Run, ...]:
    """Return every run of the catalogue."""
    return tuple(_runs().all)


def runs_of(*names: str) -> tuple[Run, ...]:
    """Return all runs of the given protocols."""
    return tuple(run for run in runs() if run.protocol in names)


def file_of(run: Run) -> Path:
    """Return the path of the TOML file that contains a run."""
    folder, name = _runs().name_of[run.protocol].split("/")[-2:]
    return Path(str(resources.files("fencepost.invariants") / folder / name))


@cache
def evidence() -> dict[str, Evidence]:
    """Return the evidence for each entry."""
    return settle(_claims(), _runs())


def observed_on(release: str) -> list[str]:
    """Return the entries that were observed on this release of Kafka before a model covered them."""
    said = {item: _claims()[claim.said.get("as", item)].said for item, claim in _claims().items()}
    return [item for item, texts in said.items() if release in words(texts.get("releases", ""))]


def named_by(entry: Entry) -> set[tuple[str, str]]:
    """Return the properties that an entry names, with their protocols."""
    runs, ids = _runs(), words(_claims()[entry.id].said.get("by", entry.id))
    known = [(name, item) for name in runs.by_protocol for item in ids if runs.knows(name, item)]
    return {(name, prop) for name, item in known for prop in runs.names(name, item)}


def status(entry: Entry) -> str:
    """Derive an entry's status from its evidence: `holds`, `broken`, `settled`, `not-built`, `known-gap` or `open`.

    A claim about Kafka's classes is `broken` if any release that implements it deviates from it, and `not-built` if no
    release implements it. A claim with `same_as` has the status of the entries listed there.
    """
    found = evidence().get(entry.id)
    if found is None:
        inherited = [status(entries()[item]) for item in entry.same_as]
        settled = [item for item in inherited if item != "open"]
        return settled[0] if settled and len(settled) == len(inherited) else "open"
    if found.gap and not found.cases and not found.classes:
        return "known-gap"
    if entry.kind in ("bug", "hypothesis", "question"):
        return "settled"
    if found.classes:
        seen = set(found.classes.values())
        return "broken" if "differs" in seen else "holds" if "holds" in seen else "not-built"
    return found.verdict or "holds"


NAME = "reached"


def reached_by(run: Run) -> dict[str, int] | None:
    """Return the bounds that a run reached, with their values, or None if the bounds were not recorded."""
    names = next(
        (row["bounds"] for row in store.load(NAME).get(run.protocol, ()) if row["run"] == run.short_name), None
    )
    if names is None:
        return None
    values = constants_of(run)
    return {name: int(values[name]) for name in names.split()}


def with_reached(runs: Iterable[Run], found: Mapping[str, Sequence[str]]) -> dict[str, list[dict[str, str]]]:
    """Return the figures, updated with the results of these runs, without those of runs that no longer exist."""
    tables: dict[str, list[dict[str, str]]] = {}
    for run in runs:
        before = reached_by(run)
        names = found.get(run.name, None if before is None else tuple(before))
        if names is not None:
            tables.setdefault(run.protocol, []).append({"run": run.short_name, "bounds": " ".join(names)})
    return tables
