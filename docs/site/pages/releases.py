"""The tables of findings by release: what `python -m benchmarks.figures.releases` recorded of each archived trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.figures.store import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Row = list[str]
FINDINGS = ("hyp-", "q3", "b16", "b07", "b26")
"""How the names of traces of open questions begin; all others are of known bugs, of planted ones, and examples."""
TRACES_OF_A_ROW = 5
ARCHIVE = "../counterexamples/archive/replication-"


def findings() -> tuple[Row, Iterable[Row]]:
    """Return the verdict of each release on the traces of findings."""
    return _verdicts(of_findings=True)


def findings_why() -> tuple[Row, Iterable[Row]]:
    """Return why, for the traces of findings."""
    return _reasons(of_findings=True)


def known() -> tuple[Row, Iterable[Row]]:
    """Return what the classes of which releases do with the other traces."""
    return _reasons(of_findings=False)


def covers() -> tuple[Row, Iterable[Row]]:
    """Return what was executed of whole state graphs."""
    head = ["release", "with", "transitions executed", "steps", "set aside", "differences", "compared steps a second"]
    return head, (list(row.values()) for row in load("conformance")["covers"])


def walks() -> tuple[Row, Iterable[Row]]:
    """Return what was executed of random walks."""
    head = ["release", "steps", "histories", "different pairs of a state and a step", "set aside", "differences"]
    return head, (list(row.values()) for row in load("conformance")["walks"])


def moves() -> tuple[Row, Iterable[Row]]:
    """Return what was executed of walks in which operators move replicas."""
    head = [
        "release",
        "brokers",
        "steps",
        "histories",
        "different pairs",
        "reassignments",
        "cancellations",
        "set aside",
        "differences",
    ]
    return head, (list(row.values()) for row in load("conformance")["moves"])


def changes() -> tuple[Row, Iterable[Row]]:
    """Return on how many images Kafka's builder was asked for how many changes."""
    head = ["release", "states", "images", "changes", "of them to the replicas that are there", "differences"]
    return head, (list(row.values()) for row in load("conformance")["changes"])


def quorum() -> tuple[Row, Iterable[Row]]:
    """Return what was executed of whole state graphs of the metadata quorum."""
    head = ["release", "with", "transitions executed", "steps", "set aside", "differences"]
    return head, (list(row.values())[: len(head)] for row in load("conformance").get("quorum", []))


def seen() -> tuple[Row, Iterable[Row]]:
    """Return what was noticed of checks that were taken out of the models, and what became of refusals."""
    head = ["release", "protocol", "noticed", "of them with others", "refusals tried", "taken otherwise"]
    return head, (list(row.values()) for row in load("conformance").get("seen", []))


def _verdicts(*, of_findings: bool) -> tuple[Row, Iterable[Row]]:
    found = _settled(of_findings=of_findings)
    releases = list(next(iter(found.values()), {}))
    rows = ([f"[{name}]({ARCHIVE}{name}.trace)", *(by[one][0] for one in releases)] for name, by in found.items())
    return ["trace", *releases], rows


def _reasons(*, of_findings: bool) -> tuple[Row, Iterable[Row]]:
    """Return a row for each thing that classes do, with the traces that it is of."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for name, by in _settled(of_findings=of_findings).items():
        for row in _why(by):
            alike.setdefault(row, []).append(name)
    return ["releases", "verdict", "what the classes do", "traces"], (
        [*row, ", ".join(some)]
        for row, names in alike.items()
        for some in (names[at : at + TRACES_OF_A_ROW] for at in range(0, len(names), TRACES_OF_A_ROW))
    )


def _why(by: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """Yield each verdict and reason once, after the releases that it is of."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for release, found in by.items():
        reasons.setdefault(found, []).append(release)
    for (verdict, why), which in reasons.items():
        yield "all" if len(which) == len(by) else _span(which, list(by)), verdict, why


def _settled(*, of_findings: bool) -> dict[str, dict[str, tuple[str, str]]]:
    """Return by trace and release the verdict and why."""
    rows: list[dict[str, str]] = load("releases").get("settled", [])
    found: dict[str, dict[str, tuple[str, str]]] = {}
    for row in rows:
        name = row["trace"].removeprefix("replication-")
        if name.startswith(FINDINGS) == of_findings:
            found.setdefault(name, {})[row["kafka"]] = row["verdict"], row["why"]
    return found


def _span(which: list[str], releases: list[str]) -> str:
    """Return releases in words: `4.0.2 to 4.4.0` where they stand together."""
    first = releases.index(which[0])
    together = releases[first : first + len(which)] == which
    return f"{which[0]} to {which[-1]}" if together and len(which) > 1 else ", ".join(which)
