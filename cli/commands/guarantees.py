"""`fencepost guarantees`: what is promised, where that is written, and what the runs say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.api.files import make_sure_folder, write_text
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

DOCS = "docs"
_STYLES = {"holds": "green", "settled": "green", "broken": "red", "known-gap": "yellow"}


@click.command(short_help="Show what is promised, and what the runs say of it.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole catalogue as JSON.")
@click.option("--write", metavar="DIR", help="Write guarantees.md and coverage.md there.")
@click.option(
    "--check", is_flag=False, flag_value=DOCS, metavar="[DIR]", help=f"Fail if the pages there are stale.  [default: {DOCS}]"
)
def guarantees(as_json: bool, write: str | None, check: str | None) -> Exit:  # noqa: FBT001 (as click calls it)
    """Show the guarantees, bugs, hypotheses and questions that runs of the catalogue have settled."""
    if sum((as_json, write is not None, check is not None)) > 1:
        raise UsageError(
            "--json, --write and --check were given together, and each is an action of its own: write one of them."
        )
    if as_json:
        from fencepost.api.evidence import catalogue_data

        print_json(catalogue_data())
        return Exit.AS_EXPECTED
    if write is not None:
        return _write(Path(write))
    if check is not None:
        return _check(Path(check))
    _print(results())
    return Exit.AS_EXPECTED


def _write(folder: Path) -> Exit:
    from fencepost.pages.build import pages

    made = pages()
    make_sure_folder(folder)
    for name, text in made.items():
        write_text(folder / name, text)
        click.echo(f"wrote {folder / name}")
    return Exit.AS_EXPECTED


def _check(folder: Path) -> Exit:
    """Compare the pages with what would be written; print those that differ or are missing."""
    from fencepost.pages.build import pages

    stale = [name for name, text in pages().items() if _read(folder / name) != text]
    for name in stale:
        click.echo(f"stale: {folder / name}")
    if stale:
        click.echo(f"`fencepost guarantees --write {folder}` writes them anew.")
    return Exit.FAILED if [*stale, *_suspicious()] else Exit.AS_EXPECTED


def _suspicious() -> list[str]:
    """Print and return what nothing was seen to break, and what was measured of another state of a protocol than the present one."""
    from fencepost.pages import matrices, tolerance
    from fencepost.pages.vacuity import UNBREAKABLE, vacuous

    again = "python -m fencepost.pages.matrices docs"
    said = [
        f"stale: docs/measured/checks.json: {name} is not as it was measured; `{again} {name}` measures it anew"
        for name in matrices.stale()
    ]
    said += [
        f"stale: docs/measured/faults.json: replication with {name} replicas is not as it was measured; "
        f"`{again} --faults {name}` measures it anew"
        for name in tolerance.stale()
    ]
    said += [
        f"vacuous: {name} holds, and nothing shows that it can fail: add a variant that violates it"
        for name in vacuous()
        if name not in UNBREAKABLE
    ]
    for line in said:
        click.echo(line)
    return said


def _read(path: Path) -> str | None:
    """Return the text of a page, or None where there is none."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None


def _print(console: Console) -> None:
    from fencepost.api.evidence import KINDS, answer_of, cases_of, of_kind
    from fencepost.invariants.catalogue import status

    open_ones = []
    for kind in KINDS:
        everything = of_kind(kind)
        settled = [entry for entry in everything if status(entry) != "open"]
        open_ones.append((kind, str(len(everything) - len(settled)), str(len(everything))))
        for entry in settled:
            word = status(entry)
            print_rows(console, [(heading(entry.id), styled(word, _STYLES.get(word, "")), entry.sentence)])
            print_lines(console, styled(entry.source, "dim"), indent=2)
            if answer_of(entry):
                print_lines(console, answer_of(entry), indent=2)
            rows = [
                (
                    case.run.name,
                    case.prop,
                    case.expect
                    + (f": worst {case.worst}" if case.worst is not None else "")
                    + (f": shortest trace {case.length} states" if case.length else ""),
                )
                for case in cases_of(entry)
            ]
            if rows:
                print_rows(console, rows, indent=2)
            console.print()
    print_rows(console, [(heading("open"), "", heading("of")), *((kind, count, total) for kind, count, total in open_ones)])
    console.print()
    print_lines(console, styled("`fencepost check` runs a selection of these; `--profile ci` all that fit a build.", "dim"))
