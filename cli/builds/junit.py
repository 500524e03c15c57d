"""`--junit FILE`: a test suite for each run and a test case for each property, as build servers read them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET  # we write XML here, and read none

from fencepost.cli.builds.outcomes import End, outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fencepost.cli.builds.outcomes import Outcome, Report

CONTROL = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML cannot hold."""


def junit(reports: Sequence[Report], not_run: Sequence[str] = (), why: str = "") -> str:
    """Return the XML text. Runs that were not begun are test suites with one error each."""
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
        said = f"{name} was not run: {why or 'the catalogue ended before'}"
        ET.SubElement(case, "error", type="undetermined", message=_clean(said)).text = _clean(said)
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
    """Return a name as one part of a class name: build servers split class names at dots."""
    return _clean(name.replace(".", "_"))


def _clean(text: str) -> str:
    return CONTROL.sub("?", text)
