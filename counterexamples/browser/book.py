"""Precomputed states near a path, for pages that run without an engine. Equal states are stored once.

The page of a trace contains the states within two steps of the trace's path, so that a reader can explore them. A story
(a file in `tours/`) explains an archived trace in an engineer's words, and then repeats the trace's steps with the fix.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from fencepost.counterexamples.browser import links
from fencepost.counterexamples.browser.refusals import refusal
from fencepost.counterexamples.browser.session import described
from fencepost.counterexamples.browser.setting import Setting, of_trace, set_up
from fencepost.counterexamples.browser.view import View, about, arrival, itself
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE, Trace
from fencepost.model.language.errors import DisabledError, ModelError
from fencepost.model.language.interpreter import Path as History
from fencepost.model.language.records import Key

MOST = 3_000_000
"""Maximum number of characters in a file of states."""


class Book:
    """Numbered states. Each step from a state is stored as an arrival: the next state and the step's changes.

    Two steps may lead to the same state but make different changes, so changes are stored with arrivals, not with
    states. Steps are stored only for states on the path and for states one step away from it. When the book is full, no
    more states are added, and states with unknown successors are marked.
    """

    def __init__(self, setting: Setting, most: int = MOST) -> None:
        self.setting, self.most = setting, most
        self.texts: dict[str, int] = {}
        self.states: list[View] = []
        self.numbers: dict[Key, int] = {}
        self.arrivals: dict[str, int] = {}
        self.size = 0

    def history(self, start: Key, steps: Iterable[str], *, alone: bool = False) -> None:
        """Add a path and, unless `alone`, the states within two steps of it."""
        keys = [start]
        self.arrive(start)
        for text in steps:
            came = self.setting.plain.apply(keys[-1], self.setting.step(text))
            self.states[self.numbers[keys[-1]]]["leads"][text] = self.arrive(came.after, keys[-1], came)
            keys.append(came.after)
        if alone:
            return
        near = [item for key in dict.fromkeys(keys) for item in self.around(key, acts=True)]
        for key in dict.fromkeys(near):
            self.around(key, acts=False)

    def around(self, key: Key, *, acts: bool) -> list[Key]:
        if self.size >= self.most:
            return []
        leads: dict[str, int] = self.states[self.numbers[key]]["leads"]
        found = []
        for came in self.setting.plain.transitions(key):
            if self.size >= self.most:
                break
            leads[self.setting.plain.show(came.step)] = self.arrive(came.after, key, came, acts=acts)
            found.append(came.after)
        return found

    def arrive(self, key: Key, *came: Any, acts: bool = True) -> int:
        """Record a state together with the changes made by the step that led to it; return the arrival's number."""
        shown = arrival(self.setting, key, *came)
        text = json.dumps(
            {name: self._kept(value) for name, value in shown.items()} | {"state": self.add(key, acts=acts)}
        )
        if text not in self.arrivals:
            self.arrivals[text] = len(self.arrivals)
            self.size += len(text)
        return self.arrivals[text]

    def add(self, key: Key, *, acts: bool) -> int:
        if key not in self.numbers:
            shown = itself(self.setting, key, explained=acts, acts=acts)
            self.numbers[key] = len(self.states)
            kept = {name: self._kept(value) for name, value in shown.items()}
            self.states.append({**kept, "leads": {}, "ends": not acts})
            self.size += len(json.dumps(kept))
        return self.numbers[key]

    def _kept(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._number(json.dumps(item)) for item in value]
        return self._number(json.dumps(value))

    def _number(self, text: str) -> int:
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self.size += len(text)
        return self.texts[text]

    def data(self) -> View:
        texts = [json.loads(text) for text in self.texts]
        return {
            "about": about(self.setting),
            "base": replace(self.setting.link, steps=()).text,
            "texts": texts,
            "states": self.states,
            "arrivals": list(map(json.loads, self.arrivals)),
        }


STATIC = Path(__file__).parent / "static"
SCRIPTS = ("book.js", "past.js", "render.js", "embedded.js")
MOST_STATES = 2_500_000
"""Maximum number of characters for states, which keeps the whole page below 3 MB."""
MODULE = re.compile(r"^import .*;\n|^export ", re.MULTILINE)


def section(trace: Trace, path: History) -> str:
    setting = of_trace(trace)
    book = Book(setting, MOST_STATES)
    steps = [setting.plain.show(step) for step in path.steps]
    book.history(path.start, steps)
    data = (
        json.dumps({**book.data(), "steps": steps}, separators=(",", ":"))
        .replace("</", "<\\/")
        .replace("<!", "\\u003c!")
    )
    style = (STATIC / "explore.css").read_text(encoding="utf-8")
    script = "\n".join(MODULE.sub("", (STATIC / name).read_text(encoding="utf-8")) for name in SCRIPTS)
    ends = sum(state["ends"] for state in book.states)
    told = f"This file contains {len(book.states)} states. For {ends} of them, it does not contain the next steps."
    return f"""<style>
{style}</style>
<section id="explore" aria-labelledby="explore-heading">
<h2 id="explore-heading">Try something else</h2>
<p><button type="button" id="explore-from" hidden>Explore from here</button>
<span class="quiet">{escape(told)}</span></p>
<div id="explore-box" hidden>
<div class="controls"><button type="button" id="explore-undo">← Undo</button>
<button type="button" id="explore-redo">Redo →</button>
<span id="explore-where" aria-live="polite"></span></div>
<div class="columns">
<div class="cards-of"><h2 id="explore-title" tabindex="-1">State</h2><div id="explore-shown"></div>
<label class="quiet"><input type="checkbox" class="every"> Show all fields, even those at their defaults</label></div>
<div class="side"><h2>What can happen now</h2><div id="explore-enabled"></div>
<h2>What cannot, and why</h2><div id="explore-refused"></div>
<h2>Properties in this state</h2><div id="explore-properties"></div></div>
</div>
</div>
</section>
<script>
(() => {{
{script}
explore({data});
}})();
</script>
"""


def framed(page: str) -> str:
    return f'<iframe title="Explorer" srcdoc="{escape(page)}" style="width: 100%; height: 46rem; border: 0"></iframe>'


FOLDER = Path(__file__).parent / "tours"


@dataclass(frozen=True)
class Story:
    """A story file. `steps` has a table for each step; `order` lists the numbers (from 1) of the steps with the fix."""

    name: str
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @cached_property
    def told(self) -> Mapping[str, Any]:
        return described(read(ARCHIVE / f"{self.data['trace']}.trace").trace)

    @cached_property
    def broken(self) -> Setting:
        return set_up(links.read(self.told["link"]))

    @cached_property
    def repaired(self) -> Setting:
        """Return the setting with the fix and the story's steps; the last step may be disabled."""
        repair, steps = self.data["repair"], self.broken.link.steps
        taken = tuple(steps[number - 1] for number in self.order)
        return set_up(replace(self.broken.link, constants={**self.broken.link.constants, **repair["set"]}, steps=taken))

    @property
    def order(self) -> list[int]:
        every = list(range(1, len(self.broken.link.steps) + 1))
        return list(self.data["repair"].get("order", every))

    @property
    def stops(self) -> bool:
        return bool(self.data["repair"].get("stops"))

    @property
    def way(self) -> tuple[str, ...]:
        """Return the steps that are enabled with the fix."""
        return self.repaired.link.steps[: -1 if self.stops else None]

    def refused(self) -> dict[str, Any]:
        setting, key = self.repaired, self.repaired.initial()
        for text in self.way:
            key = setting.plain.apply(key, setting.step(text)).after
        step = setting.step(setting.link.steps[-1])
        try:
            setting.plain.apply(key, step)
        except DisabledError as error:
            why = refusal(setting, step, error)
            return {"action": step.action.label, "guard": why.decided or why.guard, "values": why.values}
        raise ModelError(f"story {self.name}: the fix does not refuse `{setting.link.steps[-1]}`: remove `stops`.")

    def page(self) -> dict[str, Any]:
        repair, steps = self.data["repair"], self.data["steps"]
        says = repair.get("says_at", {})
        repaired = [{**steps[number - 1], "wrong": False, "believes": {}} for number in self.order]
        for number, item in zip(self.order, repaired, strict=True):
            item["says"] = says.get(str(number), item["says"])
        ends = [repaired.pop()["says"]] if self.stops else []
        return {
            "name": self.name,
            "title": self.title,
            "protocol": self.broken.protocol.name,
            "begins": self.data["begins"],
            "repair": repair["says"],
            "finding": self.told["finding"],
            "repaired_ending": " ".join([*ends, repair["ending"]]),
            "refusal": self.refused() if self.stops else None,
            "told": {"broken": steps, "repaired": repaired},
            "ways": {"broken": self.broken.link.steps, "repaired": self.way},
            "books": {"broken": _book(self.broken, self.broken.link.steps), "repaired": _book(self.repaired, self.way)},
        }


def _book(setting: Setting, steps: tuple[str, ...]) -> dict[str, Any]:
    book = Book(setting)
    book.history(setting.initial(), steps, alone=True)
    return book.data()


def stories() -> Iterator[Story]:
    for file in sorted(FOLDER.glob("*.toml")):
        yield Story(file.stem, tomllib.loads(file.read_text(encoding="utf-8")))
