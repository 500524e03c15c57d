"""`fencepost mcp`: serves tools to agents over stdio."""

from fencepost.cli.commands.options import command
from fencepost.cli.status import Exit


@command()
def mcp() -> Exit:
    """Serve check, explain, why_not, compare, advise and audit as tools for agents (Model Context Protocol, stdio).

    In the settings of your client, add `fencepost mcp` as a server. Answers are short and cite their evidence; each
    search ends after a few seconds. The command needs `pip install "fencepost[mcp]"`.

    Exit status: 0 if the client closed the streams, 2 if the mcp library is not installed.
    """
    from fencepost.api.calls.agents import mcp as serve

    serve()
    return Exit.AS_EXPECTED
