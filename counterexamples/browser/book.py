"""States computed beforehand, around a history, for pages without an engine. What is the same is stored once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.browser.view import View, about, arrival, itself

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.counterexamples.browser.setting import Setting
    from fencepost.model.language.records import Key

MOST = 3_000_000
"""Characters that a book takes at most."""


class Book:
    """States by number, each with the arrivals to which its steps lead: a state, and the changes of the step to it.

    Several steps may lead to one state, and each changes something else: what depends on the step is kept by the
    arrival. States of the history come first, then those one step from it, in full; those two steps from it show what
    they are, and the book ends there. Where it is full it ends earlier, and says of which states it does not know where
    they lead.
    """

    def __init__(self, setting: Setting, most: int = MOST) -> None:
        self.setting, self.most = setting, most
        self.texts: dict[str, int] = {}
        self.states: list[View] = []
        self.numbers: dict[Key, int] = {}
        self.arrivals: dict[str, int] = {}
        self.size = 0

    def history(self, start: Key, steps: Iterable[str], *, alone: bool = False) -> None:
        """Put in a history, and the states within two steps of it, or the history alone."""
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
        """Put in the states one step away, and say of this one where its steps lead."""
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
        """Put in a state and what the step to it changed; return the number of the arrival."""
        shown = arrival(self.setting, key, *came)
        text = json.dumps(
            {name: self._kept(value) for name, value in shown.items()} | {"state": self.add(key, acts=acts)}
        )
        if text not in self.arrivals:
            self.arrivals[text] = len(self.arrivals)
            self.size += len(text)
        return self.arrivals[text]

    def add(self, key: Key, *, acts: bool) -> int:
        """Put in a state, and return its number."""
        if key not in self.numbers:
            shown = itself(self.setting, key, explained=acts, acts=acts)
            self.numbers[key] = len(self.states)
            kept = {name: self._kept(value) for name, value in shown.items()}
            self.states.append({**kept, "leads": {}, "ends": not acts})
            self.size += len(json.dumps(kept))
        return self.numbers[key]

    def _kept(self, value: Any) -> Any:
        """Return a value with every item of a list by its number among the texts."""
        if isinstance(value, list):
            return [self._number(json.dumps(item)) for item in value]
        return self._number(json.dumps(value))

    def _number(self, text: str) -> int:
        if text not in self.texts:
            self.texts[text] = len(self.texts)
            self.size += len(text)
        return self.texts[text]

    def data(self) -> View:
        """Return the book as JSON has it."""
        texts = [json.loads(text) for text in self.texts]
        return {
            "about": about(self.setting),
            "base": replace(self.setting.link, steps=()).text,
            "texts": texts,
            "states": self.states,
            "arrivals": list(map(json.loads, self.arrivals)),
        }
