"""Outcomes for CI builds: each property passes, fails or is undecided. All formats report the same outcomes.

An expected violation passes. Undetermined properties and unreached witnesses count as errors, not as passed or skipped.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fencepost.api.asking.quantities import counted, in_values
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Property
from fencepost.model.language.actions import Kind

CHECKED = ("holds", "proved")
FAILING = ("violated",)


class End(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True)
class CheckedRun:
    """One run as JSON data, with its protocol. `diagram(property)` returns the diagram of a violation. If `strict` is
    set, warnings are failures.
    """

    found: Protocol
    data: Mapping[str, Any]
    diagram: Callable[[str], str] = field(default=lambda _: "")
    strict: bool = False

    @property
    def name(self) -> str:
        return str(self.data.get("run", self.data["protocol"]))


@dataclass(frozen=True)
class Outcome:
    """A test case for a property of a run or, if no `prop` is given, for the entire run."""

    report: CheckedRun
    name: str
    end: End
    verdict: str
    message: str
    """The verdict on one line, with the expected verdict if it differs."""
    prop: Property | None = None
    steps: tuple[str, ...] = ()
    length: int = 0

    @property
    def detail(self) -> str:
        lines = [self.message]
        if self.prop is not None:
            lines += [self.prop.sentence]
        if self.steps:
            width = len(str(len(self.steps)))
            lines += ["", *(f"{number:>{width}} {step}" for number, step in enumerate(self.steps, 1))]
        return "\n".join(lines)


def outcomes(report: CheckedRun) -> Iterator[Outcome]:
    data = report.data
    if "differences" in data:
        yield from _of_catalogue(report)
    elif "expected" in data:
        yield _of_expectation(report)
    else:
        for item in _judged(data):
            yield _outcome(report, item, _END.get(item["verdict"], End.ERROR), _describe(report, item))
    if data.get("base") == "same":
        yield Outcome(report, "base", End.ERROR, "same", data["notes"][0])
    for item in data["warnings"] if report.strict else ():
        yield Outcome(report, item["about"], End.FAILED, item["kind"], item["text"])


def _judged(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the properties. Properties that are violated only with larger bounds count as violated."""
    grown = {item["name"]: item.get("changes") or {} for item in data.get("growth", {}).get("properties", ())}
    cells = {name: found["cell"] for name, found in grown.items() if found.get("verdict") == "violated"}
    return [
        {**item, "verdict": "violated", "cell": cells[item["name"]]} if item["name"] in cells else item
        for item in data["properties"]
    ]


_END = {**dict.fromkeys(CHECKED, End.PASSED), **dict.fromkeys(FAILING, End.FAILED)}


def _outcome(report: CheckedRun, item: Mapping[str, Any], end: End, message: str) -> Outcome:
    prop = report.found.select((item["name"],))[0]
    steps = tuple(item.get("steps", ()))
    return Outcome(report, prop.name, end, item["verdict"], message, prop, steps, item.get("length", 0))


def _describe(report: CheckedRun, item: Mapping[str, Any]) -> str:
    name, verdict = item["name"], item["verdict"]
    if "cell" in item:
        return f"{name} is violated with larger bounds: {in_values(item['cell'])}"
    if verdict == "violated":
        culprit = f" for {item['culprit']}" if item.get("culprit") else ""
        size = "a trace of" if Kind(item["kind"]).over_behaviours else "the shortest trace has"
        return f"{name} is violated{culprit}: {size} {counted(item['length'], 'state')}"
    if verdict == "unreached":
        return f"{name} is unreached: the search is complete, and no state or step satisfies this witness"
    if verdict == "undetermined":
        return f"{name} is undetermined: {report.data['why_stopped']}"
    if item["kind"] == "sometimes":
        if "length" in item:
            return f"{name} was reached after {counted(item['length'], 'state')}"
        return f"{name} was reached"
    return (
        f"{name} holds in {counted(report.data['distinct'], 'state')}" if verdict == "holds" else f"{name} is {verdict}"
    )


def _of_expectation(report: CheckedRun) -> Outcome:
    data = report.data
    wanted, got = data["expected"]["verdict"], data["verdict"]
    found = [item for item in _judged(data) if item["verdict"] == got]
    shown = "; ".join(_describe(report, item) for item in found)
    end = End.PASSED if data["as_expected"] else End.ERROR if got == "undetermined" else End.FAILED
    message = f"{got}, as expected: {shown}" if data["as_expected"] else f"{got}, expected {wanted}: {shown}"
    worst: Mapping[str, Any] = next(iter(found), {})
    prop = report.found.select((worst["name"],))[0] if worst else None
    return Outcome(report, "verdict", end, got, message, prop, tuple(worst.get("steps", ())), worst.get("length", 0))


def _of_catalogue(report: CheckedRun) -> Iterator[Outcome]:
    data = report.data
    wrong = End.FAILED if data["complete"] else End.ERROR
    rest = list(data["differences"])
    for item in data["properties"]:
        expected = _expected(data["expected"], item["name"])
        reasons = [text for text in rest if text.startswith(f"{item['name']}: ")]
        rest = [text for text in rest if text not in reasons]
        as_it_must = item["verdict"] == expected and not reasons
        message = (
            _describe(report, item) if as_it_must else "; ".join(reasons) or f"{item['name']}: {data['why_stopped']}"
        )
        yield _outcome(report, item, End.PASSED if as_it_must else wrong, message)
    message = "; ".join(rest) or f"{data['distinct']:,} distinct states, depth {data['depth']}, as pinned"
    yield Outcome(report, "figures", wrong if rest else End.PASSED, data["verdict"], message)


def _expected(expected: Mapping[str, Any], name: str) -> str:
    if name in expected["violated"]:
        return "violated"
    return "unreached" if name in expected["unreached"] else "holds"
