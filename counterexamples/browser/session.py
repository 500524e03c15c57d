"""Requests from the page to the engine, as JSON: open a link, take a step, explain a refusal, read or write a trace."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from fencepost.counterexamples.browser import links
from fencepost.counterexamples.browser.setting import Setting, link_of, set_up
from fencepost.counterexamples.browser.view import REACHED, VIOLATED, View, about, refusals, view
from fencepost.counterexamples.history import states_text
from fencepost.counterexamples.lines import Lines
from fencepost.counterexamples.reader import read_lines
from fencepost.counterexamples.trace import Trace, from_start
from fencepost.model.language.errors import DisabledError, FencepostError, UsageError
from fencepost.model.language.interpreter import Path
from fencepost.model.language.records import Key


class Opened:
    """An open setting, with a number for each of its states. A number stays valid while the setting is open."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.keys: list[Key] = []
        self.numbers: dict[Key, int] = {}
        self.far: dict[Key, View] = {}

    def shown(self, key: Key, *came: Any) -> View:
        if key not in self.numbers:
            self.numbers[key] = len(self.keys)
            self.keys.append(key)
        return {"id": self.numbers[key], **view(self.setting, key, *came), "far": self.far.get(key)}

    def _key(self, state: int) -> Key:
        if not 0 <= state < len(self.keys):
            raise UsageError(
                f"state {state} is not one of the {len(self.keys)} states of this page: reload the page, whose "
                "address contains the history."
            )
        return self.keys[state]

    def step(self, state: int, step: str) -> View:
        setting, before = self.setting, self._key(state)
        taken = setting.step(step)
        shown = setting.plain.show(taken)
        try:
            came = setting.plain.apply(before, taken)
        except DisabledError:
            why = next(item for item in refusals(setting, before, taken.action.label) if item["step"] == shown)
            values = f" ({', '.join(why['values'])})" if why["values"] else ""
            raise UsageError(f"`{step}` is not possible here: the guard `{why['guard']}` refuses it{values}.") from None
        return self.shown(came.after, before, came) | {"step": shown}

    def refusals(self, state: int, action: str) -> View:
        return {"refusals": refusals(self.setting, self._key(state), action)}

    def save(self, steps: list[str]) -> View:
        setting = self.setting
        path, shown = self._path(steps)
        told = {item["name"]: item["status"] for item in shown["properties"]}
        name = next((name for wanted in (VIOLATED, REACHED) for name, status in told.items() if status == wanted), None)
        if name is None and any(item["can"] for item in shown["actions"]):
            raise UsageError(
                "a trace must end with a violated property, a reached witness or a deadlock, but the last state shows "
                "none of these: continue, or copy the link, which can hold any history."
            )
        if len(setting.removed) > 1:
            raise UsageError(
                "a trace can omit at most one guard, but this history omits several: copy the link instead."
            )
        prop = setting.protocol.select((name,))[0] if name else None
        title = f"{setting.protocol.name}: {name or 'deadlock'}, by hand"
        trace = from_start(setting.trace(title, prop=prop, steps=path.steps), path)
        return {
            "name": f"{setting.protocol.name}-{name or 'deadlock'}.trace",
            "text": trace.head() + states_text(trace, path),
        }

    def measure(self, traces: Iterable[Trace]) -> View:
        for trace in traces:
            self._measure(trace)
        return {"far": {number: self.far[key] for key, number in self.numbers.items() if key in self.far}}

    def _path(self, texts: Iterable[str]) -> tuple[Path, View]:
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
        setting, prop = self.setting, trace.prop
        if (
            prop is None
            or not prop.kind.must_hold
            or setting.removed
            or trace.removed
            or trace.constants != setting.constants
        ):
            return  # such a path is not necessarily a shortest path to any of its states
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
                    return  # the trace starts in another initial state


MOST = 30


class Session:
    """The server side of one page. Requests may come in any order, because each identifies its setting by a link."""

    def __init__(self) -> None:
        self.opened: dict[str, Opened] = {}

    def answer(self, text: str) -> str:
        question = json.loads(text)
        asked: dict[str, Callable[..., Any]] = {
            "open": self.open,
            "trace": lambda text: described(read_lines(Lines("the file", text)).trace),
            "measure": lambda base, traces: self._at(base).measure(
                read_lines(Lines("trace", item)).trace for item in traces
            ),
            "step": lambda base, state, step: self._at(base).step(state, step),
            "refusals": lambda base, state, action: self._at(base).refusals(state, action),
            "save": lambda base, steps: self._at(base).save(steps),
        }
        try:
            return json.dumps(asked[question.pop("ask")](**question))
        except FencepostError as error:
            return json.dumps({"error": str(error)})

    def open(self, link: str) -> View:
        found = links.read(link)
        base = replace(found, steps=()).text
        made = self.opened.pop(base, None) or Opened(set_up(replace(found, steps=())))
        self.opened = dict([*self.opened.items(), (base, made)][-MOST:])
        setting = made.setting
        shown = [made.shown(setting.initial())]
        stopped = None
        for text in found.steps:
            try:
                shown.append(made.step(shown[-1]["id"], text))
            except FencepostError as error:
                stopped = {"step": text, "why": str(error)}
                break
        return {"about": about(setting), "starts": setting.starts(), "base": base, "views": shown, "stopped": stopped}

    def _at(self, base: str) -> Opened:
        if base not in self.opened:
            raise UsageError(f"{base} is no longer open: open the link of this page again.")
        return self.opened[base]


def described(trace: Trace) -> View:
    if not trace.normalize:
        raise UsageError(
            "the trace has `normalize: off`, but the explorer merges states that cannot be distinguished: remove the "
            "line."
        )
    told = {
        "title": trace.title,
        "finding": trace.finding,
        "why": trace.why,
        "source": trace.source,
        "verdict": trace.verdict,
    }
    name = trace.prop.name if trace.prop else ""
    return {**told, "property": name, "loop": trace.loop, "link": link_of(trace).text}
