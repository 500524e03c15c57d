"""A story, line by line, as it happens."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = Literal["step", "operator", "seen", "log"]
MARKS: dict[Kind, str] = {"step": "", "operator": "$ ", "seen": "  ", "log": "  | "}
"""The mark before a line: a step of the story, a command of the operator, what is seen then, a line of a log or a
tool."""


@dataclass(frozen=True)
class Line:
    """One line with the seconds since the beginning."""

    seconds: float
    kind: Kind
    text: str

    def shown(self) -> str:
        """Return the line as it is printed."""
        return f"{self.seconds:7.2f}  {MARKS[self.kind]}{self.text}"


@dataclass
class Story:
    """The lines so far; each is handed to `hear` at once."""

    hear: Callable[[Line], None]
    lines: list[Line] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def tell(self, text: str, kind: Kind = "step") -> None:
        """Add a line."""
        line = Line(round(self.seconds, 2), kind, text)
        self.lines.append(line)
        self.hear(line)
