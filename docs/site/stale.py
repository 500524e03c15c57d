"""Stale figures: the questions that `benchmarks/figures/` measures, and whether their model has changed."""

import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.api.asking.constants import read_values
from fencepost.api.calls.theorems import settings_of
from fencepost.api.files import digest
from fencepost.api.topics import matrices
from fencepost.invariants.catalogue import evidence, values_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language import Constants
from fencepost.model.language.errors import FencepostError
from fencepost.site.figures import measured_proofs

PROTOCOL = "replication"
LOSS = "leader-has-acknowledged"
# -- how many crashes a record survives

CLAIM = (
    "max_records=1 shrinks=0 loss=any equal_partition_epoch_overwrites=off "
    "reset_followers_on_reelection=on fenced_before_registration=on fenced_epoch_check=on"
)
"""Constants for KIP-966's claim: any crash may lose the whole log, and the known bugs are fixed."""
SIZES = {
    "2": "brokers=2 initial_isr=2 fences=2 crashes=2 max_leader_epoch=4",
    "3": "brokers=3 initial_isr=3 fences=3 crashes=3 max_leader_epoch=8",
}
"""Further constants, by number of replicas. `fences` equals that number, because only fenced brokers register."""
GRID = ("elr=off,on", "unclean_election=off,on")
MOST_STATES = 20_000_000
"""Maximum number of states of a search. Stored as fingerprints, this many states take less than 4 GiB."""


def grid_of(replicas: str) -> tuple[str, ...]:
    return (f"min_isr={','.join(str(number) for number in range(1, int(replicas) + 1))}", *GRID)


def constants_of(replicas: str) -> Constants:
    return constants_in(f"{CLAIM} {SIZES[replicas]}")


def constants_in(text: str) -> Constants:
    machine = protocol(PROTOCOL).machine
    return machine.set_constants(read_values(machine, dict(word.split("=") for word in text.split())))


def crashes_mark(replicas: str) -> str:
    values = [(name, int(value)) for name, value in constants_of(replicas).values.items()]
    return digest([*_model_of_loss(), repr(values), repr((grid_of(replicas), MOST_STATES))])


def crashes_measured() -> dict[str, Any]:
    return load("faults")


def stale_crashes() -> list[str]:
    """Return the replica counts for which the tables were measured with another model."""
    known = crashes_measured()
    return [name for name in SIZES if name in known and known[name].get("mark") != crashes_mark(name)]


# -- the fewest faults with which a finding loses a record


class Question(NamedTuple):
    constants: str
    kinds: tuple[str, ...]
    min_isr: str = "1,2"
    prop: str = LOSS


_REPAIRED = {
    "max_records": "1", "max_leader_epoch": "8", "elr": "on", "equal_partition_epoch_overwrites": "off",
    "reset_followers_on_reelection": "on", "fenced_epoch_check": "on", "fenced_before_registration": "on",
}  # fmt: skip


def _alone(given: str) -> str:
    values = {**_REPAIRED, **dict(pair.split("=") for pair in given.split())}
    return " ".join(f"{name}={value}" for name, value in values.items())


QUESTIONS = {
    name: Question(_alone(item.pop("constants")), tuple(item.pop("kinds")), **item)
    for name, item in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}


def faults_mark() -> str:
    found = protocol(PROTOCOL)
    asked = found.select(tuple({item.prop: None for item in QUESTIONS.values()}))
    return digest([*matrices.texts_of(found.machine, asked), repr(QUESTIONS)])


# the losses of operations


def operations_mark() -> str:
    """Return a digest of everything that the figures of operations depend on, except each row's constants."""
    return digest([*_model_of_loss(), _versions()])


# -- findings by version

DISK_STAYS = {"brokers": 2, "crashes": 2, "fences": 2, "max_leader_epoch": 4, "max_records": 1, "loss": "none"}
"""Constants for finding record loss in releases when the disk survives a crash and the process restarts."""


def versions_mark() -> str:
    found = protocol(PROTOCOL)
    runs = sorted(
        {
            (case.run.name, repr(values_of(case.run)), case.prop)
            for item in evidence().values()
            for case in item.cases
            if case.run.protocol == PROTOCOL
        }
    )
    return digest([*matrices.texts_of(found.machine, found.properties), _versions(), repr(runs)])


def losses_mark() -> str:
    return digest([*_model_of_loss(), _versions(), repr(DISK_STAYS)])


def _versions() -> str:
    return repr([(item.name, sorted(item.values.items())) for item in protocol(PROTOCOL).machine.versions])


def _model_of_loss() -> list[str]:
    found = protocol(PROTOCOL)
    return matrices.texts_of(found.machine, found.select((LOSS,)))


# -- all figures


def stale() -> Iterator[str]:
    found = [(f"matrices/{name}", f"matrices {name}") for name in matrices.stale()]
    marks = {"versions": versions_mark(), "finding-faults": faults_mark(), "operations": operations_mark()}
    found += [(file, file.replace("-", "_")) for file, mark in marks.items() if load(file).get("mark") != mark]
    found += [("versions", "versions")] if load("versions").get("losses", {}).get("mark") != losses_mark() else []
    found += [("faults", f"matrices --faults {replicas}") for replicas in stale_crashes()]
    for file, program in found:
        yield (
            f"stale: invariants/figures/{file}.json: measured with another model or question; "
            f"`python -m benchmarks.figures.{program}` remeasures it."
        )
    yield from stale_proofs()


def stale_proofs() -> Iterator[str]:
    """Yield a line about proofs whose question has changed. The comparison needs z3."""
    try:
        from fencepost.explorers.symbolic.cache import digest
    except ModuleNotFoundError:
        yield "not compared: invariants/figures/proofs.json: z3 is missing: `pip install 'fencepost[prove]'`."
        return
    old = []
    for item in THEOREMS:
        machine, settings = item.found.machine, settings_of(item, timeout=60.0, workers=1)
        now = digest(machine, machine.set_constants(item.constants), item.properties, settings, engine="")
        if measured_proofs().get(item.name, {}).get("digest") != now:
            old.append(item.name)
    if old:
        yield (
            f"stale: invariants/figures/proofs.json: {', '.join(old)} were proved for another model or question; "
            "`fencepost prove --no-cache --workers 1 --json > FILE` and "
            "`python -m benchmarks.figures.matrices --proofs FILE` remeasure them."
        )


def refuted() -> Iterator[str]:
    known = matrices.measured()
    claimed = [
        (f"matrices/{name}.json: {row['row']} is listed as needed", partial(matrices.history, name, (row, base)))
        for name in matrices.stale()
        for row, base in matrices.histories(known.get(name, {"bases": []}))
    ]
    claimed += [
        (f"faults.json: {name} replicas, {point['setting']}", partial(matrices.history_of_faults, data, point, item))
        for name in stale_crashes()
        for data in [crashes_measured()[name]]
        for point in data["grid"]
        for item in point["front"]
    ]
    for text, replay in claimed:
        try:
            replay()
        except FencepostError as error:
            yield f"refuted: invariants/figures/{text}, and its history fails: {error}"
