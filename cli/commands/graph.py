"""`fencepost graph`: the whole graph of states of a small machine, for Graphviz, yEd, Gephi or a program of one's own."""

from __future__ import annotations

from collections import deque
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.api.files import make_sure_writable, write_text
from fencepost.cli.commands.request import Request
from fencepost.cli.status import Exit
from fencepost.cli.views.console import print_text
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx
    from fencepost.api.engines import Question
    from fencepost.model.language import Property
    from fencepost.model.language.records import Key

FORMATS = ("dot", "graphml")
MOST = 1000


@click.command(short_help="Write the graph of states of a small machine.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant.")
@click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release.")
@click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on.")
@click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off.")
@click.option("--property", "prop", metavar="NAME", help="Mark the states that violate it, or where it begins and ends.")
@click.option("--format", "form", default=FORMATS[0], show_default=True, metavar="NAME", help=f"One of: {', '.join(FORMATS)}.")
@click.option(
    "--max-states", type=click.IntRange(1), default=MOST, show_default=True, metavar="N", help="Refuse a larger graph."
)
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--output", metavar="FILE", help="Write there, not to stdout.")
def graph(prop: str | None, form: str, max_states: int, output: str | None, **given: Any) -> Exit:
    """Write every reachable state of PROTOCOL and every step between them.

    A state is labelled with the fields that are not the same in all states, a step with its action. Initial states have
    the attribute `initial`. With --property a state has the attribute `mark`: `violated`, or of a property of whole
    behaviours `when` and `then`.

    \b
    Exit status: 0 it was written, 2 bad input, or there are more states than --max-states.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    if form not in FORMATS:
        raise UsageError(f"there is no format {form!r}.{nearest(form, list(FORMATS))} Formats are: {', '.join(FORMATS)}.")
    request = Request(protocols=(given.pop("protocol"),), properties=(prop,) if prop else (), **given)
    ((_, question),) = request.questions()
    if output:
        make_sure_writable(Path(output))
    made = graph_of(question, max_states, normalize=given["normalize"], marked=bool(prop))
    text = dot(made) if form == "dot" else graphml(made)
    if output:
        write_text(Path(output), text)
    else:
        print_text(text)
    return Exit.AS_EXPECTED


def graph_of(question: Question, most: int, *, normalize: bool = True, marked: bool = False) -> nx.MultiDiGraph[int]:
    """Return the graph of states, numbered in breadth-first order; raise UsageError if there are more than `most`."""
    import networkx as nx

    plain = Interpreter(question.machine, question.constants, normalize=normalize)
    numbers = {key: number for number, key in enumerate(plain.initial_states())}
    initial = len(numbers)
    waiting = deque(numbers)
    steps = []
    while waiting:
        before = waiting.popleft()
        for item in plain.transitions(before):
            if item.after not in numbers:
                if len(numbers) == most:
                    raise UsageError(
                        f"protocol {question.name!r} has more than {most:,} states under these constants, too many to look at: set smaller "
                        "constants, or write a larger --max-states."
                    )
                numbers[item.after] = len(numbers)
                waiting.append(item.after)
            steps.append((numbers[before], numbers[item.after], plain.show(item.step)))
    made: nx.MultiDiGraph[int] = nx.MultiDiGraph(name=question.name)
    for (key, number), text in zip(numbers.items(), _labels(question, list(numbers)), strict=True):
        made.add_node(number, label=text, initial=number < initial)
        if marked:
            made.nodes[number]["mark"] = " ".join(_marks(plain, question.properties[0], key))
    for before_number, after_number, action in steps:
        made.add_edge(before_number, after_number, label=action)
    return made


def _labels(question: Question, keys: list[Key]) -> Iterator[str]:
    """Yield for each state the fields that are not the same in all of them, one a line."""
    from fencepost.counterexamples.states import parts

    record = question.machine.state
    states = [
        {
            f"{part.label}.{cell.name}" if part.label else cell.name: cell.text
            if cell.messages is None
            else " ".join(cell.messages)
            for part in parts(record, key)
            for cell in part.cells
        }
        for key in keys
    ]
    told = [name for name in states[0] if len({state[name] for state in states}) > 1]
    for state in states:
        yield "\n".join(f"{name}={state[name]}" for name in told)


def _marks(plain: Interpreter, prop: Property, key: Key) -> Iterator[str]:
    if prop.over_steps:
        if any(not plain.holds_step(prop, key, item) for item in plain.transitions(key)) and prop.kind == "step":
            yield "violated"
    elif prop.eventual is None:
        if plain.holds(prop, key) is (prop.kind == "sometimes"):
            yield "reached" if prop.kind == "sometimes" else "violated"
    else:
        for word, predicate in (("when", prop.eventual.when), ("then", prop.eventual.then)):
            if any(plain.says(prop, predicate, key, args) for args in plain.arguments(prop)):
                yield word


def dot(made: nx.MultiDiGraph[int]) -> str:
    """Return the graph in the language of Graphviz."""
    lines = [f"digraph {_quoted(made.name)} {{", "  node [shape=box fontname=monospace];"]
    for number, about in made.nodes(data=True):
        label = "\n".join(filter(None, (str(number), about["label"], about.get("mark", ""))))
        extra = " penwidth=3" if about["initial"] else ""
        extra += " style=filled fillcolor=lightgrey" if about.get("mark") else ""
        lines.append(f"  {number} [label={_quoted(label)}{extra}];")
    lines += [f"  {before} -> {after} [label={_quoted(about['label'])}];" for before, after, about in made.edges(data=True)]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def graphml(made: nx.MultiDiGraph[int]) -> str:
    """Return the graph as GraphML."""
    import networkx as nx

    file = BytesIO()
    nx.write_graphml(made, file)
    return file.getvalue().decode() + "\n"
