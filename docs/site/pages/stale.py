"""Stale figures: those measured with an older model, and whether their histories are still possible."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.protocols import protocol
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import FencepostError
from fencepost.site.pages import finding_faults, matrices, tolerance, versions
from fencepost.site.pages.histories import histories, history, history_of_faults
from fencepost.site.pages.proofs import measured_proofs

if TYPE_CHECKING:
    from collections.abc import Iterator


def stale() -> Iterator[str]:
    """Yield a line for each file of figures whose model has changed since: which one, and how to measure it again."""
    for name in matrices.stale():
        was = matrices.measured().get(name, {}).get("mark", "none")
        yield (
            f"stale: invariants/figures/matrices/{name}.json: measured with model {was}, which is {matrices.mark_of(protocol(name))} now; "
            f"`python -m benchmarks.figures.matrices {name}` measures it again."
        )
    yield from stale_proofs()
    if versions.stale():
        yield "stale: invariants/figures/versions.json: measured with another model, or other runs; `python -m benchmarks.figures.versions` measures it again."
    if finding_faults.stale():
        yield "stale: invariants/figures/finding-faults.json: measured with another model; `python -m benchmarks.figures.finding_faults` measures it again."
    for replicas in tolerance.stale():
        was = tolerance.measured()[replicas]["mark"]
        yield (
            f"stale: invariants/figures/faults.json: {replicas} replicas were measured with model {was}, which is {tolerance.mark_of(replicas)} "
            f"now; `python -m benchmarks.figures.matrices --faults {replicas}` measures them again."
        )


def stale_proofs() -> Iterator[str]:
    """Yield a line for the proofs whose question has changed since they were measured; comparing them takes z3."""
    try:
        from fencepost.explorers.symbolic.cache import digest
    except ModuleNotFoundError:
        yield 'not compared: invariants/figures/proofs.json: z3 is not installed; `pip install "fencepost[prove]"` installs it.'
        return
    from fencepost.api.calls.theorems import settings_of

    known = measured_proofs()
    old = []
    for item in THEOREMS:
        machine = item.found.machine
        settings = settings_of(item, timeout=60.0, workers=1)
        now = digest(machine, machine.set_constants(item.constants), item.properties, settings, engine="")
        if known.get(item.name, {}).get("digest") != now:
            old.append(item.name)
    if old:
        yield (
            f"stale: invariants/figures/proofs.json: {', '.join(old)} were proved of another model or question; "
            "`fencepost prove --no-cache --workers 1 --json > FILE` and `python -m benchmarks.figures.matrices --proofs FILE` prove them again."
        )


def refuted() -> Iterator[str]:
    """Yield a line for each verdict of a stale matrix that is no longer true: its history is impossible, or violates nothing."""
    known = matrices.measured()
    for name in matrices.stale():
        for row, base in histories(known.get(name, {"bases": []})):
            try:
                history(name, (row, base))
            except FencepostError as error:
                yield f"refuted: invariants/figures/matrices/{name}.json: {row['row']} is said to be needed, and its history fails: {error}"
    for replicas in tolerance.stale():
        data = tolerance.measured()[replicas]
        for point in data["grid"]:
            for item in point["front"]:
                try:
                    history_of_faults(data, point, item)
                except FencepostError as error:
                    yield f"refuted: invariants/figures/faults.json: {replicas} replicas, {point['setting']}: its history fails: {error}"
