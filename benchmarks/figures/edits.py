"""Measure the maximum time that cached results could save after an edit of a model, and store it as a figure.

`python -m benchmarks.figures.edits`: an edit is a set of functions of the replication model and its properties, either
those that a commit of this repository changed or a random choice. The effect of an action is reusable if the edit does
not touch the action, a function that it calls, or `normalize`, which follows every step. Its share of the time to
expand states is measured under the plain semantics along random walks. Even a search that reads all reusable results
from disk at no cost would take the rest of the time, so no search can save more.
"""

import ast
import random
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

from fencepost.explorers.program.subset.places import Scope
from fencepost.explorers.program.subset.program import check
from fencepost.invariants.figures.store import save
from fencepost.invariants.protocols import protocol
from fencepost.kafka.driver.walks import walks
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.trees import module_of

ROOT = Path(__file__).parents[2]
FIGURE = "edits"
EDITS = 100
SEED = 1
WALKS = 12
DEPTH = 40
EXPANDING = 0.69
"""The share of a native search's time that goes to expanding states, with three brokers (docs/developing/speed.md)."""
PLACES = ("model/cluster", "invariants", "src/fencepost")


def calls(subject: Any) -> dict[str, set[str]]:
    program = check(subject.machine, subject.properties)
    direct: dict[str, set[str]] = {}
    for python, made in program.functions.items():
        scope = Scope(program, made)
        names = [
            node for part in made.node.body for node in ast.walk(part) if isinstance(node, ast.Name | ast.Attribute)
        ]
        items = [scope.global_of(node) for node in names]
        direct[python.__name__] = {python.__name__, *(i.__name__ for i in items if isinstance(i, FunctionType))}
    while True:
        more = {name: set().union(*(direct.get(other, {other}) for other in found)) for name, found in direct.items()}
        if more == direct:
            return direct
        direct = more


def costs(machine: Any) -> dict[str, float]:
    """Return, for each action, the time in seconds to expand the states of some walks."""
    plain = Interpreter(machine, machine.set_constants(dict(machine.version("kafka-4.1").values)))
    found: dict[str, float] = defaultdict(float)
    for history in walks(plain, WALKS, DEPTH, SEED):
        for transition in history:
            for item in machine.actions:
                began = time.perf_counter()
                list(plain.attempts(item, transition.after))
                found[item.function.__name__] += time.perf_counter() - began
    return found


def of_history(known: set[str]) -> Iterator[set[str]]:
    for commit in _git("log", "--format=%H", "--", *PLACES).split():
        changed: set[str] = set()
        for name in _git("diff-tree", "-r", "--name-only", "--no-commit-id", "--diff-filter=M", commit).split():
            if name.startswith(PLACES) and name.endswith(".py"):
                before, after = (_functions(_git("show", f"{at}:{name}")) for at in (f"{commit}^", commit))
                changed |= {one for one in before.keys() & after.keys() & known if before[one] != after[one]}
        if changed:
            yield changed


def _functions(text: str) -> dict[str, str]:
    try:
        found = [item for item in module_of(text).body if isinstance(item, ast.FunctionDef)]
    except SyntaxError:
        return {}
    return {
        item.name: "\n".join(
            ast.unparse(part) for part in (item.args, *item.body[ast.get_docstring(item) is not None :])
        )
        for item in found
    }


def _git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main() -> None:
    subject = protocol("replication")
    reached, cost = calls(subject), costs(subject.machine)
    whole, every = sum(cost.values()), set(reached)
    assert subject.machine.normalize is not None
    always = reached[subject.machine.normalize.__name__]
    edits = [*of_history(every)][:EDITS]
    historic, draw = len(edits), random.Random(SEED)  # noqa: S311 (no secret)
    edits += [{draw.choice(sorted(every))} for _ in range(EDITS - historic)]
    rows = []
    for edited in edits:
        touched = [name for name in cost if edited & always or edited & reached[name]]
        rows.append((len(touched), sum(cost[name] for name in touched) / whole))
    left = [row for row in rows if row[0]]
    median = statistics.median(part for _, part in rows)
    found = {
        "edits": EDITS,
        "of_history": historic,
        "actions": len(cost),
        "touch_none": EDITS - len(left),
        "touch_all": sum(number == len(cost) for number, _ in rows),
        "median_actions": statistics.median(number for number, _ in rows),
        "median_part": round(median, 3),
        "search_at_most": round(1 / (1 - EXPANDING + EXPANDING * median), 2),
        "median_part_of_history": round(statistics.median(part for _, part in rows[:historic]), 3),
        "median_part_if_some": round(statistics.median(part for _, part in left), 3),
        "parts": sorted(round(part, 3) for _, part in rows),
    }
    save(FIGURE, found)
    print(found)


if __name__ == "__main__":
    main()
