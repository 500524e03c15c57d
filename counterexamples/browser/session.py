"""What the page asks of the engine: open a link, take a step, say why a step is refused, read a trace and write one. JSON both ways."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.browser import links
from fencepost.counterexamples.browser.opened import Opened
from fencepost.counterexamples.browser.setting import link_of, set_up
from fencepost.counterexamples.browser.view import about
from fencepost.counterexamples.lines import Lines
from fencepost.counterexamples.reader import read_lines
from fencepost.model.language.errors import FencepostError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.counterexamples.browser.view import View
    from fencepost.counterexamples.trace import Trace

MOST = 30
"""Settings that stay open; the one that was opened longest ago is closed for another."""


class Session:
    """One page. Whatever is asked of a state names the setting by its link, so that questions may come in any order."""

    def __init__(self) -> None:
        self.opened: dict[str, Opened] = {}

    def answer(self, text: str) -> str:
        """Answer one question; what goes wrong is an answer too, with the message as `error`."""
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
        """Set a protocol up and take the steps of a link, as far as they can be taken."""
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
            raise UsageError(f"{base} is not open any more: open the link of this page again.")
        return self.opened[base]


def described(trace: Trace) -> View:
    """Return a trace as a link, with what it says of itself."""
    if not trace.normalize:
        raise UsageError(
            "the trace has `normalize: off`, and the explorer merges states that nobody can distinguish: leave the line out."
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
