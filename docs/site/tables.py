"""The tables of measured figures and of runs that pages written by hand ask for.

The place of a table is between `<!-- cases NAME ... -->` and `<!-- end -->`: ids of entries, a word of `_WORDS` or
`_LISTS`, or one of `_OF_PROOF` with the name of a proof. Seconds, rates and memory were measured by
`python -m benchmarks.figures.catalogue`.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from fencepost.api.topics.evidence import cases_of, trace_of_case
from fencepost.invariants.catalogue import entries, runs
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.invariants.run_rows import only
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import UsageError
from fencepost.site import designs, figures, played
from fencepost.site.markdown import number, table, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fencepost.invariants.catalogue import Case, Entry, Run
    from fencepost.site.markdown import Column, Row, Table

MARK = "<!-- cases "
"""The mark before each table."""
_TABLE = re.compile(r"(<!-- cases ([^\n]*?) -->\n)(?:(?!<!-- cases ).)*?(<!-- end -->)", re.DOTALL)
"""A table with its subject, up to its end."""
_LARGEST = 8


def with_tables(text: str, page: str = "") -> str:
    """Return the text of a page (its path in the folder of documentation) with its tables built.

    Raises UsageError for a table that has no end, or that nothing is called as.
    """
    if len(_TABLE.findall(text)) != text.count(MARK):
        raise UsageError(f"{page}: a line `{MARK}... -->` has no line `<!-- end -->` behind its table: write it there.")
    try:
        made = _TABLE.sub(lambda found: f"{found[1]}\n{table_of_name(found[2])}\n\n{found[3]}", text)
    except UsageError as error:
        raise UsageError(f"{page}: {error}") from None
    up = "../" * (page.count("/") + 1)
    return made.replace("](../counterexamples/", f"]({up}counterexamples/")


def table_of_name(name: str) -> str:
    """Return the table, or the list, of a name; raise UsageError if nothing has it."""
    first, *others = name.split() or [""]
    if first in _OF_PROOF:
        only(others or [""], [item.name for item in THEOREMS], "proof")
    elif others or first not in {*_LISTS, *_WORDS}:
        only([first], [*entries(), *_LISTS, *_WORDS, *_OF_PROOF], "table or entry")
        only([first, *others], entries(), "entry")
    if first in _LISTS:
        return "\n".join(f"- {item}" for item in _LISTS[first]())
    if first in _OF_PROOF:
        head, rows = _OF_PROOF[first](others[0])
    else:
        head, rows = _WORDS[first]() if first in _WORDS else _cases([first, *others])
    return "\n".join(table(head, rows))


def command_of(name: str) -> str:
    """Return the command that prints the table of a name."""
    shown = f"'{name}'" if " " in name else name
    return (
        f"fencepost guarantees {name}"
        if name.split(maxsplit=1)[0] in entries()
        else f"fencepost guarantees --table {shown}"
    )


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


def _settings_by_version() -> Table:
    """Return the settings of replication with a column for each version: there are too many settings for columns."""
    head, rows = _settings()
    _, _, *columns = zip(head, *rows, strict=True)
    names = [version.name.removeprefix("kafka-") for version in protocol("replication").machine.versions]
    return ["constant", *names], map(list, columns)


def _switches(name: str = "replication") -> Table:
    declared = protocol(name).machine.constants.declared()
    return ["constant", "default", "meaning"], (
        [f"`{name}`", str(constant.show(constant.default)).lower(), constant.meaning]
        for name, constant in declared.items()
    )


def _largest() -> Table:
    found = sorted((run for run in runs() if run.name in measured()), key=lambda run: run.distinct or 0)[-_LARGEST:]
    columns: dict[str, Column] = {
        "run": "{name}",
        "distinct": "{distinct:,}",
        "depth": "{depth}",
        "processor s": "{processor_seconds:.0f}",
        "bytes a state": lambda row: f"{row['store_bytes'] / row['distinct']:.1f}",
        "store": lambda row: figures.gigabytes(row["store_bytes"]),
        "peak": lambda row: figures.gigabytes(row["peak_memory_bytes"]) if "peak_memory_bytes" in row else "",
    }
    return table_of(({"name": run.name, **measured()[run.name]} for run in found), columns)


def measured() -> dict[str, dict[str, Any]]:
    """Return the measurements of each run, by its name."""
    return load("replication")


def seconds_of(run: Run) -> str:
    """Return the seconds that a run took, if they were measured."""
    seconds = measured().get(run.name, {}).get("seconds")
    return "" if seconds is None else f"{seconds:.1f}"


def _link(case: Case) -> str:
    file = trace_of_case(case)
    return f"[{file.rpartition('/')[2].removesuffix('.trace')}](../{file})" if file else ""


_WORDS: dict[str, Callable[[], Table]] = {
    "settings": _settings_by_version,
    "stands-for": lambda: (["version", "stands for"], (row[:2] for row in _settings()[1])),
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
    "what-operators-do": figures.operations_by_release,
    "crashes-in-short": figures.crashes_in_short,
    "releases-lose": figures.losses,
    "releases": played.verdicts_on_findings,
    "releases-why": lambda: played.reasons(of_findings=True),
    "releases-known": lambda: played.reasons(of_findings=False),
    **{f"conform-{part}": partial(played.conformance, part) for part in played.CONFORMANCE},
}
_LISTS: dict[str, Callable[[], Iterable[str]]] = {"statements": figures.statements}
_OF_PROOF: dict[str, Callable[[str], Table]] = {"lemmas": figures.lemmas, "cuts": figures.cuts}
