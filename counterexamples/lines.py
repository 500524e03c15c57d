"""The lines of a trace file before they are interpreted: header, actions and states."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as File
from typing import NamedTuple, NoReturn

from fencepost.counterexamples.trace import FORMAT, RULE
from fencepost.counterexamples.values import quoted
from fencepost.explorers.running.files import read_named
from fencepost.model.language.errors import UsageError, nearest

NEEDED = ("format", "title", "protocol", "verdict")
HEADERS = (
    *("format", "title", "protocol", "version", "constants", "defaults", "normalize", "removed", "kafka", "recorded"),
    *("initial", "property", "for", "verdict", "fairness", "without", "source", "why"),
)
A_TRACE = f"A trace is a text file that starts with `format: {FORMAT}`."
A_HISTORY = "To run histories against real clients, use `fencepost.conform_clients(NAME, traces=FILE)`."
LONGEST = 1 << 27
"""Maximum size of a trace in bytes."""
AN_EXAMPLE = "counterexamples/archive/kip101-weak-isr.trace"


class Line(NamedTuple):
    """A line of a trace file, joined with its continuation lines."""

    number: int
    text: str


def load(path: str | File) -> "Lines":
    try:
        raw = read_named(File(path), LONGEST)
    except FileNotFoundError:
        raise UsageError(f"{path}: the file does not exist. Name a trace file, such as {AN_EXAMPLE}.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"{path}: the file cannot be read: {reason}. Name a trace file, such as {AN_EXAMPLE}."
        ) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{number}: this line is not UTF-8 text, so it is not a trace. {A_TRACE}") from None
    return Lines(str(path), text)


class Lines:
    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self.lines = text.replace("\r\n", "\n").split("\n")
        if not self.lines[-1]:
            self.lines.pop()

    def refuse(self, number: int, why: str) -> NoReturn:
        raise UsageError(f"{self.path}:{number}: {why}")

    @contextmanager
    def at(self, number: int) -> Iterator[None]:
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self.path}:{number}: {error}") from None

    def look_at_first_line(self) -> None:
        first = next((line for line in self.logical(0, len(self.lines))), None)
        if first is None:
            self.refuse(1, f"the file is empty. {A_TRACE}")
        found = re.fullmatch(r"format:\s*(\S.*)", first.text)
        if found is None:
            other = A_HISTORY if self.path.endswith(".history") else A_TRACE
            self.refuse(first.number, f"the file starts with {quoted(first.text)}, so it is not a trace. {other}")
        if found.group(1).startswith("induction"):
            self.refuse(
                first.number,
                f"the file contains a step that breaks an induction, not a run. Read it as text. {A_TRACE}",
            )
        if found.group(1) != FORMAT:
            self.refuse(
                first.number,
                f"the file has format {found.group(1)!r}, but this version of Fencepost reads only format {FORMAT}. "
                "Read the file with the version that wrote it, or find the trace again with "
                "`fencepost.check(PROTOCOL)`.",
            )

    def rules(self) -> tuple[int, int]:
        """Return the indices of the two lines `----`, which end the header and the actions."""
        found = [index for index, line in enumerate(self.lines) if line.rstrip() == RULE][:2]
        if len(found) < 2:
            where, after = ("actions", "last action") if found else ("header", "header, and one after the actions")
            self.refuse(
                len(self.lines),
                f"the file ends in the {where}, so it is truncated. Write a line `{RULE}` after the {after}; "
                "`fencepost.replay(FILE, rewrite=True)` adds the states.",
            )
        return found[0], found[1]

    def logical(self, first: int, last: int) -> list[Line]:
        found: list[Line] = []
        for index in range(first, last):
            text = self.lines[index]
            if not text.strip() or text.startswith("#"):
                continue
            if not text[0].isspace():
                found.append(Line(index + 1, text.strip()))
            elif found:
                found[-1] = found[-1]._replace(text=f"{found[-1].text} {text.strip()}")
            else:
                self.refuse(
                    index + 1,
                    f"{quoted(text.strip())} is indented, but there is no line above that it could continue. Remove "
                    "the indentation.",
                )
        return found

    def header(self, lines: list[Line]) -> dict[str, Line]:
        found: dict[str, Line] = {}
        for line in lines:
            name, colon, value = line.text.partition(":")
            if not colon:
                self.refuse(
                    line.number,
                    f"{quoted(line.text)} is not a header. Write `name: value`, or indent a continuation of the line "
                    "above.",
                )
            if name not in HEADERS:
                hint = nearest(name, HEADERS, "The headers are:")
                self.refuse(line.number, f"there is no header {quoted(name)}.{hint}")
            if name in found:
                self.refuse(
                    line.number, f"header {name!r} appears twice, first in line {found[name].number}. Write it once."
                )
            if not value.strip():
                self.refuse(line.number, f"header {name!r} has no value. Write a value, or remove the line.")
            found[name] = Line(line.number, value.strip())
        for name in NEEDED:
            if name not in found:
                self.refuse(
                    lines[-1].number, f"the header lacks {name!r}, which every trace needs. Write a line `{name}: ...`."
                )
        return found
