"""`fencepost guarantees`: the guarantees with their sources and verdicts, and the tables of measured figures."""

from __future__ import annotations

import click
from fencepost.api.topics.catalogued import guarantees as find_entries
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.entries import print_entry, print_settled
from fencepost.model.language.errors import UsageError


@click.command()
@click.argument("names", metavar="[ID]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the whole catalogue as JSON.")
@click.option("--table", metavar="NAME", help="Print a table of the documentation, as Markdown.")
def guarantees(names: tuple[str, ...], as_json: bool, table: str | None) -> Exit:
    """Show the guarantees, bugs, hypotheses and questions that runs of the catalogue have settled.

    With IDs, show these entries with every run that decides them, and all its constants.
    """
    asked = {"IDs": bool(names), "--json": as_json, "--table": table is not None}
    given = [name for name, is_given in asked.items() if is_given]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} were given together, and each is an action of its own: write one of them."
        )
    if names:
        for entry in find_entries(*names):
            print_entry(results(), entry)
    elif as_json:
        print_json(find_entries().to_dict())
    elif table is not None:
        from fencepost.site.tables import table_of_name

        click.echo(table_of_name(table))
    else:
        print_settled(results())
    return Exit.AS_EXPECTED
