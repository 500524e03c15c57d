"""What the page asks of the engine: open a link, take a step, say why a step is refused, read a trace and write one. JSON both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.history import states_text
from fencepost.counterexamples.lines import Lines
from fencepost.counterexamples.reader import read_lines
from fencepost.counterexamples.trace import from_start
from fencepost.explore import links
from fencepost.explore.setting import Setting, link_of, set_up
from fencepost.explore.view import REACHED, VIOLATED, about, refusals, view
from fencepost.model.language.errors import DisabledError, FencepostError, UsageError
from fencepost.model.language.interpreter import Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fencepost.counterexamples.trace import Trace
    from fencepost.explore.view import View
    from fencepost.model.language.records import Key


class Session:
    """One page: a protocol as its link says, and the states that were seen, by number."""

    def __init__(self) -> None:
        self.setting: Setting | None = None
        self.keys: list[Key] = []
        self.numbers: dict[Key, int] = {}
        self.far: dict[Key, View] = {}

    def answer(self, text: str) -> str:
        """Answer one question; what goes wrong is an answer too, with the message as `error`."""
        question = json.loads(text)
        asked: dict[str, Callable[..., Any]] = {
            "open": self.open,
            "measure": self.measure,
            "step": self.step,
            "refusals": self.refusals,
            "trace": self.read_trace,
            "save": self.save,
        }
        try:
            return json.dumps(asked[question.pop("ask")](**question))
        except FencepostError as error:
            return json.dumps({"error": str(error)})

    def open(self, link: str) -> View:
        """Set a protocol up and take the steps of a link, as far as they can be taken."""
        found = links.read(link)
        self.setting = setting = set_up(found)
        self.keys, self.numbers, self.far = [], {}, {}
        key = setting.initial()
        shown = [self._shown(key)]
        stopped = None
        for text in found.steps:
            try:
                shown.append(self.step(shown[-1]["id"], text))
            except FencepostError as error:
                stopped = {"step": text, "why": str(error)}
                break
        base = replace(found, steps=())
        return {"about": about(setting), "starts": setting.starts(), "base": base.text, "views": shown, "stopped": stopped}

    def step(self, state: int, step: str) -> View:
        """Take a step; raise UsageError with the guard that refuses it."""
        setting, before = self._open(), self.keys[state]
        taken = setting.step(step)
        try:
            came = setting.plain.apply(before, taken)
        except DisabledError:
            label = taken.action.label
            why = next(item for item in refusals(setting, before, label) if item["step"] == setting.plain.show(taken))
            values = f" ({', '.join(why['values'])})" if why["values"] else ""
            raise UsageError(f"`{step}` cannot happen here: the guard `{why['guard']}` refuses it{values}.") from None
        return self._shown(came.after, before, came) | {"step": setting.plain.show(taken)}

    def measure(self, traces: list[str]) -> View:
        """Take in archived traces under the same constants: on their way it is known how far a violation is."""
        for text in traces:
            self._measure(read_lines(Lines("trace", text)).trace)
        return {"far": {number: self.far[key] for key, number in self.numbers.items() if key in self.far}}

    def refusals(self, state: int, action: str) -> View:
        """Return why each step of an action cannot happen."""
        return {"refusals": refusals(self._open(), self.keys[state], action)}

    def read_trace(self, text: str) -> View:
        """Return a trace file as a link to open, with what the trace says of itself."""
        return described(read_lines(Lines("the file", text)).trace)

    def save(self, steps: list[str]) -> View:
        """Return a history as a trace file: it must end in a violation, a reached witness, or where no action can happen."""
        setting = self._open()
        path, shown = self._path(steps)
        told = {item["name"]: item["status"] for item in shown["properties"]}
        name = next((name for wanted in (VIOLATED, REACHED) for name, status in told.items() if status == wanted), None)
        if name is None and any(item["can"] for item in shown["actions"]):
            raise UsageError(
                "a trace ends in a violated property, a reached witness or a deadlock, and this state shows none of them: "
                "go on, or copy the link, which holds every history."
            )
        if len(setting.removed) > 1:
            raise UsageError("a trace is without one guard at most, and this history without several: copy the link instead.")
        prop = setting.protocol.select((name,))[0] if name else None
        title = f"{setting.protocol.name}: {name or 'deadlock'}, by hand"
        trace = from_start(setting.trace(title, prop=prop, steps=path.steps), path)
        return {"name": f"{setting.protocol.name}-{name or 'deadlock'}.trace", "text": trace.head() + states_text(trace, path)}

    def _open(self) -> Setting:
        if self.setting is None:
            raise UsageError("no protocol is open: open a link first.")
        return self.setting

    def _path(self, texts: Iterable[str]) -> tuple[Path, View]:
        """Return the history that these steps make, and its last state as it is shown."""
        setting = self._open()
        keys, steps = [setting.initial()], []
        shown = self._shown(keys[0])
        for text in texts:
            steps.append(setting.step(text))
            came = setting.plain.apply(keys[-1], steps[-1])
            shown = self._shown(came.after, keys[-1], came)
            keys.append(came.after)
        return Path(keys[0], tuple(steps), tuple(keys)), shown

    def _shown(self, key: Key, *came: Any) -> View:
        if key not in self.numbers:
            self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return {"id": self.numbers[key], **view(self._open(), key, *came), "far": self.far.get(key)}

    def _measure(self, trace: Trace) -> None:
        """Note for each state of a trace how many steps are left to its violation: archived ones are shortest."""
        setting = self._open()
        if (
            trace.constants != setting.constants
            or setting.removed
            or trace.removed
            or trace.verdict != VIOLATED
            or trace.loop is not None
        ):
            return
        plain = trace.interpreter()
        key = setting.initial()
        for left, step in zip(range(len(trace.steps), -1, -1), (*trace.steps, None), strict=True):
            known = self.far.get(key)
            if known is None or left < known["steps"]:
                self.far[key] = {"steps": left, "property": trace.prop.name if trace.prop else "", "title": trace.title}
            if step is not None:
                try:
                    key = plain.apply(key, step).after
                except FencepostError:
                    return  # it begins in another initial state


def described(trace: Trace) -> View:
    """Return a trace as a link, with what it says of itself."""
    if not trace.normalize:
        raise UsageError(
            "the trace has `normalize: off`, and the explorer merges states that nobody can distinguish: leave the line out."
        )
    told = {"title": trace.title, "finding": trace.finding, "why": trace.why, "source": trace.source, "verdict": trace.verdict}
    name = trace.prop.name if trace.prop else ""
    return {**told, "property": name, "loop": trace.loop, "link": link_of(trace).text}
