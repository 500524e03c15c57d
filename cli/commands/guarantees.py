"""`fencepost guarantees`: shows the guarantees with their sources and verdicts, and tables of measured figures."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from click import argument, command, echo, option
from fencepost.api.topics import evidence
from fencepost.api.topics.evidence import guarantees as find_entries
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.cli.views.screen import constants_text
from fencepost.invariants.catalogue import Case, Entry, reached_by, status, values_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console


_STYLES = {"holds": "green", "settled": "green", "not-built": "yellow", "broken": "red", "known-gap": "yellow"}

_STANDS = {"kept": "green", "kept-in-the-model": "green", "finding": "red", "broken": "red"}


def print_settled(console: Console) -> None:
    open_ones = []
    for kind in evidence.KINDS:
        everything = evidence.of_kind(kind)
        settled = [entry for entry in everything if status(entry) != "open"]
        open_ones.append((kind, str(len(everything) - len(settled)), str(len(everything))))
        for entry in settled:
            _head(console, entry)
            rows = [(case.run.name, case.prop, _expected(case)) for case in evidence.cases_of(entry)]
            if rows:
                print_rows(console, rows, indent=2)
            console.print()
    print_rows(
        console, [(heading("open"), "", heading("of")), *((kind, count, total) for kind, count, total in open_ones)]
    )
    print_lines(
        console,
        "",
        "`fencepost check` executes some of these runs, and `--profile ci` executes all quick ones.",
        style="dim",
    )


def print_entry(console: Console, entry: Entry) -> None:
    _head(console, entry)
    if entry.same_as:
        print_lines(console, f"same as {', '.join(entry.same_as)}", indent=2)
    for row in evidence.classes_of(entry):
        print_lines(console, f"Kafka {row['kafka']}: {row['verdict']}, {row['seen']}", indent=2)
    for run, together in groupby(evidence.cases_of(entry), lambda case: case.run):
        cases, machine = list(together), protocol(run.protocol).machine
        console.print()
        print_lines(console, heading(run.name), indent=2)
        constants = constants_text(machine, machine.set_constants(values_of(run)), run.version, run.protocol)
        size = f"; {run.distinct:,} states, depth {run.depth}" if run.distinct else ""
        print_lines(console, f"{constants}{size}, profile {run.profile}", style="dim", indent=4)
        print_rows(console, [(case.prop, _expected(case)) for case in cases], indent=4)
        for trace in dict.fromkeys(filter(None, map(evidence.trace_of_case, cases))):
            console.print(f"    {trace}", soft_wrap=True)
        if any(case.expect == "holds" for case in cases) and (found := reached_by(run)) is not None:
            bounds = " ".join(f"{name}={value}" for name, value in found.items() if value)
            words = f"holds within the bounds that were reached: {bounds}" if bounds else "no guard's bound was reached"
            print_lines(console, words, style="yellow" if bounds else "dim", indent=4)
    console.print()


def _head(console: Console, entry: Entry) -> None:
    stands = evidence.standing_of(entry) if entry.kind in evidence.GUARANTEES else None
    is_broken = stands is not None and stands.word in ("finding", "conjecture", "broken")
    word = "broken" if is_broken else status(entry)
    print_rows(console, [(heading(entry.id), styled(word, _STYLES.get(word, "")), entry.sentence)])
    print_lines(console, entry.source, style="dim", indent=2)
    if stands is not None and stands.word:
        print_lines(console, f"{stands.text}.", style=_STANDS.get(stands.word, "yellow"), indent=2)
    for text in filter(None, (evidence.answer_of(entry), evidence.seen_on_kafka(entry))):
        print_lines(console, text, indent=2)


def _expected(case: Case) -> str:
    worst = f": worst {case.worst}" if case.worst is not None else ""
    return case.expect + worst + (f": shortest trace {case.length} states" if case.length else "")


@command()
@argument("names", metavar="[ID]...", nargs=-1)
@option("--json", "as_json", is_flag=True, help="Print the whole catalogue as JSON.")
@option("--table", metavar="NAME", help="Print one of the documentation's tables as Markdown.")
def guarantees(names: tuple[str, ...], as_json: bool, table: str | None) -> Exit:
    """Show the guarantees, bugs, hypotheses and questions that the catalogue's runs have settled. With IDs, show the
    named entries, the runs that decide them, and all constants of these runs.
    """
    asked = {"IDs": bool(names), "--json": as_json, "--table": table is not None}
    given = [name for name, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} cannot be combined: use one of them.")
    if names:
        for entry in find_entries(*names):
            print_entry(results(), entry)
    elif as_json:
        print_json(find_entries().to_dict())
    elif table is not None:
        from fencepost.site.tables import table_of_name

        echo(table_of_name(table))
    else:
        print_settled(results())
    return Exit.AS_EXPECTED
