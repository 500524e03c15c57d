"""`fencepost catalogue`: executes the catalogue's runs and compares each result with the expected one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click import argument, echo, option
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.cli.builds.outcomes import CheckedRun
from fencepost.cli.builds.write import Builds
from fencepost.cli.commands.options import build_options, command, limits_of, output_options, search_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import Display, close_stdout, joined, print_json, print_lines, results, styled
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.catalogue import Profile
from fencepost.invariants.protocols import protocol
from fencepost.invariants.run import Run
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.calls.catalogue import CatalogueResult
    from rich.console import Console
    from rich.text import Text

PROFILES = ", ".join(Profile)


@command()
@argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@option("--profile", default=Profile.QUICK, show_default=True, metavar="NAME", help=f"The profile to run: {PROFILES}.")
@option("--pin", is_flag=True, help="Update the pinned counts, depths and trace lengths in the run files.")
@option("-v", "--verbose", count=True, help="Show a row for each run as soon as it ends.")
@search_options
@build_options
@output_options
def catalogue(protocols: tuple[str, ...], profile: str, pin: bool, verbose: int, **given: Any) -> Exit:
    """Run the catalogue for the named protocols, or for all, and compare each result with the expected one.

    A profile includes the runs of the smaller profiles. Each run has its own constants and expected verdicts. --budget
    limits the total time. `fencepost check` without a protocol also runs the catalogue.

    Exit status: 0 if all runs gave the expected results, 1 if some run did not, 2 for bad input, 3 if a run was cut
    short or not started, 4 for an internal error.
    """
    from fencepost.api.calls.catalogue import catalogue as run_catalogue
    from fencepost.api.calls.catalogue import choose_runs, profile_named

    if pin and not given["normalize"]:
        raise UsageError("--pin cannot be combined with --no-normalize, which changes states: leave one of them out.")
    chosen = choose_runs(profile_named(profile), protocols)
    limits, builds = limits_of(given), Builds.from_options(given)
    with Display(quiet=given["quiet"]) as display:
        table = None if given["json"] else RunTable(results(must_be_read=True, narrow=not verbose), chosen, display)

        def show(run: Run, data: dict[str, Any]) -> bool:
            try:
                if table is not None and verbose:
                    table.row(run, data)
            except BrokenPipeError:  # the output was closed, so no further run starts
                close_stdout()
                return False
            return True

        found = run_catalogue(*protocols, profile=profile, progress=display, each=show, **limits)
    problems = [item.error for item in found.problems]
    if builds:
        reports = [CheckedRun(protocol(item["protocol"]), item) for item in found.runs]
        try:
            builds.write(reports, found.not_run, found.why_stopped)
        except UsageError as error:
            problems.append(error)
    if table is None:
        print_json(found.to_dict())
    else:
        try:
            table.summary(found, rows=not verbose)
        except BrokenPipeError:
            close_stdout()
    if problems:
        raise problems[0]
    return _pin(found, to_stderr=given["json"]) if pin else exit_of_runs(found)


def exit_of_runs(found: CatalogueResult) -> Exit:
    if found.differs:
        return Exit.FAILED
    return Exit.AS_EXPECTED if found.as_expected else Exit.UNDETERMINED


def _pin(found: CatalogueResult, *, to_stderr: bool) -> Exit:
    from fencepost.api.calls.catalogue import pin

    pinned = pin(found.runs)
    for line in pinned.lines:
        echo(line, err=to_stderr)
    if any(item["complete"] for item in pinned.left):
        return Exit.FAILED
    return Exit.UNDETERMINED if pinned.left or found.not_run else Exit.AS_EXPECTED


FOUND = 2 * max(len(item) for item in Verdict) + 4


class RunTable:
    def __init__(self, console: Console, chosen: tuple[Run, ...], display: Display) -> None:
        self.console, self.display = console, display
        self.by_name = {run.name: run for run in chosen}
        self.protocol = max(len("protocol"), *(len(_title(run)) for run in chosen))
        self.constants = max(len("constants"), *(len(_values(run)) for run in chosen))
        self.names: tuple[str, ...] | None = None
        self.headed = False

    def row(self, run: Run, data: dict[str, Any]) -> None:
        self.display.clear()
        if not self.headed:
            self.headed = True
            head = f"{'protocol':{self.protocol}}  {'constants':{self.constants}}  {'expected -> found':{FOUND}}"
            self.console.print(styled(f"{head}{'distinct':>12}{'depth':>7}{'time':>13}", "bold"), soft_wrap=True)
        names = () if run.title else tuple(run.constants)
        if names and names != self.names:
            self.names = names
            print_lines(self.console, f"{'':{self.protocol}}  {'/'.join(names)}", style="dim")
        line = joined(
            (f"{_title(run):{self.protocol}}", "bold"),
            f"  {_values(run):{self.constants}}  ",
            _expected_and_found(data),
            f"{data['distinct']:>12,}{data['depth']:>7}{show_seconds(data['seconds']):>13}",
        )
        self.console.print(line, soft_wrap=True)
        traces = [
            f"{item['name']}: {'a trace of' if Kind(item['kind']).over_behaviours else 'shortest trace'} "
            f"{counted(item['length'], 'state')}"
            for item in data["properties"]
            if item["verdict"] == "violated"
        ]
        doubt = "" if data.get("exact", True) else f"up to fingerprint collisions (at most {data['omission']:.1e})"
        for text, style in (
            ("; ".join(traces), "dim"),
            (doubt, "dim"),
            (run.why, "dim"),
            *((text, "red") for text in data["differences"]),
        ):
            if text:
                print_lines(self.console, text, style=style, indent=self.protocol + 2)

    def summary(self, found: CatalogueResult, *, rows: bool) -> None:
        self.display.clear()
        if self.headed:
            self.console.print()
        bad = [item for item in found.runs if item["complete"] and not item["as_expected"]]
        cut = [item for item in found.runs if not item["complete"]]
        print_headline(self.console, found)
        if rows and (bad or cut):
            self.console.print()
            for item in (*bad, *cut):
                self.row(self.by_name[item["run"]], item)
            self.console.print()
        if bad:
            pins = "`--pin` updates the counts, depths and trace lengths in the run files."
            print_lines(self.console, pins)
        if found.why_stopped:
            print_lines(self.console, f"Stopped: {found.why_stopped}.", style="yellow")
        distinct = sum(item["distinct"] for item in found.runs)
        seconds = sum(item["seconds"] for item in found.runs)
        searched = f"{counted(distinct, 'state')} in {show_seconds(seconds)} of search time."
        print_lines(self.console, searched + (" `-v` shows a row for each run." if rows else ""), style="dim")
        print_lines(
            self.console,
            "`fencepost check PROTOCOL` checks one protocol and shows a trace; `fencepost guarantees` lists the "
            "guarantees.",
            style="dim",
        )


def print_headline(console: Console, found: CatalogueResult) -> None:
    style = {Exit.FAILED: "bold red", Exit.AS_EXPECTED: "bold green", Exit.UNDETERMINED: "bold yellow"}
    print_lines(console, headline(found), style=style[exit_of_runs(found)])


def headline(found: CatalogueResult) -> str:
    good = [item["verdict"] for item in found.runs if item["as_expected"]]
    chance = sum(item["omission"] for item in found.runs)
    doubt = f", up to fingerprint collisions (at most {chance:.1e})" if chance else ""
    every = len(found.runs) + len(found.not_run)
    if len(good) < every:
        cut = sum(not item["complete"] for item in found.runs)
        bad = len(found.runs) - len(good) - cut
        counts = ((bad, "not as expected"), (cut, "cut short"), (len(found.not_run), "not begun"))
        missed = ", ".join(f"{number} {what}" for number, what in counts if number)
        return f"{counted(every, 'run')}: {len(good)} as expected, {missed}{doubt}."
    holding, failing, missing = (good.count(word) for word in ("holds", "violated", "unreached"))
    parts = [f"{holding} hold{'' if holding > 1 else 's'}"] if holding else []
    if failing:
        shows = "show" if failing > 1 else "shows"
        parts.append(f"{failing} {shows} the expected violation (published bugs, drafts, releases of Kafka)")
    if missing:
        parts.append(f"{missing} {'have' if missing > 1 else 'has'} a witness that is not reached, as expected")
    return f"{counted(every, 'run')}, all as expected{doubt}: {', '.join(parts)}."


def _title(run: Run) -> str:
    return f"{run.protocol} {run.version}".strip()


def _values(run: Run) -> str:
    return run.title or "/".join(str(int(value)) for value in run.constants.values())


def _expected_and_found(data: dict[str, Any]) -> Text:
    expected, found = data["expected"]["verdict"], data["verdict"]
    style = "green" if data["as_expected"] else "red" if data["complete"] else "yellow"
    text = f"{expected} -> {found}"
    return joined(f"{expected} -> ", (found, style), " " * max(0, FOUND - len(text)))
