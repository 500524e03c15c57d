"""A protocol that is open: the states that were seen of it, by number, and what is asked of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.browser.view import REACHED, VIOLATED, refusals, view
from fencepost.counterexamples.history import states_text
from fencepost.counterexamples.trace import from_start
from fencepost.model.language.errors import DisabledError, FencepostError, UsageError
from fencepost.model.language.interpreter import Path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.counterexamples.browser.setting import Setting
    from fencepost.counterexamples.browser.view import View
    from fencepost.counterexamples.trace import Trace
    from fencepost.model.language.records import Key


class Opened:
    """One setting. A state keeps its number as long as the setting is open."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.keys: list[Key] = []
        self.numbers: dict[Key, int] = {}
        self.far: dict[Key, View] = {}

    def shown(self, key: Key, *came: Any) -> View:
        """Return a state as the page shows it, with its number."""
        if key not in self.numbers:
            self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return {"id": self.numbers[key], **view(self.setting, key, *came), "far": self.far.get(key)}

    def _key(self, state: int) -> Key:
        """Return a state by its number; raise UsageError for a number that this setting has not given."""
        if not 0 <= state < len(self.keys):
            raise UsageError(
                f"state {state} is not one of the {len(self.keys)} that were opened here: reload the page, whose address holds the history."
            )
        return self.keys[state]

    def step(self, state: int, step: str) -> View:
        """Take a step; raise UsageError with the guard that refuses it."""
        setting, before = self.setting, self._key(state)
        taken = setting.step(step)
        shown = setting.plain.show(taken)
        try:
            came = setting.plain.apply(before, taken)
        except DisabledError:
            why = next(item for item in refusals(setting, before, taken.action.label) if item["step"] == shown)
            values = f" ({', '.join(why['values'])})" if why["values"] else ""
            raise UsageError(f"`{step}` cannot happen here: the guard `{why['guard']}` refuses it{values}.") from None
        return self.shown(came.after, before, came) | {"step": shown}

    def refusals(self, state: int, action: str) -> View:
        """Return why each step of an action cannot happen."""
        return {"refusals": refusals(self.setting, self._key(state), action)}

    def save(self, steps: list[str]) -> View:
        """Return a history as a trace file: it must end in a violation, a reached witness, or where no action can happen."""
        setting = self.setting
        path, shown = self._path(steps)
        told = {item["name"]: item["status"] for item in shown["properties"]}
        name = next((name for wanted in (VIOLATED, REACHED) for name, status in told.items() if status == wanted), None)
        if name is None and any(item["can"] for item in shown["actions"]):
            raise UsageError(
                "a trace ends in a violated property, a reached witness or a deadlock, and this state shows none of them: "
                "go on, or copy the link, which holds every history."
            )
        if len(setting.removed) > 1:
            raise UsageError(
                "a trace is without one guard at most, and this history without several: copy the link instead."
            )
        prop = setting.protocol.select((name,))[0] if name else None
        title = f"{setting.protocol.name}: {name or 'deadlock'}, by hand"
        trace = from_start(setting.trace(title, prop=prop, steps=path.steps), path)
        return {
            "name": f"{setting.protocol.name}-{name or 'deadlock'}.trace",
            "text": trace.head() + states_text(trace, path),
        }

    def measure(self, traces: Iterable[Trace]) -> View:
        """Take in archived traces under the same constants: on their way it is known how far a violation is."""
        for trace in traces:
            self._measure(trace)
        return {"far": {number: self.far[key] for key, number in self.numbers.items() if key in self.far}}

    def _path(self, texts: Iterable[str]) -> tuple[Path, View]:
        """Return the history that these steps make, and its last state as it is shown."""
        setting = self.setting
        keys, steps = [setting.initial()], []
        shown = self.shown(keys[0])
        for text in texts:
            steps.append(setting.step(text))
            came = setting.plain.apply(keys[-1], steps[-1])
            shown = self.shown(came.after, keys[-1], came)
            keys.append(came.after)
        return Path(keys[0], tuple(steps), tuple(keys)), shown

    def _measure(self, trace: Trace) -> None:
        """Note for each state of a trace how many steps are left to its violation: archived ones are shortest."""
        setting, prop = self.setting, trace.prop
        if (
            prop is None
            or not prop.kind.must_hold
            or setting.removed
            or trace.removed
            or trace.constants != setting.constants
        ):
            return  # a way that breaks a property of whole behaviours is not the shortest one to any state
        plain = trace.interpreter()
        key = setting.initial()
        for left, step in zip(range(len(trace.steps), -1, -1), (*trace.steps, None), strict=True):
            known = self.far.get(key)
            if known is None or left < known["steps"]:
                self.far[key] = {"steps": left, "property": prop.name, "title": trace.title}
            if step is not None:
                try:
                    key = plain.apply(key, step).after
                except FencepostError:
                    return  # it begins in another initial state
