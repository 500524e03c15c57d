"""Pages of entries, which are guarantees, bugs, hypotheses, questions and claims, with their evidence and stories."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from pathlib import PurePosixPath

from fencepost.api.asking.quantities import counted
from fencepost.api.calls.vacuity import family_of
from fencepost.api.topics.evidence import (
    GUARANTEES,
    KINDS,
    answer_of,
    cases_of,
    classes_of,
    constants_of,
    of_kind,
    seen_on_kafka,
    standing_of,
    trace_of_case,
)
from fencepost.counterexamples.browser.book import Story, stories
from fencepost.counterexamples.browser.links import link_of_story
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import Case, Entry, Run, entries, evidence, reached_by, runs, sections, status
from fencepost.invariants.claim_files import CLASSES
from fencepost.invariants.theorems import THEOREMS
from fencepost.site import places
from fencepost.site.places import PAGES, links_to_entries, number, page_of, table
from fencepost.site.tables import seconds_of


def details(entry: Entry, page: str) -> str:
    parts = [part for part in _parts(entry, page) if part]
    if not parts:
        return ""
    return f'<details class="evidence"><summary>{_summary(entry)}</summary>{"".join(parts)}</details>'


def _summary(entry: Entry) -> str:
    count = Counter(case.expect for case in cases_of(entry))
    runs = counted(len({case.run.name for case in cases_of(entry)}), "run")
    judged = ", ".join(f"{count[word]} {word}" for word in count)
    words = [f"{runs} with {counted(count.total(), 'verdict')}, one for each property ({judged})"] if count else []
    traces = len(_traces(entry))
    words += [counted(traces, "trace")] if traces else []
    guards = len(_guards(entry))
    words += [counted(guards, "guard")] if guards else []
    return f"Evidence for {entry.id}: {', '.join(words)}" if words else f"Related to {entry.id}"


def _parts(entry: Entry, page: str) -> Iterator[str]:
    properties = [(f"{prop} on {name}", places.of_property(name, prop)) for name, prop in places.asked_of(entry)]
    yield _list("Properties", properties, page)
    guards = [(name, places.of_guard(on, name)) for on, name in _guards(entry)]
    yield _list("Guards that these properties need", guards, page)
    yield _list("Traces", [(file.removesuffix(".trace"), places.of_trace(file)) for file in _traces(entry)], page)
    for word in dict.fromkeys(case.expect for case in cases_of(entry)):
        runs = {case.run.name: places.of_run(case.run) for case in cases_of(entry) if case.expect == word}
        yield _list(f"Runs: {word}", list(runs.items()), page)
    said = [(f"{name} ({entries()[name].source})", places.of_entry(name)) for name in places.same().get(entry.id, ())]
    yield _list("Said by", said, page)
    yield _list("Decided by", [(name, places.of_entry(name)) for name in entry.same_as], page)
    refers = [name for name in entry.depends if name in entries()]
    yield _list("Refers to", [(name, places.of_entry(name)) for name in refers], page)


def _list(title: str, items: list[tuple[str, str]], page: str) -> str:
    """Return links under a title, on one line because a line break would interrupt a list."""
    if not items:
        return ""
    links = ", ".join(f'<a href="{escape(places.rendered(place, page))}">{escape(text)}</a>' for text, place in items)
    return f"<p><b>{escape(title)}:</b> {links}.</p>"


def _traces(entry: Entry) -> list[str]:
    names = (case.run.traces[case.prop] for case in cases_of(entry) if case.expect == "violated")
    return [name for name in dict.fromkeys(names) if (ARCHIVE / name).is_file()]


def _guards(entry: Entry) -> list[tuple[str, str]]:
    if entry.kind in ("bug", "hypothesis"):
        return []
    return [(asked[0], name) for asked in places.asked_of(entry) for name in places.guards_by_property().get(asked, ())]


FIRST = "kip-903"
"""The story to show first: a released bug that any operator can understand."""


@cache
def all_stories() -> tuple[Story, ...]:
    return tuple(stories())


@cache
def by_entry() -> dict[str, tuple[Story, ...]]:
    """Return the stories of each entry: those named after it, and those whose trace is evidence for it."""
    found: dict[str, dict[str, Story]] = {}
    for story in all_stories():
        about = [story.name.upper()] if story.name.upper() in entries() else []
        for name in (*about, *places.entries_by_trace().get(f"{story.data['trace']}.trace", ())):
            found.setdefault(name, {})[story.name] = story
    return {name: tuple(items.values()) for name, items in found.items()}


def card() -> str:
    chosen = sorted(all_stories(), key=lambda item: item.name != FIRST)
    items = "".join(f'<li><a href="{escape(_place(item))}">{escape(item.title)}</a></li>' for item in chosen)
    begin = "<strong>Start with a story</strong>: how a bug happens, one sentence per step, and its fix."
    return f'<div class="start"><p>{begin}</p><ul>{items}</ul></div>'


def with_stories(text: str, page: str) -> str:
    subject = [story for story in all_stories() if story.name == PurePosixPath(page).stem]
    lines: list[str] = []
    for line in text.split("\n"):
        lines.append(line)
        heading = re.match(r"#{1,3} ([\w-]+)", line)
        if heading:
            for story in {item.name: item for item in (*by_entry().get(heading[1], ()), *subject)}.values():
                lines += ["", places.linked(f"Story, step by step: {story.title}", _place(story), page), ""]
            subject = []
    return "\n".join(lines)


def _place(story: Story) -> str:
    return places.EXPLORER + link_of_story(story.name)


STATUS = {
    "holds": ("Holds", "hold"),
    "broken": ("Broken: the protocol violates it", "broken"),
    "settled": ("Settled", "settled"),
    "not-built": ("Not built: no release contains it", "not built"),
    "known-gap": ("Known gap", "known gaps"),
    "open": ("Open", "open"),
}
NOT_KEPT = {
    "finding": "Guarantees whose violation was observed in Kafka",
    "conjecture": "Guarantees violated only in the model so far, by behaviour that is conjectured but not confirmed",
    "broken": "Guarantees that do not hold as worded",
}
BROUGHT_BACK = (
    "These are bugs that Kafka had, and hazards that its KIPs rule out. Each can be restored by a switch in a model. "
    "The number after a property is the length of the shortest trace in states. *Distinct* counts the states with "
    "the bug, and *without* counts those of the twin: a run in which the property holds, and which differs only in "
    "the constants of the second column. *Seconds* are for two workers, excluding compilation. For bugs that are not "
    "modelled, the row gives the reason.\n\nEach bug's run names the property nearest to the cause, then the "
    "effect: in replication, the loss of a committed record (`leader-has-committed`). All rows of replication except "
    "B14 include the fixes for HYP-1, HYP-2, HYP-3 and HYP-9, so that only the bug appears. The row of B09 with two "
    "fences also shows the last replica standing (B19)."
)
AGAINST_TLC = (
    "These are the published models (hachikuji/kafka-specification). TLC computed the distinct states, depths and "
    "lengths of shortest traces (breadth first, no symmetry, no view). Fencepost must compute the same numbers."
)
_SWITCHES = 2
"""A run with a bug and its twin without the bug differ in at most this many constants."""
COVERAGE = (
    "This page lists all guarantees, bugs, hypotheses, questions, and claims of the KIPs, by verdict. Open entries "
    "have no verdict yet. Entries that are *not built* describe rules that no release contains. Each id links to its "
    "sentence, its source and its evidence: runs, or Kafka's classes "
    "([conformance](kafka/conformance.md#claims-that-no-state-machine-can-decide))."
)
INTRODUCTION = (
    "The catalogue's runs determine the verdict of each entry. `fencepost check --profile ci` executes all runs, and "
    "fails if a verdict, a state count, a depth or the length of a shortest trace differs from the pinned value. A "
    "verdict applies only to the constants of its runs. If a bound cut off steps, the verdict is marked and holds "
    "only below that bound. `fencepost guarantees ID` shows an entry with every run and all its constants."
)


def pages() -> dict[str, Iterator[str]]:
    return {
        "guarantees.md": index(),
        **{f"guarantees/{name}.md": page(name) for name in PAGES},
        "coverage.md": coverage(),
    }


def index() -> Iterator[str]:
    yield from ("# Guarantees", "")
    yield from (INTRODUCTION, "", "[Coverage](coverage.md) lists the verdicts of all entries on one page.", "")
    counts = {name: Counter(status(entries()[item]) for item in own(name)) for name in PAGES}
    rows = (
        [f"[{PAGES[name][0]}](guarantees/{name}.md)", *(number(count[item] or None) for item in STATUS)]
        for name, count in counts.items()
    )
    yield from table(("page", *(title for _, title in STATUS.values())), rows)
    promised = [(item, standing_of(item)) for item in entries().values() if item.kind in GUARANTEES]
    for word, title in NOT_KEPT.items():
        yield from ("", f"## {title}", "")
        for item, stands in promised:
            if stands.word == word:
                by = links_to_entries((found.id for found in stands.findings if not found.is_past), "guarantees.md")
                name = links_to_entries([item.id], "guarantees.md")
                yield f"- {name}{by and f', by {by}'}: {item.sentence}"
    yield ""


def own(name: str) -> list[str]:
    return [item for item, found in page_of().items() if found == name]


def page(name: str) -> Iterator[str]:
    yield from (f"# {PAGES[name][0]}", "")
    count = Counter(status(entries()[item]) for item in own(name))
    counts = ", ".join(
        f"{count[item]} {title.removesuffix('s') if count[item] == 1 else title}"
        for item, (_, title) in STATUS.items()
        if count[item]
    )
    yield from (f"{len(own(name))} entries: {counts}. [All guarantees](../guarantees.md).", "")
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
    if name == "bugs":
        yield from _brought_back()


def _entry(entry: Entry) -> Iterator[str]:
    yield from (f"### {entry.id}", entry.sentence)
    stands = standing_of(entry).text if entry.kind in GUARANTEES else ""
    head = f"{stands[0].upper()}{stands[1:]}" if stands else STATUS[status(entry)][0]
    parts = [f"**{head}.**", answer_of(entry), seen_on_kafka(entry)]
    parts += [f"`{entry.switch}` restores this bug."] if entry.switch else []
    parts += [f"Reference: {entry.reference}."] if entry.reference else []
    parts += [f"Source: {entry.source}."] if entry.source else []
    for item in THEOREMS:
        if entry.id in item.entries:
            unbounded = ", ".join(f"`{name}`" for name in item.unbounded)
            parts.append(f"[Proved](../use/proofs.md) for any {unbounded} (`{item.name}`).")
    yield "- " + " ".join(part for part in parts if part)
    yield from (f"- {line}" for line in _evidence(cases_of(entry)))
    yield from ("", details(entry, f"guarantees/{page_of()[entry.id]}.md"), "")


def _claim(entry: Entry) -> Iterator[str]:
    place = f"guarantees/{page_of()[entry.id]}.md"
    if entry.same_as and not cases_of(entry):
        shown = f"Same as {links_to_entries(entry.same_as, place)}."
    else:
        shown = " ".join(f"{line}." for line in _evidence(cases_of(entry)))
    classes = (f"Kafka {row['kafka']}: {row['verdict']}, {row['seen']}." for row in classes_of(entry))
    head = f'<a id="{entry.id.lower()}"></a>**{entry.id}**, *{STATUS[status(entry)][0].lower()}*:'
    below = details(entry, place)
    parts = (head, entry.sentence, answer_of(entry), shown, *classes, f"({entry.source})", below)
    yield "- " + " ".join(part for part in parts if part)


def _evidence(cases: Sequence[Case]) -> Iterator[str]:
    for prop, name in dict.fromkeys((case.prop, case.run.protocol) for case in cases):
        mine = [case for case in cases if (case.prop, case.run.protocol) == (prop, name)]
        yield f"`{prop}` on {name}: " + "; ".join(_verdicts(mine))


def _verdicts(cases: Sequence[Case]) -> Iterator[str]:
    for word in dict.fromkeys(case.expect for case in cases):
        mine = [case for case in cases if case.expect == word]
        many = f"in {len(mine)} runs" if len(mine) > 1 else f"in *{_run(mine[0].run)}*"
        if word == "violated":
            first = min(mine, key=lambda case: (case.length or 0, not trace_of_case(case)))
            where = f" in *{_run(first.run)}*" if len(mine) > 1 else ""
            yield f"violated {many}, shortest {first.length} states{where}{_trace(first, mine)}"
        elif any(case.worst is not None for case in mine):
            costs = sorted({str(case.worst) for case in mine}, key=lambda text: (len(text), text))
            yield f"{word} {many}, costs {', '.join(costs)}{_below(mine, word)}"
        else:
            most = max((case.run.distinct or 0 for case in mine), default=0)
            yield f"{word} {many}" + (f", up to {most:,} states" if most else "") + _below(mine, word)


def _below(cases: Sequence[Case], word: str) -> str:
    known = [found for found in (reached_by(case.run) for case in cases) if found is not None]
    if word != "holds" or not known:
        return ""
    reached = [[name for name, value in found.items() if value] for found in known]
    free = sum(not names for names in reached)
    if free:
        return f", {'one' if free == 1 else free} of them without reaching a bound"
    always = [name for name in reached[0] if all(name in names for names in reached)]
    return f", below bounds that were reached: {', '.join(f'`{name}`' for name in always) or 'different in each run'}"


def _run(run: Run) -> str:
    return run.name.removeprefix(f"{run.protocol} ")


def _trace(first: Case, cases: Sequence[Case]) -> str:
    others = [case for case in sorted(cases, key=lambda case: case.length or 0) if trace_of_case(case)]
    if trace_of_case(first):
        return f" ([trace](../../{trace_of_case(first)}))"
    if others:
        return f"; a [trace](../../{trace_of_case(others[0])}) of {others[0].length} states is archived"
    return ""


def _against_tlc() -> Iterator[str]:
    properties = ("weak-isr", "strong-isr")
    rows = (
        [
            run.protocol,
            " ".join(f"{name}={str(constants_of(run)[name]).lower()}" for name in run.constants),
            number(run.distinct),
            number(run.depth),
            *(f"violated, {run.violated[name]}" if name in run.violated else "holds" for name in properties),
        ]
        for run in runs()
        if family_of(run.protocol) == "lineage"
    )
    yield from ("## Compared with TLC", "", AGAINST_TLC, "")
    yield from (*table(("protocol", "constants", "distinct", "depth", *properties), rows), "")


def _brought_back() -> Iterator[str]:
    head = ["bug", "restored by", "run", "violated property, trace length", "distinct", "without", "seconds"]
    yield from ("## Bugs restored by switches", "", BROUGHT_BACK, "")
    yield from (*table(head, (cells for entry in of_kind("bug") for cells in _bug(entry))), "")


def _bug(entry: Entry) -> Iterator[list[str]]:
    own = list(cases_of(entry))
    if not own:
        yield [entry.id, "", answer_of(entry), status(entry), "", "", ""]
        return
    failing = {case.run.name for case in own if case.expect == "violated"}
    named = {case.run.name for case in own if case.run.title.endswith(entry.id)}
    chosen = failing | named or {case.run.name for case in own}  # all runs for a report that was not a bug
    for name in dict.fromkeys(case.run.name for case in own if case.run.name in chosen):
        shown = [case for case in own if case.run.name == name]
        run, twin = shown[0].run, _twin(shown[0], own) if failing | named else None
        linked = next(filter(trace_of_case, shown), None)
        yield [
            entry.id,
            ", ".join(f"`{item}`" for item in difference(run, twin)) if twin else "",
            run.title if run.protocol == "replication" else run.name,
            "; ".join(_failure(case, with_trace=case is linked) for case in shown),
            number(run.distinct),
            number(twin.distinct) if twin else "",
            seconds_of(run),
        ]


def _failure(case: Case, *, with_trace: bool) -> str:
    found = f"{case.prop} {number(case.length) or case.expect}"
    return f"{found} ([trace](../../{trace_of_case(case)}))" if with_trace else found


def _twin(case: Case, own: Sequence[Case]) -> Run | None:
    others = [item.run for item in own if item.prop == case.prop and item.expect == "holds" and item.run != case.run]
    others = [run for run in others if run.protocol == case.run.protocol]
    near = [run for run in others if len(difference(case.run, run)) <= _SWITCHES]
    return min(near, key=lambda run: len(difference(case.run, run)), default=None)


def difference(run: Run, twin: Run) -> list[str]:
    mine, others = constants_of(run), constants_of(twin)
    return [f"{name}={str(value).lower()}" for name, value in mine.items() if value != others[name]]


def coverage() -> Iterator[str]:
    yield from ("# Coverage", "", COVERAGE, "")
    yield from (*table(("kind", "entries", "decided", "not built", "known gap", "open"), _counts()), "")
    found = [item.classes for item in evidence().values() if item.classes]
    by_release = (
        f"{release}: {', '.join(f'{sum(by.get(release) == word for by in found)} {word}' for word in CLASSES)}"
        for release in dict.fromkeys(release for by in found for release in by)
    )
    yield from (f"Claims by the verdict of Kafka's classes: {'; '.join(by_release)}.", "")
    for title, ids in sections().items():
        yield from (f"## {title}", "")
        for word, (label, _) in STATUS.items():
            mine = [name for name in ids if status(entries()[name]) == word]
            if mine:
                yield f"- **{label.partition(':')[0]}** ({len(mine)}): {links_to_entries(mine, 'coverage.md')}"
        yield ""


def _counts() -> Iterator[list[str]]:
    total = [0] * 5
    for kind in KINDS:
        found = [status(entry) for entry in of_kind(kind)]
        others = [found.count(word) for word in ("not-built", "known-gap", "open")]
        row = [len(found), len(found) - sum(others), *others]
        total = [before + more for before, more in zip(total, row, strict=True)]
        yield [kind, *map(number, row)]
    yield ["**all**", *(f"**{number(count)}**" for count in total)]
