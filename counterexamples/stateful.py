"""Hypothesis in a test suite of one's own: a machine is tested in one line, and what fails becomes a short trace."""

from __future__ import annotations

from pathlib import Path as File
from typing import TYPE_CHECKING

from fencepost.counterexamples.replay import write
from fencepost.counterexamples.shrink import shrink
from fencepost.counterexamples.trace import trace_of_path
from fencepost.explorers.stateful import DEVELOPMENT, profile, try_schedules
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.counterexamples.shrink import Limits, Shrunk
    from fencepost.explorers.stateful import Profile, Tried
    from fencepost.model.language.actions import Property
    from fencepost.model.language.machine import Machine


def explore(
    protocol: Protocol,
    constants: Mapping[str, int],
    properties: tuple[str, ...] = (),
    *,
    chosen: Profile = DEVELOPMENT,
    limits: Limits | None = None,
) -> tuple[Tried, Shrunk | None]:
    """Let Hypothesis choose schedules of a protocol; return what it did, and the shortened trace of what it found.

    Without names, all properties are judged but those of whole behaviours, since a schedule has an end. Raises
    UsageError for constants or properties that do not exist, and where Hypothesis is not installed.
    """
    machine = protocol.machine
    values = machine.set_constants(constants)
    judged = tuple(item for item in protocol.select(properties) if properties or not item.kind.over_behaviours)
    tried = try_schedules(Walker(machine, values, judged), chosen)
    if tried.failure is None:
        return tried, None
    why = tried.failure.prop.sentence
    trace = trace_of_path(protocol, values, tried.failure.prop.name, tried.failure.path, source=machine.source, why=why)
    return tried, shrink(trace, limits)


def machine_test(
    machine: Machine,
    properties: tuple[Property, ...],
    *,
    version: str = "",
    use: str | Profile = DEVELOPMENT,
    folder: str | File = ".",
    **constants: int,
) -> Callable[[], None]:
    """Return a test, for pytest or to be called: Hypothesis chooses schedules, and no property may be violated.

    `use` is a profile or the name of one. A failure's trace is written to `folder`, which is made if need be, as
    machine-property.trace, and its steps are in the message.
    """

    def test() -> None:
        base = machine.version(version).values if version else {}
        found = Protocol(machine, properties)
        tried, shrunk = explore(found, {**base, **constants}, chosen=profile(use) if isinstance(use, str) else use)
        if tried.failure is None or shrunk is None:
            return
        file = File(folder) / f"{machine.name}-{tried.failure.prop.name}.trace"
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, shrunk.trace)
        plain = shrunk.trace.interpreter()
        steps = "\n".join(f"  {number} {plain.show(step)}" for number, step in enumerate(shrunk.trace.steps, 1))
        raise AssertionError(f"{shrunk.trace.finding} after these steps, which are in {file}:\n{steps}\n{shrunk.reach}")

    test.__name__ = f"test_{machine.name.replace('-', '_')}"
    test.__doc__ = f"{machine.sentence}: no schedule violates a property."
    return test
