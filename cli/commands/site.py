"""`fencepost site`: builds a static site of the documentation, the models and the catalogue."""

from click import command, echo, option
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.cli.commands.options import Count
from fencepost.cli.status import Exit


@command()
@option(
    "--output",
    required=True,
    metavar="DIR",
    help="Build the site in this folder, which must be new, be empty, or contain an older site.",
)
@option(
    "--docs", default="docs", show_default=True, metavar="DIR", help="Folder with the pages, such as docs in a clone."
)
@option("--workers", type=Count(1), default=2, show_default=True, help="Number of processes that draw traces.")
@option("--quiet", is_flag=True, help="Do not show progress.")
def site(output: str, docs: str, workers: int, quiet: bool) -> Exit:
    """Build a static site, which any file server can serve and which makes no requests to other hosts.

    The site contains every protocol with its actions and guards, every guarantee with its runs and traces, findings,
    settings, the documentation, and an explorer that runs the models in the browser.
    """
    from fencepost.site.build import build_site

    made = build_site(output, docs, workers=workers, tell=(lambda _: None) if quiet else _tell)
    took = show_seconds(made.seconds)
    echo(f"wrote {made.output}: {counted(made.pages, 'page')}, {made.size / 1e6:.1f} MB, in {took}")
    return Exit.AS_EXPECTED


def _tell(stage: str) -> None:
    echo(f"fencepost: {stage}", err=True)
