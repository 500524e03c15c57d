"""`fencepost check` without a protocol: the runs of the catalogue, each compared with what it must find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fencepost.api.answers.results import FORMAT
from fencepost.api.asking.model_files import is_file
from fencepost.api.calls.runs import Runs
from fencepost.cli.builds.outcomes import Report
from fencepost.cli.status import Exit
from fencepost.cli.views.console import close_stdout, print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.table import RunTable
from fencepost.explorers.verdict import ended_by_signal
from fencepost.invariants.catalogue import Profile, Run, runs
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import FencepostError, UnkeptError, UsageError

if TYPE_CHECKING:
    from fencepost.api.answers.contract import RunData
    from fencepost.cli.commands.request import Request


@dataclass
class Tally:
    """What came of the runs so far, as JSON objects."""

    done: list[RunData] = field(default_factory=list)
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
        return (
            Exit.AS_EXPECTED
            if all(item["as_expected"] for item in self.done) and not self.waiting
            else Exit.UNDETERMINED
        )


def run_catalogue(request: Request) -> Exit:
    """Run the catalogue at the profile's sizes and print what was found."""
    profile = request.look_at_catalogue()
    chosen = choose_runs(profile, request.protocols)
    limits, builds = request.limits(), request.builds()
    with Display(quiet=request.quiet) as display:
        table = None if request.json else RunTable(results(must_be_read=True), chosen, display)
        tally = Tally(waiting=list(chosen))
        wrong: FencepostError | None = None
        try:
            _run_all(Runs(chosen, display, **limits), tally, table)
        except FencepostError as error:
            if not tally.done:
                raise
            unkept = isinstance(error, UnkeptError)
            wrong = error
            tally.why_stopped = "a run could not be kept" if unkept else f"{tally.waiting[0].name} ended in an error"
        except KeyboardInterrupt:  # while a machine was compiled: a search that is interrupted has a result
            tally.why_stopped = f"SIGINT was received while {tally.doing}"
        except BrokenPipeError:  # whoever read us had enough: no run is begun for nobody
            close_stdout()
            return tally.exit
    if builds:
        reports = [Report(protocol(item["protocol"]), item) for item in tally.done]
        try:
            builds.write(reports, [run.name for run in tally.waiting], tally.why_stopped)
        except UsageError as error:
            wrong = wrong or error
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
    if wrong is not None:
        raise wrong
    return _pin(tally, request) if request.pin else tally.exit


def _pin(tally: Tally, request: Request) -> Exit:
    from fencepost.cli.commands.pin import write_pins

    end = write_pins(tally.done, to_stderr=request.json)
    return Exit.UNDETERMINED if tally.waiting and end is Exit.AS_EXPECTED else end


def choose_runs(profile: Profile, names: tuple[str, ...]) -> tuple[Run, ...]:
    """Return the catalogue's runs of a profile and the smaller ones, of all or of the named protocols."""
    for name in names:
        if is_file(name):
            raise UsageError(
                f"{name} has no runs in the catalogue: leave --profile out to check it under constants of your own."
            )
        protocol(name)
    order = list(Profile)
    found = tuple(
        run
        for run in runs()
        if order.index(run.profile) <= order.index(profile) and (not names or run.protocol in names)
    )
    if not found:
        raise UsageError(
            f"profile {profile} has no run of {', '.join(names)}: write --profile {order[-1]}, or leave it out."
        )
    return found


def _run_all(every: Runs, tally: Tally, table: RunTable | None) -> None:
    """Explore one run after the other."""
    while tally.waiting and not tally.why_stopped:
        run = tally.waiting[0]
        data = every.recalled(run)
        if data is None:
            tally.why_stopped = every.out_of_time() or ""
            if tally.why_stopped:
                return
            tally.doing = f"preparing {run.name}"
            try:
                judged = every.check(run)
            except UnkeptError as error:
                _add(tally, run, error.found.to_dict(), table)
                raise
            data = judged.to_dict()
            if ended_by_signal(judged.result.why_stopped):
                tally.why_stopped = judged.result.why_stopped
        _add(tally, run, data, table)


def _add(tally: Tally, run: Run, data: RunData, table: RunTable | None) -> None:
    """Count a run that was explored, and print it."""
    tally.done.append(data)
    tally.waiting.pop(0)
    if table is not None:
        table.row(run, data)
