"""Traces of small machines, and the messages of refused ones."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE, Trace, trace_of
from fencepost.explorers.plain import search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language import interpreter
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step

from tests.machines import lamps, mailbox, rooms

KIP101 = (ARCHIVE / "kip101-weak-isr.trace").read_text()
LAMPS = Protocol(lamps.MACHINE, lamps.PROPERTIES)
KNOWN = {
    "lamps": LAMPS,
    "mailbox": Protocol(mailbox.MACHINE, mailbox.PROPERTIES),
    "rooms": Protocol(rooms.MACHINE, rooms.PROPERTIES),
}


def lookup(name: str) -> Protocol:
    return KNOWN[name] if name in KNOWN else protocol(name)


def lamps_trace(prop: Any = lamps.some_lamp_is_dark, *actions: tuple[int, int], **changed: Any) -> Trace:
    """Return a trace of (lamps, noise) steps; all lamps are lit at once without steps."""
    steps = tuple(Step(lamps.switch_to, arguments) for arguments in (actions or ((0b111, 0),)))
    made = Trace("All lit", LAMPS, lamps.C(), prop, steps, initial=(1, 1), source="a switch", why="All were lit.")
    return replace(made, **changed)


def mailbox_trace(prop: str | None, *, normalize: bool = True, version: str = "", **values: int) -> Trace:
    constants = mailbox.MACHINE.set_constants(values)
    chosen = tuple(item for item in mailbox.PROPERTIES if item.name == prop)
    options = Options(normalize=normalize, stop_on_violation=prop is not None, deadlock=prop is None)
    result = search(mailbox.MACHINE, constants, chosen, options)
    return trace_of(result, prop, normalize=normalize, version=version, lookup=lookup)


def rooms_trace(prop: Any) -> Trace:
    result = search(rooms.MACHINE, rooms.C(), (prop,), Options())
    return trace_of(result, prop.name, lookup=lookup)


def path_of(plain: Interpreter, *wanted: str) -> interpreter.Path:
    """Return a history from the first initial state: the first step of each action, or the step that is written."""
    states, steps = plain.initial_states()[:1], []
    for name in wanted:
        taken = next(it for it in plain.transitions(states[-1]) if name in (it.step.action.label, plain.show(it.step)))
        steps.append(taken.step)
        states.append(taken.after)
    return interpreter.Path(states[0], tuple(steps), tuple(states))


def message(file: Path, text: str, take: Callable[..., object] = replay) -> str:
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        take(file, lookup)
    return str(caught.value)
