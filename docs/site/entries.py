"""The pages of entries: guarantees, bugs, hypotheses, questions and claims, an index, and the verdict of each."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from fencepost.api.calls.vacuity import family_of
from fencepost.api.topics.evidence import (
    GUARANTEES,
    KINDS,
    answer_of,
    cases_of,
    classes_of,
    constants_of,
    of_kind,
    trace_of_case,
)
from fencepost.api.topics.standing import seen_on_kafka, standing_of
from fencepost.invariants.catalogue import entries, evidence, runs, sections, status
from fencepost.invariants.claim_files import CLASSES
from fencepost.invariants.reached import reached_by
from fencepost.invariants.theorems import THEOREMS
from fencepost.site.markdown import NOTICE, number, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fencepost.invariants.catalogue import Case, Entry, Run

STATUS = {
    "holds": "Holds",
    "broken": "Broken: the protocol does not keep it",
    "settled": "Settled",
    "not-built": "Not built: no release has it",
    "known-gap": "Known gap",
    "open": "Open",
}
COLUMNS = {
    "holds": "hold",
    "broken": "broken",
    "settled": "settled",
    "not-built": "not built",
    "known-gap": "known gaps",
    "open": "open",
}
NOT_KEPT = {
    "finding": "Guarantees that Kafka was seen to break",
    "conjecture": "Guarantees that a conjecture breaks, which was not seen on real Kafka",
    "broken": "Guarantees that do not hold as they are worded",
}
PAGES = {
    "lineage": ("The published models", ("published models",)),
    "replication": ("Replication", ("Global", "across KIPs")),
    "controller-failover": ("Fail-over of the active controller", ("active controller",)),
    "kraft": ("The metadata quorum", ("KRaft base",)),
    "kip-903": ("KIP-903: stale broker epochs", ("KIP-903",)),
    "kip-392": ("KIP-392: fetching from followers", ("KIP-392",)),
    "kip-951": ("KIP-951: leader discovery", ("KIP-951",)),
    "kip-1166": ("KIP-1166: the high watermark in the fetch request", ("KIP-1166",)),
    "consistency-tokens": ("Consistency tokens", ("onsistency token",)),
    "bugs": ("Historic bugs", ("Historic bugs",)),
    "hypotheses": ("Hypotheses", ("Hypotheses",)),
}
"""The pages: title, and words by which a heading of the entries is known to belong there."""
INTRODUCTION = (
    "Each entry is decided by runs of the catalogue: `fencepost check --profile ci` explores all of them, and fails "
    "if a verdict, a count of states, a depth or the length of a shortest trace differs from what is pinned. A "
    "verdict reaches as far as the constants of its runs. Some are bounds, such as a number of crashes; where one cut "
    "off steps that were possible otherwise, the verdict is marked: it holds below this bound, and nothing is said of "
    "what lies beyond. `fencepost guarantees ID` shows an entry with every run and all its constants."
)


@cache
def page_of() -> dict[str, str]:
    """Return the page of each entry by id; a heading that no page claims is on the page of replication."""
    found: dict[str, str] = {}
    for title, ids in sections().items():
        page = next((name for name, (_, words) in PAGES.items() if any(word in title for word in words)), "replication")
        found |= dict.fromkeys(ids, page)
    return found


def link_to(name: str, folder: str = "") -> str:
    """Return a link to an entry, from a page that sees the pages in this folder."""
    return f"[{name}]({folder}{page_of()[name]}.md#{name.lower()})"


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of each page by its path."""
    return {
        "guarantees.md": index(),
        **{f"guarantees/{name}.md": page(name) for name in PAGES},
        "coverage.md": coverage(),
    }


def index() -> Iterator[str]:
    """Yield the lines of the index: what holds, what is broken, and on which page it is."""
    yield from ("# Guarantees", "", NOTICE, "")
    yield from (INTRODUCTION, "", "[Coverage](coverage.md) has the verdict of every entry on one page.", "")
    counts = {name: Counter(status(entries()[item]) for item in own(name)) for name in PAGES}
    rows = (
        [f"[{PAGES[name][0]}](guarantees/{name}.md)", *(number(count[item]) if count[item] else "" for item in COLUMNS)]
        for name, count in counts.items()
    )
    yield from table(("page", *COLUMNS.values()), rows, numbers=range(1, 7))
    promised = [(item, standing_of(item)) for item in entries().values() if item.kind in GUARANTEES]
    for word, title in NOT_KEPT.items():
        yield from ("", f"## {title}", "")
        for item, stands in promised:
            if stands.word == word:
                by = ", ".join(link_to(found.id, "guarantees/") for found in stands.findings if not found.is_past)
                yield f"- {link_to(item.id, 'guarantees/')}{f', by {by}' if by else ''}: {item.sentence}"
    yield ""


def own(name: str) -> list[str]:
    """Return the ids of the entries on a page."""
    return [item for item, found in page_of().items() if found == name]


def page(name: str) -> Iterator[str]:
    """Yield the lines of a page, under the headings of its entries."""
    yield from (f"# {PAGES[name][0]}", "", NOTICE, "")
    count = Counter(status(entries()[item]) for item in own(name))
    counts = ", ".join(
        f"{count[item]} {COLUMNS[item].replace('gaps', 'gap' if count[item] == 1 else 'gaps')}"
        for item in COLUMNS
        if count[item]
    )
    yield (
        f"{len(own(name))} entries: {counts}. [All guarantees](../guarantees.md). A length counts the states of the "
        "shortest trace; `fencepost guarantees ID` shows every run with all its constants."
    )
    yield ""
    for title, ids in sections().items():
        if page_of()[ids[0]] != name:
            continue
        yield from (f"## {title}", "")
        for item in ids:
            entry = entries()[item]
            yield from _claim(entry) if entry.kind == "claim" else _entry(entry)
        yield ""
    if name == "lineage":
        yield from _against_tlc()


def _entry(entry: Entry) -> Iterator[str]:
    """Yield a guarantee, bug, hypothesis or question with its answer and its evidence."""
    yield from (f"### {entry.id}", entry.sentence)
    stands = standing_of(entry).text if entry.kind in GUARANTEES else ""
    head = f"{stands[0].upper()}{stands[1:]}" if stands else STATUS[status(entry)]
    parts = [f"**{head}.**", answer_of(entry), seen_on_kafka(entry)]
    parts += [f"Comes back with `{entry.switch}`."] if entry.switch else []
    parts += [f"Reference: {entry.reference}."] if entry.reference else []
    parts += [f"Source: {entry.source}."] if entry.source else []
    parts += [_proved(item.name, item.unbounded) for item in THEOREMS if entry.id in item.entries]
    yield "- " + " ".join(part for part in parts if part)
    for line in _evidence(cases_of(entry)):
        yield "- " + line


def _proved(name: str, unbounded: Iterable[str]) -> str:
    return f"[Proved](../proofs.md) for any {', '.join(f'`{item}`' for item in unbounded)} (`{name}`)."


def _claim(entry: Entry) -> Iterator[str]:
    """Yield a claim of a KIP as an item of a list."""
    if entry.same_as and not cases_of(entry):
        shown = f"Same as {', '.join(link_to(name) for name in entry.same_as)}."
    else:
        shown = " ".join(f"{line}." for line in _evidence(cases_of(entry)))
    shown = " ".join(part for part in (shown, _classes(entry)) if part)
    parts = (f'<a id="{entry.id.lower()}"></a>**{entry.id}**, *{STATUS[status(entry)].lower()}*:', entry.sentence)
    yield "- " + " ".join(part for part in (*parts, answer_of(entry), shown, f"({entry.source})") if part)


def _classes(entry: Entry) -> str:
    """Return what Kafka's classes say, by release."""
    return " ".join(f"Kafka {row['kafka']}: {row['verdict']}, {row['seen']}." for row in classes_of(entry))


def _evidence(cases: Sequence[Case]) -> Iterator[str]:
    """Yield for each property and protocol where it holds and fails, by the widest run and the shortest trace."""
    for prop, name in dict.fromkeys((case.prop, case.run.protocol) for case in cases):
        mine = [case for case in cases if (case.prop, case.run.protocol) == (prop, name)]
        yield f"`{prop}` on {name}: " + "; ".join(_verdicts(mine))


def _verdicts(cases: Sequence[Case]) -> Iterator[str]:
    for word in dict.fromkeys(case.expect for case in cases):
        mine = [case for case in cases if case.expect == word]
        many = f"in {len(mine)} runs" if len(mine) > 1 else f"at *{_run(mine[0].run)}*"
        if word == "violated":
            first = min(mine, key=lambda case: (case.length or 0, not trace_of_case(case)))
            where = f" at *{_run(first.run)}*" if len(mine) > 1 else ""
            yield f"violated {many}, shortest {first.length} states{where}{_trace(first, mine)}"
        elif any(case.worst is not None for case in mine):
            costs = sorted({str(case.worst) for case in mine}, key=lambda text: (len(text), text))
            yield f"{word} {many}, costs {', '.join(costs)}{_below(mine, word)}"
        else:
            most = max((case.run.distinct or 0 for case in mine), default=0)
            yield f"{word} {many}" + (f", up to {most:,} states" if most else "") + _below(mine, word)


def _below(cases: Sequence[Case], word: str) -> str:
    """Return the mark of what holds below bounds that were reached alone: those that none of the runs got around."""
    known = [found for found in (reached_by(case.run) for case in cases) if found is not None]
    if word != "holds" or not known:
        return ""
    reached = [[name for name, value in found.items() if value] for found in known]
    free = sum(not names for names in reached)
    if free:
        return f", {'one' if free == 1 else free} without a bound that was reached"
    always = [name for name in reached[0] if all(name in names for names in reached)]
    return f", below bounds that were reached: {', '.join(f'`{name}`' for name in always) or 'others in each run'}"


def _run(run: Run) -> str:
    return run.name.removeprefix(f"{run.protocol} ")


def _trace(first: Case, cases: Sequence[Case]) -> str:
    """Return a link to the trace of the first case, or else to the shortest one that is archived, with its length."""
    others = [case for case in sorted(cases, key=lambda case: case.length or 0) if trace_of_case(case)]
    if trace_of_case(first):
        return f" ([trace](../../{trace_of_case(first)}))"
    if others:
        return f"; a [trace](../../{trace_of_case(others[0])}) of {others[0].length} states is archived"
    return ""


def _against_tlc() -> Iterator[str]:
    yield from ("## Compared with TLC", "")
    yield (
        "The published models (hachikuji/kafka-specification). Distinct states, depths and the lengths of shortest "
        "traces are those "
        "that TLC gives, breadth first, without symmetry or view; every run of Fencepost has to give the same ones."
    )
    yield ""
    head = ("protocol", "constants", "distinct", "depth", "weak-isr", "strong-isr")
    rows = (
        [
            run.protocol,
            " ".join(f"{name}={str(constants_of(run)[name]).lower()}" for name in run.constants),
            number(run.distinct),
            number(run.depth),
            *(
                f"violated, {run.violated[name]}" if name in run.violated else "holds"
                for name in ("weak-isr", "strong-isr")
            ),
        ]
        for run in runs()
        if family_of(run.protocol) == "lineage"
    )
    yield from table(head, rows, numbers=(2, 3))
    yield ""


def coverage() -> Iterator[str]:
    """Yield the lines of the page that has the verdict of every entry: decided, a known gap, or open."""
    yield from ("# Coverage", "", NOTICE, "")
    yield (
        "Every guarantee, bug, hypothesis and question, and every claim that the KIPs make themselves, by verdict. "
        "What is open has no verdict yet, and what is not built is in no release. Each id leads to its sentence, its "
        "source and what decides it: runs, or the classes in Kafka's jars "
        "([conformance](conformance.md#claims-that-no-state-machine-can-decide))."
    )
    yield ""
    yield from table(("kind", "entries", "decided", "not built", "known gap", "open"), _counts(), numbers=range(1, 6))
    yield ""
    yield f"Claims that Kafka's classes decide ({', '.join(CLASSES)}): {'; '.join(_by_release())}."
    yield ""
    for title, ids in sections().items():
        yield from (f"## {title}", "")
        for word, label in STATUS.items():
            mine = [name for name in ids if status(entries()[name]) == word]
            if mine:
                links = ", ".join(link_to(name, "guarantees/") for name in mine)
                yield f"- **{label.partition(':')[0]}** ({len(mine)}): {links}"
        yield ""


def _by_release() -> Iterator[str]:
    """Yield for each release how many claims hold, differ and are not built."""
    found = [item.classes for item in evidence().values() if item.classes]
    for release in dict.fromkeys(release for by in found for release in by):
        yield f"{release}: {', '.join(str(sum(by.get(release) == word for by in found)) for word in CLASSES)}"


def _counts() -> Iterator[list[str]]:
    total = [0] * 5
    for kind in KINDS:
        found = [status(entry) for entry in of_kind(kind)]
        others = [found.count(word) for word in ("not-built", "known-gap", "open")]
        row = [len(found), len(found) - sum(others), *others]
        total = [before + more for before, more in zip(total, row, strict=True)]
        yield [kind, *map(number, row)]
    yield ["**all**", *(f"**{number(count)}**" for count in total)]
