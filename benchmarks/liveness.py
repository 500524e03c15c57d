"""Time and memory for leads-to and at-most properties on large graphs: `python -m benchmarks.liveness [EDGES]`.

The graph is hard for strong fairness: it consists of 4 blocks, each of which consists of 4 smaller blocks, and so on.
Each round of the search for components removes one state from each block of a level, which splits it into the blocks of
the level below. `--machine` builds and checks the graph of a real machine.
"""

import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from fencepost.explorers.liveness.behaviours import THEN, WHEN, Analysis, FairAnswer, Rows, Terms
from fencepost.explorers.liveness.calls import graph_kernels
from fencepost.explorers.liveness.engine import Engine
from fencepost.explorers.liveness.generated import compiled
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options
from fencepost.model.language import at_most, bits, leads_to, weak
from fencepost.model.lineage import kip320
from fencepost.model.lineage.base import C, State

EDGES = 50_000_000
DEGREE = 5
BRANCH = 4
NEAR = 16
"""Forward steps stay within groups of this many consecutive states."""

Array = np.ndarray[Any, Any]


def drawn(edges: int, seed: int = 1) -> tuple[Rows, int]:
    """Return a graph of nested blocks, and its number of levels. The last state is the goal.

    Class 0 contains the forward steps. Class k contains the exits from the last states of blocks of level k. An exit
    leads to the next of the four blocks, which form a ring; the exits of the highest level lead to the goal.
    """
    levels = round(np.log(edges / DEGREE) / np.log(BRANCH))
    states = BRANCH**levels
    random = np.random.default_rng(seed)
    numbers = np.arange(states, dtype=np.int64)
    degree = -(-edges // states)
    left = NEAR - 1 - numbers % NEAR
    sources, targets, classes = [], [], []
    for _ in range(degree):
        forward = numbers[left > 0]
        sources.append(forward)
        targets.append(forward + 1 + random.integers(0, 1 << 40, len(forward)) % left[forward])
        classes.append(np.zeros(len(forward), np.int32))
    chain = numbers[left > 0]
    sources, targets = [*sources[1:], chain], [*targets[1:], chain + 1]
    for level in range(1, levels + 1):
        size = BRANCH**level
        ends = numbers[size - 1 :: size]
        around = size * BRANCH
        following = (ends + 1) % around + ends // around * around if level < levels else np.full(len(ends), states)
        sources.append(ends)
        targets.append(following)
        classes.append(np.full(len(ends), level, np.int32))
    origin = np.concatenate(sources)
    order = np.argsort(origin, kind="stable")
    offsets = np.searchsorted(origin[order], np.arange(states + 2))
    return Rows(offsets, np.concatenate(targets)[order].astype(np.int32), np.concatenate(classes)[order]), levels


def terms(levels: int, *, strong: bool, costs: tuple[int, int, int] | None = None) -> Terms:
    """Return a constraint for each class, and the costs of forward steps, inner exits and the highest level's exits."""
    masks = np.uint64(1) << np.arange(levels + 1, dtype=np.uint64).reshape(-1, 1)
    every = np.bitwise_or.reduce(masks[1:]) if strong else np.zeros(1, np.uint64)
    paid = None if costs is None else np.array([costs[0], *[costs[1]] * (levels - 1), costs[2]], np.int64)
    return Terms(masks, every, np.ones(levels + 1, np.bool_), paid)


def timed(what: str, run: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    found = run()
    seconds, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{what:44} {seconds:7.1f} s  peak {peak:5.2f} GiB")
    return found


def questions(levels: int) -> tuple[tuple[str, Terms], ...]:
    return (
        ("leads-to, strong promises: holds", terms(levels, strong=True)),
        ("leads-to, weak fairness: a lasso", terms(levels, strong=False)),
        ("at-most, only the last exit has a cost: bounded", terms(levels, strong=True, costs=(0, 0, 7))),
        ("at-most, every exit has a cost: unbounded", terms(levels, strong=True, costs=(0, 1, 7))),
    )


def answer_to(rows: Rows, asked: Terms, pause: Callable[[], None] = lambda: None) -> FairAnswer:
    """Return the answer for paths from a drawn graph's first state to its last; for `pause`, see `Analysis`."""
    marks = np.zeros(rows.states, np.uint8)
    marks[0], marks[-1] = WHEN, THEN
    return Analysis(rows, asked, marks, np.array([0]), lambda _: np.zeros(rows.states, np.int32), pause).run()


def main(edges: int) -> None:
    graph_kernels()
    rows, levels = timed("drawing the graph", lambda: drawn(edges))
    print(f"{'':4}{rows.states:,} states, {len(rows.targets):,} edges, {levels} levels")
    for what, asked in questions(levels):
        answer = timed(what, lambda asked=asked: answer_to(rows, asked))  # type: ignore[misc]
        print(
            f"{'':4}{answer.reach}, worst {answer.worst}, best {answer.best}, {len(answer.stem)} and "
            f"{len(answer.loop)} steps"
        )


def alone(s: State, c: C) -> bool:  # noqa: ARG001 (every predicate takes the constants)
    """The ISR has one member."""
    return bits.size(s.quorum.isr) == 1


def together(s: State, c: C) -> bool:  # noqa: ARG001 (every predicate takes the constants)
    """The ISR has more members."""
    return bits.size(s.quorum.isr) > 1


def of_machine() -> None:
    machine = kip320.MACHINE
    constants = machine.set_constants({"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2})
    every = weak(*machine.actions)
    about = {"when": alone, "then": together, "fair": (every,)}
    asked = (
        leads_to("grows", "The ISR grows again.", **about),
        at_most("writes", "Writes until then.", costs={machine.action("leader-write"): 1}, unit="writes", **about),
    )
    compiled(machine, constants, asked, normalize=True)
    search = Search(machine, constants, (), Options(workers=1))
    result = timed(f"searching {machine.name}", search.run)
    engine = Engine(search, asked, time.perf_counter())
    timed("building the graph", engine.prepare)
    print(
        f"{'':4}{engine.rows.states:,} states, {len(engine.rows.targets):,} edges, {len(engine.graph.codes):,} classes"
    )
    assert len(engine.rows.targets) == result.generated - search.position.initial
    for place, prop in enumerate(asked):
        name = f"{prop.kind} {prop.name}"
        found = timed(name, lambda place=place, prop=prop: engine.one(place, prop))  # type: ignore[misc]
        print(f"{'':4}{found.verdict} {found.cost.text if found.cost else ''}")


if __name__ == "__main__":
    if "--machine" in sys.argv:
        of_machine()
    else:
        main(int(sys.argv[1].replace("_", "")) if len(sys.argv) > 1 else EDGES)
