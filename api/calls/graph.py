"""The complete state graph of a small machine, for networkx, Graphviz, yEd, Gephi or a program."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.counterexample import fields_of
from fencepost.api.asking.arguments import call
from fencepost.api.asking.targets import Question, ask
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

if TYPE_CHECKING:
    import networkx as nx

MOST = 1000
"""Default limit on the states of a graph."""


@dataclass(frozen=True)
class StateGraph:
    """Every reachable state of a small machine and every step between them, as a networkx graph."""

    graph: nx.MultiDiGraph[int]

    def __repr__(self) -> str:
        return f"StateGraph({self.graph.name}: {len(self.graph)} states, {self.graph.number_of_edges()} steps)"

    def to_dot(self) -> str:
        """Return the graph in Graphviz's DOT language."""
        lines = [f"digraph {_quoted(self.graph.name)} {{", "  node [shape=box fontname=monospace];"]
        for number, about in self.graph.nodes(data=True):
            label = "\n".join(filter(None, (str(number), about["label"], about.get("mark", ""))))
            extra = " penwidth=3" if about["initial"] else ""
            extra += " style=filled fillcolor=lightgrey" if about.get("mark") else ""
            lines.append(f"  {number} [label={_quoted(label)}{extra}];")
        for before, after, about in self.graph.edges(data=True):
            lines.append(f"  {before} -> {after} [label={_quoted(about['label'])}];")
        return "\n".join([*lines, "}", ""])

    def to_graphml(self) -> str:
        import networkx as nx

        file = BytesIO()
        nx.write_graphml(self.graph, file)
        return file.getvalue().decode() + "\n"


@call
def graph(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    prop: str = "",
    max_states: int = MOST,
    normalize: bool = True,
    **more: Any,
) -> StateGraph:
    """Return every reachable state and every step between them; raise UsageError above `max_states` states.

    States are numbered in breadth-first order. A state's `label` shows the fields that differ between states, and a
    step's label shows its action. If `prop` is a property of states, the states that violate it are marked. If it is a
    property of behaviours, the states that satisfy its conditions are marked.
    """
    named = (prop,) if prop else ()
    if not isinstance(what, Question):
        what = ask(what, properties, constants=constants, version=version, only=named, more=more)
    return StateGraph(_graph_of(what, max_states, normalize=normalize, marked=bool(prop)))


def _graph_of(question: Question, most: int, *, normalize: bool, marked: bool) -> nx.MultiDiGraph[int]:
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
        f"protocol {question.name!r} has more than {most:,} states under these constants, too many for a graph: set "
        "smaller constants, or a larger `max_states=`."
    )


def _labels(question: Question, keys: list[Key]) -> Iterator[str]:
    states = [fields_of(question.protocol.machine.state, key) for key in keys]
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


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\l") + '"'
