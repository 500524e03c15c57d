"""Stories: an archived history in an engineer's words, and the same steps with the fix. The files are in `tours/`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.browser import links
from fencepost.counterexamples.browser.book import Book
from fencepost.counterexamples.browser.refusals import refusal
from fencepost.counterexamples.browser.session import described
from fencepost.counterexamples.browser.setting import set_up
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.language.errors import DisabledError, ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.counterexamples.browser.setting import Setting

FOLDER = Path(__file__).parent / "tours"


@dataclass(frozen=True)
class Story:
    """One file: `steps` has a table for each step of the trace, and `order` the steps taken with the fix, from 1."""

    name: str
    data: Mapping[str, Any]

    @property
    def title(self) -> str:
        """The title, in a line."""
        return str(self.data["title"])

    @cached_property
    def told(self) -> Mapping[str, Any]:
        """The archived trace, as the page describes it."""
        return described(read(ARCHIVE / f"{self.data['trace']}.trace").trace)

    @cached_property
    def broken(self) -> Setting:
        """The setting of the trace, with its steps."""
        return set_up(links.read(self.told["link"]))

    @cached_property
    def repaired(self) -> Setting:
        """The setting with the fix, and the steps that are taken then; the last one is refused if the story stops
        there.
        """
        repair, steps = self.data["repair"], self.broken.link.steps
        taken = tuple(steps[number - 1] for number in self.order)
        return set_up(replace(self.broken.link, constants={**self.broken.link.constants, **repair["set"]}, steps=taken))

    @property
    def order(self) -> list[int]:
        """The steps of the trace that are taken with the repair, by number."""
        every = list(range(1, len(self.broken.link.steps) + 1))
        return list(self.data["repair"].get("order", every))

    @property
    def stops(self) -> bool:
        """Whether the repair refuses the last of its steps."""
        return bool(self.data["repair"].get("stops"))

    @property
    def way(self) -> tuple[str, ...]:
        """The steps that can be taken with the repair."""
        return self.repaired.link.steps[: -1 if self.stops else None]

    def refused(self) -> dict[str, Any]:
        """Return the guard that refuses the step at which the repaired history stops; raise ModelError without one."""
        setting, key = self.repaired, self.repaired.initial()
        for text in self.way:
            key = setting.plain.apply(key, setting.step(text)).after
        step = setting.step(setting.link.steps[-1])
        try:
            setting.plain.apply(key, step)
        except DisabledError as error:
            why = refusal(setting, step, error)
            return {"action": step.action.label, "guard": why.decided or why.guard, "values": why.values}
        raise ModelError(
            f"story {self.name}: the repair does not refuse `{setting.link.steps[-1]}`: leave `stops` out."
        )

    def page(self) -> dict[str, Any]:
        """Return the story as the page shows it, with every state on its two ways."""
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
    """Yield every story, in the order of their file names."""
    for file in sorted(FOLDER.glob("*.toml")):
        yield Story(file.stem, tomllib.loads(file.read_text(encoding="utf-8")))
