"""All pages that are built from the catalogue, the models and the figures: whole ones, and tables inside pages by hand.

A table stands between `<!-- cases ID ... -->` and `<!-- end -->`. Instead of ids stands a word of `_WORDS` or `_LISTS`,
or one of `_OF_PROOF` with the name of a proof. Seconds, rates and memory were measured by
`python -m benchmarks.figures.catalogue`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from fencepost.api.topics.evidence import answer_of, cases_of, constants_of, of_kind, trace_of_case
from fencepost.invariants.catalogue import entries, runs, status
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.run_rows import only
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import UsageError
from fencepost.site import checks, designs, figures, played
from fencepost.site.entries import pages as entry_pages
from fencepost.site.markdown import ROW, number, table, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from fencepost.invariants.catalogue import Case, Entry, Run
    from fencepost.site.markdown import Row, Table

OWN = ("checks/", "guarantees/")
"""The folders of which every page is built."""
HISTORIES = {
    "findings/hyp-10.html": "replication-hyp-10-cancelled.trace",
    "findings/hyp-11.html": "replication-hyp-11.trace",
}
"""Pages that show a history step by step, and its archived trace: `fencepost show --format html`, without trying
something else."""
MARK = "<!-- cases "
"""The mark before each table that is built."""
_TABLE = re.compile(r"(<!-- cases ([^\n]*?) -->\n)(?:(?!<!-- cases ).)*?(<!-- end -->)", re.DOTALL)
"""A table with what it is of, up to its end."""
_LARGEST = 8
_SWITCHES = 2
"""Constants in which a bug and its twin may differ."""


def whole_pages() -> dict[str, str]:
    """Return the text of every page that is built as a whole, by its path."""
    made = {**entry_pages(), **checks.pages()}
    return {name: text_of(lines) for name, lines in made.items()}


def pages(folder: Path | None = None) -> dict[str, str]:
    """Return the text of every built page by its path, and of the pages in the folder whose tables are built."""
    made = whole_pages()
    if folder is not None:
        for file in sorted(folder.rglob("*.md")):
            name, text = file.relative_to(folder).as_posix(), file.read_text("utf-8")
            if name not in made and MARK in text and not name.startswith(OWN):
                made[name] = with_tables(text, name)
        made |= {name: _history(trace) for name, trace in HISTORIES.items() if (folder / name).is_file()}
    return made


def left_over(folder: Path, made: Mapping[str, str]) -> list[str]:
    """Return the pages in folders of which every page is built, that are not built any more."""
    there = (file.relative_to(folder).as_posix() for part in OWN for file in sorted((folder / part).rglob("*.md")))
    return [name for name in there if name not in made]


def _history(file: str) -> str:
    """Return the page of an archived trace."""
    from fencepost.counterexamples.render.html import render
    from fencepost.counterexamples.replay import replay
    from fencepost.counterexamples.trace import ARCHIVE

    return render(replay(ARCHIVE / file))


def with_tables(text: str, page: str = "") -> str:
    """Return the text of a page (its path in the folder of documentation) with its tables built again.

    Raises UsageError for a table that has no end, or that nothing is called as.
    """
    if len(_TABLE.findall(text)) != text.count(MARK):
        raise UsageError(f"{page}: a line `{MARK}... -->` has no line `<!-- end -->` behind its table: write it there.")
    try:
        made = _TABLE.sub(lambda found: f"{found[1]}\n{_made(found[2].split())}\n\n{found[3]}", text)
    except UsageError as error:
        raise UsageError(f"{page}: {error}") from None
    up = "../" * (page.count("/") + 1)
    return re.sub(r"(\]\(|\]: )\.\./counterexamples/", rf"\g<1>{up}counterexamples/", made)


def _made(words: list[str]) -> str:
    """Return what stands behind a mark: a table, or a list."""
    first = words[0] if words else ""
    if first in _OF_PROOF:
        only(words[1:] or [""], [item.name for item in THEOREMS], "proof")
    elif first not in {*_LISTS, *_WORDS}:
        only(words or [""], entries(), "table or entry")
    if words[0] in _LISTS:
        return "\n".join(f"- {item}" for item in _LISTS[words[0]]())
    if words[0] in _OF_PROOF:
        head, rows = _OF_PROOF[words[0]](words[1])
    else:
        head, rows = _WORDS[words[0]]() if words[0] in _WORDS else _cases(words)
    right = {place for place, name in enumerate(head) if name in _NUMBERS}
    return with_short_rows(list(table(head, rows, right)))


def with_short_rows(lines: list[str]) -> str:
    """Return the lines of a table; if a row is too wide, links are named in the rows and resolved below the table."""
    targets: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        name = found[2].rpartition("/")[2].removesuffix(".trace")
        targets[name] = found[2]
        return f"[{name}]" if found[1] == name else f"[{found[1]}][{name}]"

    if max(map(len, lines)) > ROW:
        lines = [re.sub(r"\[([^\]]+)\]\(([^)]+)\)", named, line) for line in lines]
    return "\n".join([*lines, *([""] if targets else []), *(f"[{name}]: {target}" for name, target in targets.items())])


_NUMBERS = {
    *[
        "steps",
        "branches",
        "questions",
        "solver s",
        "length",
        "shortest",
        "distinct",
        "without",
        "depth",
        "seconds",
        "states/s",
        "store",
        "peak",
        "round trips",
        "backoffs",
        "refreshes",
        "API key",
        "processor s",
        "wall s",
        "ns a state",
        "bytes a state",
        "messages",
        "waits",
        "fetches for two records",
        "did harm",
        "kept all",
        "undetermined",
        "acknowledged",
        "of them lost",
    ]
}
"""Titles of the columns that are set to the right."""


def _cases(ids: Sequence[str]) -> Table:
    return ["id", "property", "expected", "runs", "length", "distinct", "trace"], (
        row for name in ids for row in _cases_of(entries()[name])
    )


def _cases_of(entry: Entry) -> Iterable[Row]:
    """Yield a row for each property, verdict and archived trace: the run with the shortest trace, or with most states.

    Failures without a trace are left out where one as short has one.
    """
    cases = cases_of(entry)
    found = dict.fromkeys((case.prop, case.expect, _link(case)) for case in cases)
    mine = {key: [case for case in cases if (case.prop, case.expect, _link(case)) == key] for key in found}
    first = {key: min(mine[key], key=lambda case: (case.length or 0, -(case.run.distinct or 0))) for key in found}
    for key in found:
        prop, expect, link = key
        shown = [first[other].length or 0 for other in found if other[:2] == key[:2] and other[2]]
        if expect == "violated" and not link and shown and min(shown) <= (first[key].length or 0):
            continue
        others = f" and {len(mine[key]) - 1} more" if len(mine[key]) > 1 else ""
        run = first[key].run
        yield [entry.id, prop, expect, f"{run.name}{others}", number(first[key].length), number(run.distinct), link]


def _bugs() -> Table:
    head = ["bug", "what brings it back", "run", "what fails, after how many states", "distinct", "without", "seconds"]
    return head, (row for entry in of_kind("bug") for row in _bug(entry))


def _bug(entry: Entry) -> Iterable[Row]:
    own = list(cases_of(entry))
    if not own:
        yield [entry.id, "", answer_of(entry), status(entry), "", "", ""]
        return
    failing = {case.run.name for case in own if case.expect == "violated"}
    named = {case.run.name for case in own if case.run.title.endswith(entry.id)}
    named_runs = failing | named or {
        case.run.name for case in own
    }  # of a report that was no bug: where nothing is found
    for name in dict.fromkeys(case.run.name for case in own if case.run.name in named_runs):
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
            _figure(run, "seconds", lambda value: f"{value:.1f}"),
        ]


def _failure(case: Case, *, with_trace: bool) -> str:
    """Return a property with the length of its shortest trace, or what else is said of it."""
    found = f"{case.prop} {number(case.length) or case.expect}"
    return f"{found} ([trace](../{trace_of_case(case)}))" if with_trace else found


def _twin(case: Case, own: Sequence[Case]) -> Run | None:
    """Return the run with the fewest other constants in which the property holds; None if no run is that near."""
    others = [item.run for item in own if item.prop == case.prop and item.expect == "holds" and item.run != case.run]
    others = [run for run in others if run.protocol == case.run.protocol]
    near = [run for run in others if len(difference(case.run, run)) <= _SWITCHES]
    return min(near, key=lambda run: len(difference(case.run, run)), default=None)


def difference(run: Run, twin: Run) -> list[str]:
    """Return the constants of a run that are not as in another, as they are set."""
    mine, others = constants_of(run), constants_of(twin)
    return [f"{name}={str(value).lower()}" for name, value in mine.items() if value != others[name]]


def _settings(name: str = "replication") -> Table:
    machine = protocol(name).machine
    names = list(dict.fromkeys(name for version in machine.versions for name in version.values))
    declared = machine.constants.declared()
    return ["version", "stands for", *(f"`{name}`" for name in names)], (
        [
            version.name,
            version.sentence,
            *(str(declared[name].show(version.values.get(name, declared[name].default))).lower() for name in names),
        ]
        for version in machine.versions
    )


def _stands_for() -> Table:
    return ["version", "stands for"], (
        [version.name, version.sentence] for version in protocol("replication").machine.versions
    )


def _settings_by_version() -> Table:
    """Return the settings of replication with a column for each version: there are too many settings for columns."""
    _, rows = _settings()
    columns = [[row[0].removeprefix("kafka-"), *row[2:]] for row in rows]
    names = _settings()[0][2:]
    return ["constant", *(column[0] for column in columns)], (
        [name, *(column[place] for column in columns)] for place, name in enumerate(names, 1)
    )


def _switches(name: str = "replication") -> Table:
    declared = protocol(name).machine.constants.declared()
    return ["constant", "default", "meaning"], (
        [f"`{name}`", str(constant.show(constant.default)).lower(), constant.meaning]
        for name, constant in declared.items()
    )


def _largest() -> Table:
    found = sorted((run for run in runs() if run.name in measured()), key=lambda run: run.distinct or 0)[-_LARGEST:]
    return ["run", "distinct", "depth", "processor s", "bytes a state", "store", "peak"], (
        [
            run.name,
            number(run.distinct),
            number(run.depth),
            _figure(run, "processor_seconds", lambda value: f"{value:.0f}"),
            _figure(run, "store_bytes", _per_state(run)),
            _figure(run, "store_bytes", figures.gigabytes),
            _figure(run, "peak_memory_bytes", figures.gigabytes),
        ]
        for run in found
    )


def measured() -> dict[str, dict[str, Any]]:
    """Return what was measured of each run, by its name."""
    return load("replication")


def _per_state(run: Run) -> Callable[[float], str]:
    return lambda value: f"{value / (run.distinct or 1):.1f}"


def _figure(run: Run, name: str, show: Callable[[float], str]) -> str:
    return show(measured()[run.name][name]) if name in measured().get(run.name, {}) else ""


def _link(case: Case) -> str:
    file = trace_of_case(case)
    return f"[{file.rpartition('/')[2].removesuffix('.trace')}](../{file})" if file else ""


_WORDS: dict[str, Callable[[], Table]] = {
    "bugs": _bugs,
    "settings": _settings_by_version,
    "stands-for": _stands_for,
    "switches": _switches,
    "quorum-settings": lambda: _settings("quorum"),
    "quorum-switches": lambda: _switches("quorum"),
    "delays": designs.delays,
    "four-cases": designs.four_cases,
    "propagation": designs.propagation,
    "follower-settings": lambda: _settings("follower-reads"),
    "follower-switches": lambda: _switches("follower-reads"),
    "largest": _largest,
    "critical-path": designs.critical_path,
    "operations": designs.operations,
    "proofs": figures.proofs,
    "loops": figures.loops,
    "spark-cost": figures.spark_cost,
    "spark-levels": figures.spark_levels,
    "spark-figures": figures.spark_figures,
    "spark-scale": figures.spark_scale,
    "speed-searches": figures.searches,
    "speed-wanted": figures.wanted,
    "speed-steps": figures.steps,
    "clients-rules": played.client_rules,
    "clients-runs": played.client_runs,
    "clients-stories": played.client_stories,
    "clients-mutants": played.client_mutants,
    "clients-deviations": played.client_deviations,
    "audit-runs": figures.audit,
    "explore": figures.explorer,
    "clusters": lambda: played.clusters(as_they_are=True),
    "clusters-kept": lambda: played.clusters(as_they_are=False),
    "recovery": designs.recovery,
    "by-version": figures.by_version,
    "finding-faults": figures.finding_faults,
    "finding-faults-hyp-10": lambda: figures.finding_faults("HYP-10"),
    "switches-off": figures.switches_off,
    "moving": figures.moving,
    "crashes-in-short": figures.crashes_in_short,
    "releases-lose": figures.losses,
    "releases": played.verdicts_on_findings,
    "releases-why": lambda: played.reasons(of_findings=True),
    "releases-known": lambda: played.reasons(of_findings=False),
    "conform-covers": played.covers,
    "conform-walks": played.walks,
    "conform-moves": played.moves,
    "conform-quorum": played.quorum,
    "conform-seen": played.noticed,
    "conform-changes": played.changes,
}
_LISTS: dict[str, Callable[[], Iterable[str]]] = {"statements": figures.statements}
_OF_PROOF: dict[str, Callable[[str], Table]] = {"lemmas": figures.lemmas, "cuts": figures.cuts}
