"""The whole catalogue as text, a row a line: every run with what it must find, and every piece of evidence with its cases.

`python -m tests.catalogue_rows` prints today's rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import evidence, runs
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.invariants.catalogue import Evidence, Run


def rows() -> Iterator[str]:
    """Return the runs in the order in which they are explored, and then the evidence by entry."""
    for run in runs():
        yield run_row(run)
    for entry in sorted(evidence()):
        yield from evidence_rows(evidence()[entry])


def run_row(run: Run) -> str:
    """Return a run and what it must find. What is judged and neither violated nor unreached must hold, or be reached."""
    declared = protocol(run.protocol).machine.constants.declared()
    fields = {
        "version": run.version,
        "set": words({name: declared[name].show(value) for name, value in run.constants.items()}),
        "profile": str(run.profile),
        "pin": f"{run.distinct} {run.depth}",
        "judged": " ".join(run.properties) or "all",
        "violated": words(run.violated),
        "unreached": " ".join(sorted(run.unreached)),
        "worst": words(run.worst),
        "compact": "yes" if run.compact else "",
        "trace": words(run.trace),
        "why": run.why,
    }
    return line(f"run {run.name}", fields)


def evidence_rows(item: Evidence) -> Iterator[str]:
    """Return what settles an entry: its verdict, the answer and the gap, and then its cases, a run a row."""
    yield line(f"entry {item.entry}", {"verdict": item.verdict, "answer": item.answer, "gap": item.gap})
    for name in dict.fromkeys(case.run.name for case in item.cases):
        found = [case for case in item.cases if case.run.name == name]
        expected = {case.prop: f"{case.expect} {case.length or ''}".strip() for case in found}
        yield line(f"case {item.entry}", {"run": name, **expected})


def line(head: str, fields: Mapping[str, str]) -> str:
    """Return a row: what it is about, and the fields that are not empty."""
    return " | ".join([head, *(f"{name}: {value}" for name, value in fields.items() if value)])


def words(values: Mapping[str, object]) -> str:
    """Return `name=value` words in the order of their names."""
    return " ".join(f"{name}={values[name]}" for name in sorted(values))


if __name__ == "__main__":
    print("\n".join(rows()))  # noqa: T201 (its output)
