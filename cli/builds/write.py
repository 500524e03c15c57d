"""Files that commands write for a CI build: test results, findings, annotations and a summary."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET  # XML is only written here, never read

from fencepost.api.asking.quantities import counted
from fencepost.api.files import unwritable, write_text
from fencepost.cli.builds.outcomes import CheckedRun, End, Outcome, outcomes
from fencepost.cli.views.console import print_text
from fencepost.cli.wording import reword, reword_data
from fencepost.counterexamples.sources import place_of
from fencepost.model.language.own_names import path_shown


@dataclass(frozen=True)
class Builds:
    """Files and annotations requested by options. Annotations go to stdout, or to stderr if stdout carries JSON."""

    junit: Path | None = None
    sarif: Path | None = None
    github: bool = False
    json: bool = False

    @classmethod
    def from_options(cls, given: Mapping[str, Any]) -> "Builds | None":
        if not (given["junit"] or given["sarif"] or given["github"]):
            return None
        return cls(given["junit"], given["sarif"], github=given["github"], json=given["json"])

    def write(self, reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> None:
        reports, why = [replace(item, data=reword_data(item.data)) for item in reports], reword(why)
        if self.junit:
            write_text(self.junit, junit(reports, not_run, why))
        if self.sarif:
            from fencepost.cli.builds.sarif import sarif

            write_text(self.sarif, sarif(reports, not_run, why))
        if self.github:
            append_summary(reports, not_run, why)
            text = workflow_commands(reports, not_run, why)
            if self.json:
                sys.stderr.write(text)
            else:
                print_text(text)


CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in XML."""


def junit(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> str:
    """Return the XML text. Every run that was not started becomes a test suite with one error."""
    root = ET.Element("testsuites", name="fencepost")
    total = dict.fromkeys(("tests", "failures", "errors"), 0)
    for report in reports:
        found = list(outcomes(report))
        seconds = report.data["seconds"]
        suite = _suite(root, report.name, [item.end for item in found], seconds, total)
        properties = ET.SubElement(suite, "properties")
        facts = {**report.data["constants"], "engine": report.data["engine"], "distinct": report.data["distinct"]}
        for name, value in facts.items():
            ET.SubElement(properties, "property", name=name, value=str(value).lower())
        for item in found:
            _case(suite, item, seconds / len(found))
    for name in not_run:
        suite = _suite(root, name, [End.ERROR], 0.0, total)
        case = ET.SubElement(suite, "testcase", classname=f"fencepost.{_dotless(name)}", name="verdict", time="0")
        text = f"{name} was not run: {why or 'the catalogue ended before this run'}"
        ET.SubElement(case, "error", type="undetermined", message=_clean(text)).text = _clean(text)
    root.attrib.update({name: str(count) for name, count in total.items()})
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _suite(root: ET.Element, name: str, ends: list[End], seconds: float, total: dict[str, int]) -> ET.Element:
    counts = {"tests": len(ends), "failures": ends.count(End.FAILED), "errors": ends.count(End.ERROR)}
    for what, count in counts.items():
        total[what] += count
    facts = {"name": _clean(name), "skipped": "0", "time": f"{seconds:.3f}"}
    return ET.SubElement(root, "testsuite", {**facts, **{what: str(count) for what, count in counts.items()}})


def _case(suite: ET.Element, item: Outcome, seconds: float) -> None:
    name = f"fencepost.{_dotless(item.report.name)}"
    case = ET.SubElement(suite, "testcase", classname=name, name=item.name, time=f"{seconds:.3f}")
    if item.end is End.PASSED:
        ET.SubElement(case, "system-out").text = _clean(item.detail)
        return
    tag = "failure" if item.end is End.FAILED else "error"
    ET.SubElement(case, tag, type=item.verdict, message=_clean(item.message)).text = _clean(item.detail)


def _dotless(name: str) -> str:
    """Return a name without dots, because build servers split class names at dots."""
    return _clean(name.replace(".", "_"))


def _clean(text: str) -> str:
    return CONTROL.sub("?", text)


SUMMARY = "GITHUB_STEP_SUMMARY"
_MARKS = {End.PASSED: "✅", End.FAILED: "❌", End.ERROR: "⚠️"}
ROOM = 900_000
"""Maximum size of a summary, in bytes. GitHub rejects summaries of more than 1 MiB per step."""


def workflow_commands(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> str:
    lines = []
    for item in (item for report in reports for item in outcomes(report)):
        if item.end is not End.PASSED:
            place = place_of(item.prop.function if item.prop else item.report.found.machine.initial.function)
            where = f"file={_property(path_shown(str(place.file)))},line={place.line},title={_property(_title(item))}"
            lines.append(f"::error {where}::{_data(item.detail)}")
    lines += [f"::error title={_property(name)}::{_data(f'not run: {why}')}" for name in not_run]
    return "".join(f"{line}\n" for line in lines)


def append_summary(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> None:
    file = os.environ.get(SUMMARY)
    if not file:
        return
    try:
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(summary(reports, not_run, why))
    except OSError as error:
        raise unwritable(Path(file), error) from error


def summary(reports: Sequence[CheckedRun], not_run: Sequence[str] = (), why: str = "") -> str:
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
