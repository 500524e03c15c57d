"""The explorer, a page in a local browser for taking steps of a protocol or a trace."""

import webbrowser
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.counterexamples.browser.serving import HOST, address, prepared, server


def explore(
    what: str | Path | None = None,
    *,
    port: int = 0,
    ready: Callable[[str], object] = webbrowser.open,
    progress: Watch | Callable[[Event], None] | None = None,
) -> None:
    """Serve the explorer for a protocol, an archived trace or a trace file, until Ctrl-C.

    `ready` is called with the address when the server is ready; by default, it opens the browser. `port` 0 selects any
    free port. Raises UsageError if a name does not exist or the port is in use.
    """
    wanted = address(str(what) if what is not None else None)
    with ExitStack() as held:
        with watched(progress).busy("preparing the page ..."):
            folder = held.enter_context(prepared())
        made = held.enter_context(server(folder, port))
        ready(f"http://{HOST}:{made.server_port}/{wanted}")
        with suppress(KeyboardInterrupt):
            made.serve_forever()
