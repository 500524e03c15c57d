"""What `check` leaves behind for a build: files of test results and findings, annotations and a summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api.files import make_sure_writable, write_text
from fencepost.cli.views.console import print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.cli.builds.outcomes import Report
    from fencepost.cli.commands.request import Request


def make_sure_builds_writable(request: Request) -> None:
    """Raise UsageError if a file that was asked for could not be written: found out before the work is done."""
    for file in (request.junit, request.sarif):
        if file:
            make_sure_writable(Path(file))


def write_builds(request: Request, reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> None:
    """Write what was asked for. Annotations go where results go, or to stderr where those are JSON."""
    if request.junit:
        from fencepost.cli.builds.junit import junit

        write_text(Path(request.junit), junit(reports, not_run, why))
    if request.sarif:
        from fencepost.cli.builds.sarif import sarif

        write_text(Path(request.sarif), sarif(reports, not_run, why))
    if request.github:
        from fencepost.cli.builds.github import append_summary, workflow_commands

        append_summary(reports, not_run, why)
        text = workflow_commands(reports, not_run, why)
        if request.json:
            sys.stderr.write(text)
        else:
            print_text(text)
