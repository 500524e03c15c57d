"""`fencepost catalogue`: the runs of the catalogue, each compared with what it must find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from fencepost.cli.builds.outcomes import Report
from fencepost.cli.builds.write import Builds
from fencepost.cli.commands.options import build_options, limits_of, output_options, search_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import close_stdout, print_json, results
from fencepost.cli.views.display import Display
from fencepost.cli.views.table import RunTable
from fencepost.invariants.catalogue import Profile
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.api.answers.contract import RunData
    from fencepost.api.calls.catalogue import CatalogueResult
    from fencepost.invariants.run import Run

PROFILES = ", ".join(Profile)


@click.command()
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@click.option(
    "--profile", default=Profile.QUICK, show_default=True, metavar="NAME", help=f"Runs of this size: {PROFILES}."
)
@click.option("--pin", is_flag=True, help="Write counts, depths and lengths that the runs find into their files.")
@search_options
@build_options
@output_options
def catalogue(protocols: tuple[str, ...], profile: str, pin: bool, **given: Any) -> Exit:  # noqa: FBT001 (as click calls it)
    """Make the runs of the catalogue, of all or of the named protocols, and compare each with what it must find.

    A profile has the runs of the smaller ones too. Runs have constants and expected verdicts of their own; --budget is
    for all of them together. `fencepost check` without a protocol does the same.

    \b
    Exit status: 0 every run found what it must, 1 one did not, 2 bad input,
    3 a run was cut short or not begun, 4 internal error.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    from fencepost.api.calls.catalogue import catalogue as run_catalogue
    from fencepost.api.calls.catalogue import choose_runs, profile_named

    if pin and not given["normalize"]:
        raise UsageError(
            "--pin was given with --no-normalize, with which there are other states: leave one of them out."
        )
    chosen = choose_runs(profile_named(profile), protocols)
    limits, builds = limits_of(given), Builds.asked(given)
    with Display(quiet=given["quiet"]) as display:
        table = None if given["json"] else RunTable(results(must_be_read=True), chosen, display)

        def show(run: Run, data: RunData) -> bool:
            try:
                if table is not None:
                    table.row(run, data)
            except BrokenPipeError:  # whoever read us had enough: no run is begun for nobody
                close_stdout()
                return False
            return True

        found = run_catalogue(*protocols, profile=profile, progress=display, each=show, **limits)
    problems = list(found.problems)
    if builds:
        reports = [Report(protocol(item["protocol"]), item) for item in found.runs]
        try:
            builds.write(reports, found.not_run, found.why_stopped)
        except UsageError as error:
            problems.append(error)
    if table is None:
        print_json(found.to_dict())
    else:
        try:
            table.summary(found)
        except BrokenPipeError:
            close_stdout()
    if problems:
        raise problems[0]
    return _pin(found, to_stderr=given["json"]) if pin else exit_of_runs(found)


def exit_of_runs(found: CatalogueResult) -> Exit:
    """Return the status: failed if anything differs from what was expected, undetermined if something is missing."""
    if found.differs:
        return Exit.FAILED
    return Exit.AS_EXPECTED if found.as_expected else Exit.UNDETERMINED


def _pin(found: CatalogueResult, *, to_stderr: bool) -> Exit:
    """Pin what was found, for a person to look at as a diff."""
    from fencepost.api.calls.pins import pin

    pinned = pin(found.runs)
    for line in pinned.lines:
        click.echo(line, err=to_stderr)
    if any(item["complete"] for item in pinned.left):
        return Exit.FAILED
    return Exit.UNDETERMINED if pinned.left or found.not_run else Exit.AS_EXPECTED
