"""What needs no compiled package, on the Python that Pyodide has: every module of model/ and invariants/, small runs,
mistakes.

`tox -e pyodide` runs it. A Python that is too new for the wheels of llvmlite is tried so before they come.
"""

import importlib
import platform
import sys
from pathlib import Path

ROOT = Path(importlib.import_module("fencepost.model").__path__[0]).parent
MOST = 300
"""States of the runs that are searched."""


def import_all() -> int:
    """Import each module that needs the standard library alone; return how many these are."""
    names = [
        ".".join(("fencepost", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for folder in ("model", "invariants")
        for file in sorted((ROOT / folder).rglob("*.py"))
    ]
    for name in names:
        importlib.import_module(name)
    return len(names)


def search_small() -> int:
    """Search small runs of the catalogue by the plain semantics; each must find what is pinned. Return how many these
    are."""
    from fencepost.invariants.catalogue import runs, values_of
    from fencepost.invariants.protocols import protocol
    from fencepost.model.language.interpreter import Interpreter

    small = [run for run in runs() if run.distinct and run.distinct <= MOST]
    for run in small:
        machine = protocol(run.protocol).machine
        plain = Interpreter(machine, machine.set_constants(values_of(run)))
        level = list(dict.fromkeys(plain.initial_states()))
        known, depth = set(level), 0
        while level:
            depth += 1
            level = list(
                dict.fromkeys(
                    item.after for state in level for item in plain.transitions(state) if item.after not in known
                )
            )
            known |= set(level)
        assert (len(known), depth) == (run.distinct, run.depth), run.name
    return len(small)


def answer_mistakes() -> int:
    """Make every mistake of tests/mistakes/; each must have its answer. Return how many these are."""
    from tests import mistakes

    every = mistakes.every()
    wrong = [(item.title, found) for item in every if (found := mistakes.answer(item)) != item.answer]
    assert not wrong, "\n\n".join(f"{title}\n{found}" for title, found in wrong)
    return len(every)


def name_guards() -> int:
    """Take every step of the first model in every state; where one is refused, its guard must be known. Return how
    many were."""
    from fencepost.api.calls import first_model as first
    from fencepost.explorers.program.subset.program import check, guards_of
    from fencepost.model.language.errors import DisabledError
    from fencepost.model.language.interpreter import Interpreter

    plain, guards = Interpreter(first.MACHINE, first.MACHINE.set_constants({})), guards_of(check(first.MACHINE))
    states, unknown, refused = plain.initial_states(), [], 0
    for state in states:
        states += [item.after for item in plain.transitions(state) if item.after not in states]
        for action in first.MACHINE.actions:
            for step in plain.steps(action, state):
                try:
                    plain.apply(state, step)
                except DisabledError as error:
                    unknown += [plain.show(step)] if guards.refused(action, error) < 0 else []
                    refused += 1
    assert not unknown
    return refused


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.path.append("/site")
    _say(f"Python {platform.python_version()} on {sys.platform}")
    _say(f"{import_all()} modules import")
    _say(f"{search_small()} runs find what is pinned")
    _say(f"{name_guards()} refused steps name their guard")
    _say(f"{answer_mistakes()} mistakes have their answers")
