"""`fencepost explore`: any protocol or trace step by step, in the browser."""

import webbrowser

from click import IntRange, argument, command, option
from fencepost.cli.status import Exit
from fencepost.cli.views.console import Display, print_text


@command()
@argument("what", required=False, metavar="[PROTOCOL | TRACE]")
@option(
    "--port",
    type=IntRange(0, 65535),
    default=0,
    metavar="PORT",
    help="The port on this machine; any free one if not given.",
)
@option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
def explore(what: str | None, port: int, no_browser: bool) -> Exit:
    """Open PROTOCOL, an archived trace or a trace file in the browser: see a state, take any step, go back.

    The page shows why an action cannot happen, and whether each property holds. It is served on this machine only,
    until Ctrl-C, and requests nothing from elsewhere. Pyodide is installed from npm the first time.

    Exit status: 0 ended by Ctrl-C, 2 bad input, or Pyodide is not available.
    """
    from fencepost.api.calls.explore import explore as serve

    def ready(url: str) -> None:
        print_text(f"{url}\nCtrl-C ends it.\n")
        if not no_browser:
            webbrowser.open(url)

    with Display(quiet=False) as display:
        serve(what, port=port, ready=ready, progress=display)
    return Exit.AS_EXPECTED
