"""`fencepost check` without a protocol: the runs of the catalogue, each compared with what it must find."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.data import FORMAT, judgement_data
from fencepost.api.engines import with_notes
from fencepost.api.finished import Finished
from fencepost.api.interrupts import heard
from fencepost.api.quantities import show_seconds
from fencepost.api.traces import culprits_of
from fencepost.cli.builds.outcomes import Report
from fencepost.cli.builds.write import write_builds
from fencepost.cli.status import Exit
from fencepost.cli.views.console import close_stdout, print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.table import RunTable
from fencepost.invariants.catalogue import Profile, Run, runs
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.cli.commands.request import Request
    from fencepost.explorers.judge import Judgement
    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.verdict import Options


@dataclass
class Tally:
    """What came of the runs so far, as JSON objects."""

    done: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[Run] = field(default_factory=list)
    """The runs that were not begun."""
    why_stopped: str = ""
    doing: str = "preparing the runs"
    """What is done outside a search."""

    @property
    def exit(self) -> Exit:
        """Failed if anything found differs from what was expected; undetermined if something is missing."""
        if any(item["complete"] and not item["as_expected"] for item in self.done):
            return Exit.FAILED
        return Exit.AS_EXPECTED if all(item["as_expected"] for item in self.done) and not self.waiting else Exit.UNDETERMINED


def run_catalogue(request: Request) -> Exit:
    """Run the catalogue at the profile's sizes and print what was found."""
    profile = request.look_at_catalogue()
    chosen = choose_runs(profile, request.protocols)
    options = request.options()
    with Display(quiet=request.quiet) as display:
        table = None if request.json else RunTable(results(must_be_read=True), chosen, display)
        tally = Tally(waiting=list(chosen))
        try:
            _run_all(request, options, tally, table, display)
        except KeyboardInterrupt:  # while a machine was compiled: a search that is interrupted has a result
            tally.why_stopped = f"SIGINT was received while {tally.doing}"
        except BrokenPipeError:  # whoever read us had enough: no run is begun for nobody
            close_stdout()
            return tally.exit
    reports = [Report(protocol(item["protocol"]), item) for item in tally.done]
    write_builds(request, reports, [run.name for run in tally.waiting], tally.why_stopped)
    if table is not None:
        try:
            table.summary(tally.done, tally.waiting, tally.why_stopped)
        except BrokenPipeError:
            close_stdout()
    else:
        print_json(
            {
                "format": FORMAT,
                "profile": str(profile),
                "as_expected": tally.exit is Exit.AS_EXPECTED,
                "runs": tally.done,
                "not_run": [run.name for run in tally.waiting],
            }
        )
    return tally.exit


def choose_runs(profile: Profile, names: tuple[str, ...]) -> tuple[Run, ...]:
    """Return the catalogue's runs of a profile and the smaller ones, of all or of the named protocols."""
    for name in names:
        if name.endswith(".py") or "/" in name:
            raise UsageError(
                f"{name} has no runs in the catalogue: leave --profile out to check it under constants of your own."
            )
        protocol(name)
    order = list(Profile)
    found = tuple(
        run for run in runs() if order.index(run.profile) <= order.index(profile) and (not names or run.protocol in names)
    )
    if not found:
        raise UsageError(f"profile {profile} has no run of {', '.join(names)}: write --profile {order[-1]}, or leave it out.")
    return found


def _run_all(request: Request, options: Options, tally: Tally, table: RunTable | None, display: Display) -> None:
    """Compile everything that is not in the cache, several at a time, and explore one run after the other."""
    from fencepost.explorers.judge import judge
    from fencepost.explorers.verdict import ended_by_signal

    sources = {run.name: _source(run, options) for run in tally.waiting}
    tally.doing = "compiling machines: those that are finished are kept"
    _compile(tally.waiting, sources, options, display)
    finished = Finished(Path(request.checkpoint)) if request.checkpoint else None
    left = options.budget
    while tally.waiting:
        run = tally.waiting[0]
        data = finished.recall(run, sources[run.name]) if finished and request.resume else None
        if data is None:
            if left is not None and left <= 0:
                tally.why_stopped = f"the time budget of {options.budget:g} s for all runs ran out"
                return
            tally.doing = f"preparing {run.name}"
            own = finished.options_for(run, options) if finished else options
            with heard():
                judgement = judge(run, replace(own, budget=left), display.telling(run.name))
            judgement = _explained(request, judgement, options.budget)
            left = None if left is None else left - judgement.result.seconds
            culprits = culprits_of(protocol(run.protocol), judgement.result, normalize=options.normalize)
            data = judgement_data(judgement, _steps(judgement, options), culprits)
            if finished and judgement.result.complete:
                finished.keep(run, sources[run.name], data)
            if ended_by_signal(judgement.result.why_stopped):
                tally.why_stopped = judgement.result.why_stopped
        tally.done.append(data)
        tally.waiting.pop(0)
        if table is not None:
            table.row(run, data)
        if tally.why_stopped:
            return


def _explained(request: Request, judgement: Judgement, budget: float | None) -> Judgement:
    """Return a judgement that names the limit that the user set, not what was left of it for this run."""
    from fencepost.invariants.catalogue import values_of

    result = judgement.result
    why = result.why_stopped
    if budget is not None and "time budget" in why:
        why = f"the time budget of {budget:g} s for all runs ran out"
    machine = protocol(judgement.run.protocol).machine
    result = request.with_memory_explained(replace(result, why_stopped=why))
    result = with_notes(result, machine, machine.set_constants(values_of(judgement.run)))
    differences = judgement.differences if result.complete else (f"the search did not finish: {result.why_stopped}",)
    return replace(judgement, result=result, differences=differences)


def _compile(chosen: list[Run], sources: dict[str, Source], options: Options, display: Display) -> None:
    from fencepost.explorers.native.build import build_all, graph_sources_of
    from fencepost.explorers.native.compile import is_cached
    from fencepost.invariants.catalogue import values_of

    jobs = [(run.protocol, values_of(run), run.properties, options.normalize, _compact(run, options)) for run in chosen]
    every = {source.text: (name.split()[0], source) for name, source in sources.items()}
    every |= {source.text: (job[0], source) for job in jobs for source in graph_sources_of(job)}
    fresh = {text: name for text, (name, source) in every.items() if not is_cached(source)}
    if not fresh:
        return
    names = ", ".join(dict.fromkeys(fresh.values()))
    what = f"compiling {len(fresh)} of {len(every)} machines: {names}"
    with display.busy(f"{what} ... (kept for the next time)"):
        began = time.monotonic()

        def tell(name: str, done: int, of: int) -> None:
            last = f", {name} last" if name else ""
            display.spin(f"{what}, {done} of {of} done{last}")
            if name and not display.live:
                display.note(f"compiled {name}, {done} of {of}, after {show_seconds(time.monotonic() - began)}")

        build_all(jobs, options.workers or _processors(), tell)


def _source(run: Run, options: Options) -> Source:
    from fencepost.explorers.native.build import source_of
    from fencepost.invariants.catalogue import values_of

    return source_of(run.protocol, values_of(run), run.properties, normalize=options.normalize, compact=_compact(run, options))


def _compact(run: Run, options: Options) -> bool:
    return run.compact or options.compact


def _processors() -> int:
    import os

    return os.cpu_count() or 1


def _steps(judgement: Judgement, options: Options) -> dict[str, list[str]]:
    from fencepost.api.engines import Question
    from fencepost.cli.commands.check import steps_of
    from fencepost.invariants.catalogue import values_of

    found = protocol(judgement.run.protocol)
    constants = found.machine.set_constants(values_of(judgement.run))
    return steps_of(Question(found.machine, constants, found.properties), judgement.result, options)
