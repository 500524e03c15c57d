"""`fencepost list`: protocols, constants, actions and properties."""

from __future__ import annotations

import click
from fencepost.api.calls.listing import list_protocols as listed
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.listing import print_all, print_one


@click.command("list")
@click.argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON of one or of all protocols.")
def list_protocols(protocol: str | None, as_json: bool) -> Exit:  # noqa: FBT001 (as click calls it)
    """Show the protocols; with PROTOCOL its constants, versions, actions and properties."""
    chosen = listed(protocol or "")
    if as_json:
        print_json(chosen.to_dict())
    elif protocol:
        print_one(results(), *chosen)
    else:
        print_all(results(), list(chosen))
    return Exit.AS_EXPECTED
