"""Fairness of an infinite behaviour. Each constraint is satisfied by a step, or by a state that disables its steps."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from fencepost.counterexamples.trace import Trace
from fencepost.explorers.liveness.shown import Instance, every_instance, instances, of_which
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.model.language.actions import Property
from fencepost.model.language.domains import InFlight
from fencepost.model.language.errors import DisabledError
from fencepost.model.language.fairness import Fairness
from fencepost.model.language.interpreter import Interpreter, Path, Step
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key

FEW = 3
"""Maximum number of values that a line lists for an action that is never enabled."""


def kept(trace: Trace, path: Path) -> list[str]:
    """Return a line for each fairness constraint that a loop satisfies, with the reason.

    If the loop is fair only because a bound of the run refuses a step, the first line says so. The list is empty if
    there is no loop, or if the loop is unfair. In an unfair loop, the cost grows until the behaviour leaves the loop.
    """
    if trace.prop is None or trace.prop.eventual is None or path.loop is None:
        return []
    found = _Kept(trace.protocol.machine, trace.interpreter(), trace.prop, path)
    if not found.is_fair():
        return []
    hangs = found.hangs_on()
    return [*([f"only within the bounds of the run: {hangs}"] if hangs else []), *found.lines()]


def hanging(plain: Interpreter, prop: Property, path: Path) -> str:
    """Return a clause that names the bounds without which the loop would be unfair, or an empty string."""
    if prop.eventual is None or path.loop is None:
        return ""
    found = _Kept(plain.machine, plain, prop, path)
    return found.hangs_on() if found.is_fair() else ""


class _Kept:
    """The fairness constraints for one loop. `states` maps the number of each step to the state after the step."""

    def __init__(self, machine: Machine, plain: Interpreter, prop: Property, path: Path) -> None:
        assert path.loop is not None
        loop = path.loop
        self.prop, self.plain = prop, plain
        self.guards = guards_of(check(machine, (prop,)))
        self.states = dict(enumerate(path.states[loop : max(loop + 1, len(path.states) - 1)], loop))
        self.taken: dict[Instance, list[int]] = {}
        for number, (before, step) in enumerate(zip(path.states[loop:], path.steps[loop:], strict=False), loop + 1):
            for item in instances(self.plain, self.prop, [self.plain.apply(before, step)], before):
                self.taken.setdefault(item, []).append(number)
        self.enabled = {
            number: instances(self.plain, self.prop, self.plain.transitions(key), key)
            for number, key in self.states.items()
        }

    def is_fair(self) -> bool:
        often = set().union(*self.enabled.values()) - set(self.taken)
        fair = self.prop.behaviour.fair
        return not any(fair[item[0]].strong or all(item in found for found in self.enabled.values()) for item in often)

    def hangs_on(self) -> str:
        held = {number: self.held(key) for number, key in self.states.items()}
        names: dict[str, None] = {}
        labels: dict[str, None] = {}
        for item in sorted(set().union(*held.values()) - self.taken.keys(), key=repr):
            fair = self.prop.behaviour.fair[item[0]]
            if fair.strong or all(item in held[number] or item in self.enabled[number] for number in self.states):
                for found in held.values():
                    for name, label in found.get(item, ()):
                        names[name], labels[label] = None, None
        if not names:
            return ""
        constants = self.plain.constants.shown
        bounds = " and ".join(f"{name}={constants[name]}" for name in names)
        return (
            f"the trace depends on the guard for the bound {bounds}, which is not a rule of the protocol. Without the "
            f"guard, {' or '.join(labels)} could happen in the loop, which would then be unfair"
        )

    def held(self, key: Key) -> dict[Instance, set[tuple[str, str]]]:
        """Return the constraints whose steps a state refuses only because of bounds, with those bounds and actions."""
        found: dict[Instance, set[tuple[str, str]]] = {}
        for number, fair in enumerate(self.prop.behaviour.fair):
            for action in fair.actions:
                count = len(self.guards.bounds[action.name])
                if action in self.prop.behaviour.without or not any(self.guards.bounds[action.name]):
                    continue
                for step in self.plain.steps(action, key):
                    values = self.plain.instance(fair, step)
                    names = self.plain.refusing(key, step, count)
                    if values is not None and names:
                        found.setdefault((number, values), set()).update((name, action.label) for name in names)
        return found

    def lines(self) -> Iterator[str]:
        known = sorted(set().union(*self.enabled.values()), key=repr)
        first = next(iter(self.states))
        for number, fair in enumerate(self.prop.behaviour.fair):
            own = [item for item in known if item[0] == number]
            if not own:
                yield f"{fair}: never enabled: {self.refusal(fair, first)}"
                continue
            found = []
            for why, group in groupby(
                sorted((self.why(item, fair), item[1]) for item in own), key=lambda pair: pair[0]
            ):
                which = [of_which(self.plain, fair, values) for _, values in group]
                values = f" ({'; '.join(which)})" if any(which) else ""
                found.append(f"{fair}{values}: {why}")
            others = [values for values in every_instance(self.plain, fair) if (number, values) not in own]
            never = sorted((self.refusal(fair, first, values), values) for values in others)
            for why, group in groupby(never, key=lambda pair: pair[0]):
                which = [of_which(self.plain, fair, values) for _, values in group]
                shown = " and ".join(which[:FEW]) + (f" and {len(which) - FEW} more" if len(which) > FEW else "")
                told = "all others" if len(which) == len(others) > FEW else shown
                found[-1] += f"; never enabled for {told}: {why} {_after(first)}"
            yield from found

    def why(self, item: Instance, fair: Fairness) -> str:
        if item in self.taken:
            steps = self.taken[item]
            return f"taken in step {steps[0]}" if len(steps) == 1 else f"taken in steps {', '.join(map(str, steps))}"
        number = next(number for number, found in self.enabled.items() if item not in found)
        return f"not enabled {_after(number)}: {self.refusal(fair, number, item[1])}"

    def refusal(self, fair: Fairness, number: int, values: tuple[Any, ...] | None = None) -> str:
        key = self.states[number]
        where = "" if values is not None else f" {_after(number)}"
        found: list[tuple[int, str]] = []
        for action in fair.actions:
            if action in self.prop.behaviour.without:
                found.append((-1, f"{action.label} is excluded from the property"))
                continue
            steps = [
                step for step in self.plain.steps(action, key) if values in (None, self.plain.instance(fair, step))
            ]
            found += [(at, f"{text}{where}") for at, text in (self.answer(step, key) for step in steps)]
            if not steps and any(isinstance(domain, InFlight) for _, domain in action.params):
                found.append((-1, f"there is no message for {action.label}{where}"))
        return max(found, key=lambda pair: pair[0], default=(0, f"no step is possible{where}"))[1]

    def answer(self, step: Step, key: Key) -> tuple[int, str]:
        try:
            self.plain.apply(key, step)
        except DisabledError as error:
            number = self.guards.refused(step.action, error)
            texts = self.guards.texts(step.action)
            return number, f"`require({texts[number]})` refuses" if number >= 0 else "its message is not in flight"
        return len(self.guards.texts(step.action)), "the step changes nothing"


def _after(number: int) -> str:
    return f"after step {number}" if number else "in the initial state"
