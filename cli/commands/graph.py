"""`fencepost graph`: writes the complete state graph of a small machine."""

from pathlib import Path
from typing import Any

from click import argument, command, option
from fencepost.api.calls.graph import MOST
from fencepost.api.calls.graph import graph as graph_of
from fencepost.api.files import write_text
from fencepost.cli.commands.options import Count, Target, Writable, constants_options, normalize_option
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_text
from fencepost.model.language.errors import require_known

FORMATS = ("dot", "graphml")


@command()
@argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@option(
    "--property",
    "prop",
    metavar="NAME",
    help="Mark the states that violate this property, or that satisfy its conditions.",
)
@option(
    "--format", "form", default=FORMATS[0], show_default=True, metavar="NAME", help=f"One of: {', '.join(FORMATS)}."
)
@option("--max-states", type=Count(1), default=MOST, show_default=True, help="Refuse graphs with more states.")
@normalize_option
@option("--output", type=Writable(), help="Write to this file instead of stdout.")
def graph(prop: str | None, form: str, max_states: int, output: Path | None, **given: Any) -> Exit:
    """Write every reachable state of PROTOCOL and every step between them.

    A state is labelled with the fields that differ between states, and a step is labelled with its action. Initial
    states have the attribute `initial`. With --property, states have the attribute `mark`, which is `violated` for a
    property of states, and `when` or `then` for a property of behaviours.

    Exit status: 0 if the graph was written, 2 for bad input or more states than --max-states.
    """
    require_known((form,), FORMATS, "there is no format", "The formats are")
    question = Target.from_options(given).question((prop,) if prop else ())
    made = graph_of(question, prop=prop or "", max_states=max_states, normalize=given["normalize"])
    text = made.to_dot() if form == "dot" else made.to_graphml()
    if output:
        write_text(output, text)
    else:
        print_text(text)
    return Exit.AS_EXPECTED
