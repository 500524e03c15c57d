"""Source positions: the lines of actions and properties, and the catalogue entries that state a property."""

import inspect
import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.counterexamples.trace import Trace
from fencepost.invariants.catalogue import Entry, Run, entries, evidence
from fencepost.invariants.protocols import protocol
from fencepost.model.language.actions import Property
from fencepost.model.language.own_names import path_shown
from fencepost.model.language.trees import source_lines

SHOWN = 3
PROMISES = ("always", "step", "leads-to", "bound")


class Place(NamedTuple):
    file: Path
    line: int

    @property
    def shown(self) -> str:
        name = path_shown(str(self.file))
        return f"{'/'.join(self.file.parts[-SHOWN:]) if Path(name).is_absolute() else name}:{self.line}"


@lru_cache(1024)
def place_of(function: Callable[..., Any]) -> Place:
    """Return where a function is defined: the line of its `def` (below the decorators) or of its lambda."""
    lines, first = source_lines(function)
    offset = next((number for number, line in enumerate(lines) if line.lstrip().startswith("def ")), 0)
    return Place(Path(function.__code__.co_filename), first + offset)


def promises(prop: Property) -> tuple[Entry, ...]:
    """Return the guarantees that a property states or, if it states none, those that its runs decide."""
    known = entries()
    said = re.findall(r"[A-Za-z0-9-]+", (prop.text or inspect.getdoc(prop.function) or "").partition(":")[0])
    named = tuple(known[word] for word in said if word in known)
    return named or tuple(
        known[entry] for judged, entry in _judged() if judged is prop and known[entry].kind in PROMISES
    )


@cache
def _judged() -> tuple[tuple[Property, str], ...]:
    found = {}
    for item in evidence().values():
        for case in item.cases:
            prop = protocol(case.run.protocol).select((case.prop,))[0]
            found[id(prop), item.entry] = prop, item.entry
    return tuple(found.values())


def suspects(trace: Trace) -> tuple[Entry, ...]:
    if trace.prop is None:
        return ()
    found = []
    for item in evidence().values():
        entry = entries()[item.entry]
        shown = [
            case.run
            for case in item.cases
            if entry.kind in ("bug", "hypothesis")
            and (case.run.protocol, case.prop, case.expect) == (trace.protocol.name, trace.prop.name, "violated")
        ]
        if shown and (_is_set(trace, entry) or any(_is_run(trace, run) for run in shown)):
            found.append(entry)
    return tuple(found)


def settings_of(trace: Trace, entry: Entry) -> dict[str, str]:
    words = entry.switch.replace(";", ",").split(",")
    pairs = ((name.strip(), value.strip()) for name, _, value in (word.partition("=") for word in words))
    return {name: value for name, value in pairs if name in trace.constants.declared()}


def _is_set(trace: Trace, entry: Entry) -> bool:
    declared, values = trace.constants.declared(), trace.constants.values
    for alternative in entry.switch.split(";"):
        pairs = [word.partition("=") for word in alternative.split(",") if word.strip()]
        known = [(name.strip(), value.strip()) for name, _, value in pairs if name.strip() in declared]
        if (
            known
            and len(known) == len(pairs)
            and all(int(declared[name].parse(text)) == values[name] for name, text in known)
        ):
            return True
    return False


def _is_run(trace: Trace, run: Run) -> bool:
    machine = trace.protocol.machine
    base = machine.version(run.version).values if run.version else {}
    return machine.set_constants({**base, **run.constants}) == trace.constants
