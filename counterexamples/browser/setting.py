"""A protocol in the explorer, with the constants of a link and without the removed guards."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fencepost.counterexamples.browser.links import Link, differing
from fencepost.counterexamples.render.parties import Parties, parties
from fencepost.counterexamples.trace import Trace, starting_points
from fencepost.counterexamples.values import arguments
from fencepost.explorers.program.removal import Guard, find_guard, guards, without_all
from fencepost.explorers.program.subset.program import Guards, check, guards_of
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language.actions import Action
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key
from fencepost.model.language.trees import source_lines

SPENDS = re.compile(r"\bbudget\.")


@dataclass(frozen=True)
class Setting:
    link: Link
    protocol: Protocol
    constants: Constants
    removed: tuple[Guard, ...]
    plain: Interpreter

    @cached_property
    def guards(self) -> Guards:
        return guards_of(check(self.plain.machine))

    @cached_property
    def parties(self) -> Parties:
        return parties(self.plain)

    @cached_property
    def taken_out(self) -> tuple[Guard, ...]:
        """Return the removed guards. If all parts of a guard are removed, list the whole guard instead of its parts."""
        return _taken_out(self.protocol.machine, self.removed)

    def guard_name(self, item: Action, number: int) -> str:
        """Return the name of a guard, given its index among the remaining guards, or an empty string."""
        if number < 0:
            return ""
        out = {guard.number for guard in self.taken_out if guard.action == item.label and not guard.part}
        kept = (place for place in range(1, number + len(out) + 2) if place not in out)
        return f"{item.label} {list(kept)[number]}"

    def initial(self) -> Key:
        item = self.plain.machine.initial
        if not self.link.start:
            return self.plain.initial_states()[0]
        wanted = arguments(self.plain, item, "initial", self.link.start)
        found = next((state for step, state in starting_points(self.plain) if step.args == wanted), None)
        if found is None:
            raise UsageError(
                f"{self.link.start!r} is not an initial state: a guard of {item.label!r} refuses it. Choose another "
                "initial state."
            )
        return found

    def starts(self) -> list[str]:
        found = {state: self.plain.show(step).partition(" ")[2] for step, state in starting_points(self.plain)}
        return list(found.values()) if len(found) > 1 else []

    def step(self, text: str) -> Step:
        label, _, rest = text.partition(" ")
        item = self.plain.machine.action(label)
        return Step(item, arguments(self.plain, item, label, rest))

    def trace(self, title: str, **parts: Any) -> Trace:
        made = {"prop": None, "steps": (), "version": self.link.version} | parts
        return Trace(title, self.protocol, self.constants, removed=next(iter(self.removed), None), **made)


def set_up(link: Link) -> Setting:
    found = protocol(link.protocol)
    machine, declared = found.machine, found.machine.constants.declared()
    base = machine.version(link.version).values if link.version else {}
    constants = machine.set_constants(
        {**base, **{name: declared[name].parse(text) for name, text in link.constants.items()}}
    )
    removed = tuple(dict.fromkeys(find_guard(machine, name) for name in link.removed))
    plain = Interpreter(without_all(machine, _taken_out(machine, removed)), constants, bounded=True)
    return Setting(link, found, constants, removed, plain)


def of_trace(trace: Trace) -> Setting:
    removed = (trace.removed,) if trace.removed else ()
    return Setting(link_of(trace), trace.protocol, trace.constants, removed, trace.interpreter(bounded=True))


def _taken_out(machine: Machine, removed: tuple[Guard, ...]) -> tuple[Guard, ...]:
    """Return the removed guards. If all parts of a guard are removed, return the whole guard instead of its parts."""
    found: list[Guard] = []
    every = guards(machine) if removed else ()
    for whole in (item for item in every if not item.part):
        parts = [item for item in every if item.part and (item.action, item.number) == (whole.action, whole.number)]
        named = [item for item in parts if item in removed]
        found += [whole] if whole in removed or (named and len(named) == len(parts)) else named
    return tuple(found)


def link_of(trace: Trace) -> Link:
    plain, machine = trace.interpreter(), trace.protocol.machine
    constants = differing(machine, trace.constants.shown, trace.version)
    removed = (trace.removed.name,) if trace.removed else ()
    steps = tuple(plain.show(step) for step in trace.steps)
    return Link(trace.protocol.name, trace.version, constants, removed, trace.start(plain), steps)


def fault_of(item: Action) -> str:
    """Return `fault` or `operator` for an action that spends a budget, and otherwise an empty string."""
    if not SPENDS.search("".join(source_lines(item.function)[0])):
        return ""
    return "operator" if "operator" in item.name.split("_") else "fault"
