"""An upper bound on the benefit of partial order reduction: `python -m benchmarks.partial_order`.

The plain semantics builds the complete graph of a small run of each protocol, which is then searched with persistent
sets. Persistent sets are found on the graph: a set is persistent in a state if every step outside it commutes with each
of its steps, in every state that the outside steps can reach. No analysis of the model's text can know more, so none
can reduce more, except by its choice of sets. `deadlocks` preserves only the states without a successor. `properties`
also expands all steps if a step in the set changes whether a property holds, or if all steps in the set lead to known
states. docs/decisions/0008-partial-order.md gives the results.
"""

import argparse
import time
from collections.abc import Hashable, Iterator
from operator import itemgetter
from typing import NamedTuple

from fencepost.explorers.search import values_of
from fencepost.invariants.catalogue import runs
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.invariants.run import Run
from fencepost.model.language.actions import Kind
from fencepost.model.language.interpreter import Interpreter

FEWEST, MOST = 300, 6_000
"""A protocol's largest run with this many states is measured, or else its smallest run with more."""

SMALLER = {"controller-failover": {"shrinks": 0}}
Label = Hashable


class Graph(NamedTuple):
    """All states by number, their successors by label, and the labels of steps that change whether a property holds."""

    initial: list[int]
    after: list[dict[Label, int]]
    visible: set[Label]


def graph_of(run: Run) -> Graph:
    found = protocol(run.protocol)
    plain = Interpreter(found.machine, found.machine.set_constants({**values_of(run), **SMALLER.get(run.protocol, {})}))
    names = {key: number for number, key in enumerate(plain.initial_states())}
    initial, keys, after = list(names.values()), list(names), []
    for key in keys:  # grows during the loop
        row: dict[Label, int] = {}
        for item in plain.transitions(key):
            if item.after not in names:
                names[item.after] = len(keys)
                keys.append(item.after)
            row[item.step.action.name, item.step.args] = names[item.after]
        after.append(row)
    asked = [item for item in found.select(run.properties) if not item.kind.over_behaviours]
    of_states, of_steps = ([item for item in asked if item.over_steps is steps] for steps in (False, True))
    truths = [tuple(plain.holds(item, key) for item in of_states) for key in keys]
    visible: set[Label] = set()
    for before, key in enumerate(keys):
        for item in plain.transitions(key) if of_steps or after[before].keys() - visible else ():
            decides = any(plain.holds_step(prop, key, item) is (prop.kind is Kind.SOMETIMES) for prop in of_steps)
            if decides or truths[before] != truths[names[item.after]]:
                visible.add((item.step.action.name, item.step.args))
    return Graph(initial, after, visible)


def commute(after: list[dict[Label, int]], state: int, one: Label, other: Label) -> bool:
    """Return whether two enabled steps commute: neither disables the other, and their order does not matter."""
    first, second = after[after[state][one]].get(other), after[after[state][other]].get(one)
    return first is not None and first == second


def dependent(after: list[dict[Label, int]], state: int, chosen: set[Label]) -> Label | None:
    """Return the first step of a path that avoids a set's steps and ends in a step that depends on one of them."""
    waiting: list[tuple[int, Label | None]] = [(state, None)]
    seen = {state}
    for at, first in waiting:  # grows
        for label, number in after[at].items():
            if label in chosen:
                continue
            if not all(commute(after, at, label, item) for item in chosen):
                return first or label
            if number not in seen:
                seen.add(number)
                waiting.append((number, first or label))
    return None


def persistent_sets(after: list[dict[Label, int]], state: int) -> Iterator[set[Label]]:
    """Yield a persistent set for each enabled step that no earlier set contains."""
    done: set[Label] = set()
    for seed in after[state]:
        if seed in done:
            continue
        chosen = {seed}
        while len(chosen) < len(after[state]) and (more := dependent(after, state, chosen)) is not None:
            chosen.add(more)
        done |= chosen
        yield chosen


def reduced(graph: Graph, *, properties: bool) -> int:
    seen, waiting = set(graph.initial), list(graph.initial)
    for state in waiting:  # grows during the loop during the loop
        row = graph.after[state]
        best = set(row)
        for chosen in persistent_sets(graph.after, state):
            hides = properties and (chosen & graph.visible or all(row[label] in seen for label in chosen))
            if len(chosen) < len(best) and not hides:
                best = chosen
        for label in row:
            if label in best and row[label] not in seen:
                seen.add(row[label])
                waiting.append(row[label])
    return len(seen)


def run_of(name: str) -> Run | None:
    pinned = sorted(((run.distinct, run) for run in runs() if run.protocol == name and run.distinct), key=itemgetter(0))
    fitting = [run for states, run in pinned if FEWEST <= states <= MOST][-1:]
    return next(iter(fitting or [run for states, run in pinned if states > MOST] or [run for _, run in pinned]), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*PROTOCOLS], help="protocols; all by default")
    print(f"{'states':>9} {'deadlocks':>10} {'properties':>11}  {'seconds':>7}  run")
    for name in parser.parse_args().names:
        found = run_of(name)
        if found is None:
            print(f"{name} has no run with a pinned number of states")
            continue
        began = time.perf_counter()
        graph = graph_of(found)
        least, kept = (reduced(graph, properties=properties) for properties in (False, True))
        states, seconds = len(graph.after), time.perf_counter() - began
        print(f"{states:9,} {states / least:10.2f} {states / kept:11.2f}  {seconds:7.0f}  {found.name}", flush=True)


if __name__ == "__main__":
    main()
