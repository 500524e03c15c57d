"""`fencepost guarantees`: the guarantees with their sources and verdicts, and the pages that are built from them."""

from __future__ import annotations

from pathlib import Path

import click
from fencepost.api.files import make_sure_folder, write_text
from fencepost.api.topics.catalogued import guarantees as find_entries
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.entries import print_entry, print_settled
from fencepost.model.language.errors import UsageError

DOCS = "docs"


@click.command()
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the whole catalogue as JSON.")
@click.option("--write", metavar="DIR", help="Build the pages there, and the tables inside other pages.")
@click.option(
    "--check",
    is_flag=False,
    flag_value=DOCS,
    metavar="[DIR]",
    help=f"Fail if a page there differs from what would be built, or a verdict is no longer true.  [default: {DOCS}]",
)
def guarantees(names: tuple[str, ...], as_json: bool, write: str | None, check: str | None) -> Exit:
    """Show the guarantees, bugs, hypotheses and questions that runs of the catalogue have settled.

    With IDs, show these entries with every run that decides them, and all its constants.
    """
    asked = {"IDs": bool(names), "--json": as_json, "--write": write is not None, "--check": check is not None}
    given = [name for name, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} were given together, and each is an action of its own: write one of them."
        )
    if names:
        for entry in find_entries(*names):
            print_entry(results(), entry)
        return Exit.AS_EXPECTED
    if as_json:
        print_json(find_entries().to_dict())
        return Exit.AS_EXPECTED
    if write is not None:
        return _write(Path(write))
    if check is not None:
        return _check(Path(check))
    print_settled(results())
    return Exit.AS_EXPECTED


def _write(folder: Path) -> Exit:
    from fencepost.site.pages import pages

    made = pages(folder)
    make_sure_folder(folder)
    for name, text in made.items():
        make_sure_folder((folder / name).parent)
        write_text(folder / name, text)
        click.echo(f"wrote {folder / name}")
    return Exit.AS_EXPECTED


def _check(folder: Path) -> Exit:
    """Compare pages with what would be written, and verdicts with the models; figures that are only stale are named."""
    from fencepost.api.calls.vacuity import UNBREAKABLE, vacuous
    from fencepost.site.pages import left_over, pages
    from fencepost.site.stale import refuted, stale

    made = pages(folder)
    differing = [name for name, text in made.items() if _read(folder / name) != text]
    wrong = [f"differs: {folder / name}" for name in differing]
    if differing:
        wrong.append(f"`fencepost guarantees --write {folder}` builds the pages again.")
    wrong += [f"left over: {folder / name}: no such page is built: remove it." for name in left_over(folder, made)]
    wrong += refuted()
    wrong += [
        f"vacuous: {name} holds, and nothing shows that it can fail: add a variant that violates it"
        for name in vacuous()
        if name not in UNBREAKABLE
    ]
    for line in [*wrong, *stale()]:
        click.echo(line)
    return Exit.FAILED if wrong else Exit.AS_EXPECTED


def _read(path: Path) -> str | None:
    """Return the text of a page, or None where there is none."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        return None
