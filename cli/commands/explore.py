"""`fencepost explore`: opens a protocol or a trace in the browser, to step through it."""

import webbrowser

from click import IntRange, argument, command, option
from fencepost.cli.status import Exit
from fencepost.cli.views.console import Display, print_text


@command()
@argument("what", required=False, metavar="[PROTOCOL | TRACE]")
@option(
    "--port", type=IntRange(0, 65535), default=0, metavar="PORT", help="The port to listen on. [default: any free port]"
)
@option("--no-browser", is_flag=True, help="Print the address without opening a browser.")
def explore(what: str | None, port: int, no_browser: bool) -> Exit:
    """Open PROTOCOL, an archived trace or a trace file in the browser, to examine its states and take steps.

    The page shows why an action is not enabled, and whether each property holds. The page is served only on this
    machine, until you press Ctrl-C. It makes no requests to other hosts. Pyodide is installed from npm on first use.

    Exit status: 0 after Ctrl-C, 2 for bad input or if Pyodide is not available.
    """
    from fencepost.api.calls.explore import explore as serve

    def ready(url: str) -> None:
        print_text(f"{url}\nPress Ctrl-C to stop.\n")
        if not no_browser:
            webbrowser.open(url)

    with Display(quiet=False) as display:
        serve(what, port=port, ready=ready, progress=display)
    return Exit.AS_EXPECTED
