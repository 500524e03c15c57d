"""x"""
from __future__ import annotations

import click

from fencepost.cli.status import Exit


@click.command()
def guarantees() -> Exit:
    """G."""
    raise NotImplementedError
