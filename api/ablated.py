"""The rows of a matrix that are explored, taken from a checkpoint, or left out: with the whole machine before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.api.kept import Kept
from fencepost.api.quantities import counted, parse_size
from fencepost.api.suspicions import suspicions
from fencepost.explorers.verdict import Verdict, ended_by_signal
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.watching import Watch
    from fencepost.explorers.evidence.ablation import Outcome
    from fencepost.explorers.evidence.rows import Row
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.verdict import Options
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants

LEAST_STATES = 1_000_000
"""States that a row may take in any case; a machine without a guard may have many times as many as the whole one."""
TIMES = 4
"""A row may take so many times the states of the whole machine, unless --max-states says otherwise."""


@dataclass(frozen=True)
class Ask:
    """What `ablate` was asked to do, beside protocol and constants."""

    protocol: str
    properties: tuple[str, ...]
    guards: tuple[str, ...]
    also: tuple[str, ...]
    workers: int | None
    budget: str | None
    max_states: int | None
    memory: str | None
    normalize: bool
    checkpoint: str | None
    resume: bool
    liveness: bool
    html: str | None
    trace: str | None
    master: str | None
    conf: tuple[str, ...]
    json: bool
    quiet: bool


def run_rows(
    found: Protocol,
    constants: Constants,
    kernels: Kernels,
    rows: tuple[Row, ...],
    options: Options,
    ask: Ask,
    display: Watch,
    kept: Kept,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Explore the whole machine, then every row that is not finished, here or on a cluster; return the matrix."""
    from fencepost.api.matrix import row_data, whole_data
    from fencepost.explorers.evidence.ablation import Ablation, explore_rows
    from fencepost.explorers.native.crew import Signals

    finished = recalled(kept, rows, display)
    ablation = Ablation(found.machine, constants, found.select(ask.properties), options, kernels)
    with display.busy(f"{found.name}: the whole protocol"):
        base = ablation.explore_whole()
    if ended_by_signal(base.why_stopped):
        return nothing_run(whole_data(found, ablation, base), rows, f"{base.why_stopped} while the whole protocol was searched")
    if not base.complete:
        raise UsageError(
            f"the whole of {found.name!r} could not be searched: {base.why_stopped}. Rows are compared with it: "
            "give more memory, or smaller constants."
        )
    data = whole_data(found, ablation, base)
    if all(base.of(item.name).verdict is Verdict.VIOLATED for item in ablation.properties):
        return nothing_run(
            data, rows, "the whole protocol violates every property that was asked, so there is none left to lose"
        )
    limits = replace(options, max_states=options.max_states or max(LEAST_STATES, TIMES * base.distinct))
    ablation.options = limits
    waiting = tuple(row for row in rows if row.name not in finished)

    def done(row: Row, made: dict[str, Any]) -> None:
        finished[row.name] = made
        if "memory" not in made["why"]:
            kept.keep(row.name, made)
        display.spin(f"{found.name}: {len(finished)} of {len(rows)} rows, {row.name} last")

    def done_here(outcome: Outcome) -> None:
        if not (ablation.stop_asked and outcome.result is not None and not outcome.result.complete):
            done(outcome.row, row_data(found, ablation, outcome))

    why = ""
    if cluster is None:
        with display.busy(f"{found.name}: {counted(len(waiting), 'row')}"), Signals(ablation.ask):
            explore_rows(ablation, waiting, options.workers, done_here)
        why = ablation.stop_asked
    elif waiting:
        from fencepost.api.remote_rows import explore_on, plan_of

        memory = parse_size(ask.memory, "--memory") // options.workers if ask.memory else 0
        plan = plan_of(ask.protocol, found, ablation, ask.properties, memory)
        why = explore_on(cluster, plan, waiting, done, display)
    data["rows"] = [finished[row.name] for row in rows if row.name in finished]
    data["not_run"] = [row.name for row in rows if row.name not in finished]
    data["why_stopped"] = why
    data["suspicions"] = {} if ask.guards or data["not_run"] else suspicions(data)
    return data


def nothing_run(data: dict[str, Any], rows: tuple[Row, ...], why: str) -> dict[str, Any]:
    """Return a matrix whose rows were not begun, and why."""
    return {**data, "not_run": [row.name for row in rows], "why_stopped": why, "suspicions": {}}


def kept_rows(found: Protocol, constants: Constants, source: Source, options: Options, ask: Ask) -> Kept:
    """Return where finished rows are kept; raise UsageError if there are none to go on from.

    The limit of states that follows from the size of the whole machine is none of the question: the rest of it settles that.
    """
    limits = (options.budget, options.max_states, options.normalize, LEAST_STATES, TIMES)
    asked_for = [item.name for item in found.select(ask.properties)]
    question = f"{found.name}\n{constants!r}\n{asked_for}\n{limits}\n{source.text}"
    return Kept(ask.checkpoint, question, resume=ask.resume, begun=ask.resume)


def recalled(kept: Kept, rows: tuple[Row, ...], display: Watch) -> dict[str, dict[str, Any]]:
    """Return the rows that a checkpoint has, by name, and say how many they are."""
    finished = {row.name: row_found for row in rows if (row_found := kept.recall(row.name)) is not None}
    if kept.resume:
        display.note(f"{len(finished):,} of {counted(len(rows), 'row')} from the checkpoint in {kept.folder}")
    return finished
