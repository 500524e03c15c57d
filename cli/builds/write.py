"""Files that `check` writes for a build: test results and findings, annotations and a summary."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.api.files import write_text
from fencepost.cli.views.console import print_text
from fencepost.cli.wording import reword, reword_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fencepost.cli.builds.outcomes import Report


@dataclass(frozen=True)
class Builds:
    """What was asked for. Annotations go where results go, or to stderr where those are `json`."""

    junit: Path | None = None
    sarif: Path | None = None
    github: bool = False
    json: bool = False

    @classmethod
    def asked(cls, given: Mapping[str, Any]) -> Builds | None:
        """Return what the options of a command ask for, if anything."""
        if not (given["junit"] or given["sarif"] or given["github"]):
            return None
        return cls(given["junit"], given["sarif"], github=given["github"], json=given["json"])

    def write(self, reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> None:
        """Write it, in the words of the command line."""
        reports, why = [replace(item, data=reword_data(item.data)) for item in reports], reword(why)
        if self.junit:
            from fencepost.cli.builds.junit import junit

            write_text(self.junit, junit(reports, not_run, why))
        if self.sarif:
            from fencepost.cli.builds.sarif import sarif

            write_text(self.sarif, sarif(reports, not_run, why))
        if self.github:
            from fencepost.cli.builds.github import append_summary, workflow_commands

            append_summary(reports, not_run, why)
            text = workflow_commands(reports, not_run, why)
            if self.json:
                sys.stderr.write(text)
            else:
                print_text(text)
