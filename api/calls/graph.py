"""The whole graph of states of a small machine, for networkx, Graphviz, yEd, Gephi or a program of one's own."""

from __future__ import annotations

from collections import deque
from io import BytesIO
from typing import TYPE_CHECKING

from fencepost.api.asking.places import errors_of_models
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    import networkx as nx
    from fencepost.api.asking.targets import Question
    from fencepost.model.language import Property
    from fencepost.model.language.records import Key

MOST = 1000


@errors_of_models()
def graph_of(question: Question, most: int, *, normalize: bool = True, marked: bool = False) -> nx.MultiDiGraph[int]:
    """Return the graph of states, numbered in breadth-first order; raise UsageError if there are more than `most`."""
    import networkx as nx

    plain = Interpreter(question.protocol.machine, question.constants, normalize=normalize)
    numbers = {key: number for number, key in enumerate(plain.initial_states())}
    initial = len(numbers)
    if initial > most:
        raise _too_many(question, most)
    waiting = deque(numbers)
    steps = []
    while waiting:
        before = waiting.popleft()
        for item in plain.transitions(before):
            if item.after not in numbers:
                if len(numbers) == most:
                    raise _too_many(question, most)
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


def _too_many(question: Question, most: int) -> UsageError:
    return UsageError(
        f"protocol {question.name!r} has more than {most:,} states under these constants, too many for a graph: set smaller "
        "constants, or write a larger --max-states."
    )


def _labels(question: Question, keys: list[Key]) -> Iterator[str]:
    """Yield for each state the fields that are not the same in all of them, one a line."""
    from fencepost.counterexamples.states import parts

    record = question.protocol.machine.state
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
    varying = [name for name in states[0] if len({state[name] for state in states}) > 1]
    for state in states:
        yield "\n".join(f"{name}={state[name]}" for name in varying)


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
    lines += [
        f"  {before} -> {after} [label={_quoted(about['label'])}];" for before, after, about in made.edges(data=True)
    ]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'


def graphml(made: nx.MultiDiGraph[int]) -> str:
    """Return the graph as GraphML."""
    import networkx as nx

    file = BytesIO()
    nx.write_graphml(made, file)
    return file.getvalue().decode() + "\n"
