"""`fencepost explore`: any protocol or trace step by step, in the browser."""

import webbrowser

import click
from fencepost.cli.status import Exit
from fencepost.cli.views.console import Display, print_text


@click.command()
@click.argument("what", required=False, metavar="[PROTOCOL | TRACE]")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The port on this machine; any that is free if not given.",
)
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
def explore(what: str | None, port: int, no_browser: bool) -> Exit:
    """Open PROTOCOL, an archived trace or a trace file in the browser: see a state, take any step, go back.

    The page says of each action why it cannot happen, and of each property whether it holds. It is served on this
    machine alone, until Ctrl-C, and asks for nothing from elsewhere. Pyodide comes from npm the first time.

    Exit status: 0 it was ended by Ctrl-C, 2 bad input, or Pyodide cannot be had.
    """
    from fencepost.api.calls.explore import explore as serve

    def ready(url: str) -> None:
        print_text(f"{url}\nCtrl-C ends it.\n")
        if not no_browser:
            webbrowser.open(url)

    with Display(quiet=False) as display:
        serve(what, port=port, ready=ready, progress=display)
    return Exit.AS_EXPECTED
