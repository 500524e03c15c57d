"""`--github`: annotations at the lines of properties, and a summary of the step, in a GitHub workflow."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted
from fencepost.api.files import unwritable
from fencepost.cli.builds.outcomes import End, outcomes
from fencepost.counterexamples.sources import near, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fencepost.cli.builds.outcomes import Outcome, Report

SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable that names the file to which a step appends its summary."""
_MARKS = {End.PASSED: "✅", End.FAILED: "❌", End.ERROR: "⚠️"}
ROOM = 900_000
"""Bytes that we write into a summary: GitHub refuses more than 1 MiB in a step."""


def workflow_commands(reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> str:
    """Return the workflow commands that annotate what is not as it should be, a line each."""
    lines = []
    for item in (item for report in reports for item in outcomes(report)):
        if item.end is not End.PASSED:
            place = place_of(item.prop.function if item.prop else item.report.found.machine.initial.function)
            where = f"file={_property(near(place.file))},line={place.line},title={_property(_title(item))}"
            lines.append(f"::error {where}::{_data(item.detail)}")
    lines += [f"::error title={_property(name)}::{_data(f'not run: {why}')}" for name in not_run]
    return "".join(f"{line}\n" for line in lines)


def append_summary(reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> None:
    """Append the summary to the step's file, if a workflow runs us; raise UsageError if it cannot be written."""
    file = os.environ.get(SUMMARY)
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(summary(reports, not_run, why))
    except OSError as error:
        raise unwritable(Path(file), error) from error


def summary(reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> str:
    """Return the summary in Markdown: a table of all verdicts, then each finding with its steps and a diagram."""
    found = [item for report in reports for item in outcomes(report)]
    bad = [item for item in found if item.end is not End.PASSED]
    lines = ["## Fencepost", "", _counts(found, not_run), ""]
    lines += ["| | run | property | verdict | states |", "|---|---|---|---|---:|"]
    for item in found:
        cells = (_MARKS[item.end], item.report.name, item.name, item.message, f"{item.report.data['distinct']:,}")
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    lines += [f"| {_MARKS[End.ERROR]} | {_cell(name)} | | not run: {_cell(why)} | |" for name in not_run]
    text = "\n".join(lines) + "\n"
    for item in bad:
        more = "\n".join(_finding(item)) + "\n"
        if len((text + more).encode()) > ROOM:
            return text + "\nMore findings do not fit here.\n"
        text += more
    return text


def _finding(item: Outcome) -> Iterator[str]:
    yield from ("", f"<details><summary>{_cell(_title(item))}</summary>", "")
    if item.prop is not None:
        yield from (item.prop.sentence, "")
    if item.steps:
        yield from ("```text", *(f"{number} {step}" for number, step in enumerate(item.steps, 1)), "```", "")
    diagram = item.report.diagram(item.prop.name) if item.prop and item.steps else ""
    if diagram:
        yield from ("```mermaid", diagram.rstrip(), "```", "")
    yield "</details>"


def _counts(found: Sequence[Outcome], not_run: Sequence[str]) -> str:
    ends = [item.end for item in found]
    parts = [f"{ends.count(End.PASSED)} passed"]
    parts += [f"{ends.count(End.FAILED)} failed"] if End.FAILED in ends else []
    unknown = ends.count(End.ERROR) + len(not_run)
    parts += [f"{unknown} undetermined or unreached"] if unknown else []
    return f"{counted(len(ends) + len(not_run), 'verdict')}: {', '.join(parts)}."


def _title(item: Outcome) -> str:
    return f"{item.report.name}: {item.name} is {item.verdict}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
