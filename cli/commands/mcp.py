"""`fencepost mcp`: tools for agents over the standard streams."""

from fencepost.cli.commands.options import command
from fencepost.cli.status import Exit


@command()
def mcp() -> Exit:
    """Serve check, explain, why_not, compare, advise and audit as tools for agents (Model Context Protocol, stdio).

    Name `fencepost mcp` as a server in the settings of your client. Answers are short and name their evidence, and
    searches end after some seconds. It needs `pip install "fencepost[mcp]"`.

    \b
    Exit status: 0 the client closed the streams, 2 the library mcp is not installed.
    """
    from fencepost.api.calls.agents import mcp as serve

    serve()
    return Exit.AS_EXPECTED
