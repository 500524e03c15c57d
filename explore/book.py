"""States computed beforehand: those around a history, for pages that have no engine, or not yet. What is the same is kept once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.explore.view import View, about, view

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.explore.setting import Setting
    from fencepost.model.language.records import Key

MOST = 3_000_000
"""Characters that a book takes at most."""


class Book:
    """States by number, each with the numbers of those to which its steps lead.

    States of the history come first, then those one step from it, in full; those two steps from it show what they are, and the book
    ends there. Where it is full it ends earlier, and says of which states it does not know where they lead.
    """

    def __init__(self, setting: Setting, most: int = MOST) -> None:
        self.setting, self.most = setting, most
        self.texts: dict[str, int] = {}
        self.states: list[View] = []
        self.numbers: dict[Key, int] = {}
        self.size = 0

    def history(self, start: Key, steps: Iterable[str], *, alone: bool = False) -> None:
        """Put in a history, and the states within two steps of it, or the history alone."""
        keys = [start]
        at = self.add(start)
        for text in steps:
            came = self.setting.plain.apply(keys[-1], self.setting.step(text))
            after = self.add(came.after, keys[-1], came)
            self.states[at]["leads"][text] = after
            keys.append(came.after)
            at = after
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
            leads[self.setting.plain.show(came.step)] = self.add(came.after, key, came, acts=acts)
            found.append(came.after)
        return found

    def add(self, key: Key, *came: Any, acts: bool = True) -> int:
        """Put in a state, and return its number."""
        if key not in self.numbers:
            shown = view(self.setting, key, *came, explained=acts, acts=acts)
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
        }
