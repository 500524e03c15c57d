"""`fencepost site`: the static site of the documentation, the models and the catalogue."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from fencepost.cli.status import Exit


@click.command()
@click.option("--output", required=True, metavar="DIR", help="Build it there: a new or empty folder, or a site to be replaced.")
@click.option("--docs", default="docs", show_default=True, metavar="DIR", help="The prose: the folder of a clone of Fencepost.")
@click.option(
    "--workers", type=click.IntRange(1), default=2, show_default=True, metavar="N", help="Processes that draw traces."
)
def site(output: str, docs: str, workers: int) -> Exit:
    """Build a static site that any file server can serve, and that asks for nothing elsewhere.

    It has every protocol with its actions and guards, every guarantee with its runs and traces, findings, settings, the
    documentation, and an explorer that runs the models in the browser.
    """
    from fencepost.website.build import build

    folder = Path(output)
    build(folder, Path(docs).resolve(), workers=workers, tell=_tell)
    found = [file for file in folder.rglob("*") if file.is_file()]
    pages = sum(file.suffix == ".html" for file in found)
    click.echo(f"wrote {folder}: {pages:,} pages, {sum(file.stat().st_size for file in found) / 1e6:.1f} MB")
    return Exit.AS_EXPECTED


def _tell(stage: str) -> None:
    """Say what is being made, where somebody watches."""
    if sys.stderr.isatty():
        click.echo(f"{stage} ...", err=True)
