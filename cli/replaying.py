"""`fencepost replay` and `fencepost show`: traces in files."""

from __future__ import annotations

import click

from fencepost.cli.status import Exit


@click.command(short_help="Replay a counterexample on the plain carrier.")
@click.argument("file")
def replay(file: str) -> Exit:
    """Replay a trace."""
    raise NotImplementedError(file)


@click.command(short_help="Show.")
@click.argument("file")
def show(file: str) -> Exit:
    """Show."""
    raise NotImplementedError(file)
