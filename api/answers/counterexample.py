"""Counterexamples: paths through a protocol, with their findings, export formats and archived traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path as File
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import pandas, pick
from fencepost.explorers.verdict import PropertyResult
from fencepost.invariants.catalogue import Run, values_of
from fencepost.invariants.protocols import Protocol, protocol
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Interpreter, Path
from fencepost.model.language.records import Key, Record

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.counterexamples.replay import Replay
    from fencepost.counterexamples.trace import Trace
    from rich.console import Console, RenderableType


@dataclass(frozen=True)
class Step:
    """One step of a path: its action, its parameters, and the fields that it changes."""

    number: int
    action: str
    args: Mapping[str, str]
    changes: tuple[str, ...]
    text: str
    """The step, written as in a trace, such as `follower-fetch follower=1 leader=0`."""


@dataclass(frozen=True)
class State:
    """A state of a path. State 0 is the initial state. Fields have names such as `replica[1].log`; values are text."""

    number: int
    fields: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.fields[name]


def fields_of(record: type[Record], key: Key) -> dict[str, str]:
    """Return the fields of a state as text, keyed by names such as `replica[1].log`."""
    from fencepost.counterexamples.states import parts

    cells = ((f"{part.label}." if part.label else "", cell) for part in parts(record, key) for cell in part.cells)
    return {
        f"{where}{cell.name}": cell.text if cell.messages is None else " ".join(cell.messages) for where, cell in cells
    }


def changes_of(record: type[Record], before: Key, after: Key) -> tuple[str, ...]:
    from fencepost.counterexamples.states import changes

    return tuple(item.whole for item in changes(record, before, after))


@dataclass(frozen=True, repr=False)
class Counterexample:
    """A path to a violation, a witness or a deadlock, or the path with the worst cost."""

    trace: Trace
    path: Path

    def __repr__(self) -> str:
        return f"<Counterexample of {self.trace.protocol.name}: {self.finding}, {self.length} states>"

    @property
    def length(self) -> int:
        """The number of states of the path, including the initial state."""
        return self.path.length

    @property
    def loop(self) -> int | None:
        """The number of the state at which the loop starts, or None if the path has no loop."""
        return self.path.loop

    @property
    def prop(self) -> str:
        """The name of the property; empty for a deadlock."""
        return self.trace.prop.name if self.trace.prop else ""

    @cached_property
    def plain(self) -> Interpreter:
        """The interpreter that executes the path."""
        return self.trace.interpreter()

    @cached_property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.plain.show(step) for step in self.path.steps)

    @cached_property
    def culprit(self) -> str:
        """The values for which the property is violated, such as `leader=1, offset=0`, or an empty string."""
        from fencepost.counterexamples.violating_binding import violating_binding

        return self.trace.args_told or str(violating_binding(self.trace, self.path) or "")

    @cached_property
    def finding(self) -> str:
        """The finding as a clause, such as `weak-isr is violated for leader=1, offset=0`."""
        values = "" if self.trace.args else self.culprit
        return f"{self.trace.finding} for {values}" if values else self.trace.finding

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        record, states = self.trace.protocol.machine.state, self.path.states
        found = []
        for number, (step, text) in enumerate(zip(self.path.steps, self.texts, strict=True), 1):
            shown = {
                name: self.plain.show_argument(domain, value)
                for (name, domain), value in zip(step.action.params, step.args, strict=True)
            }
            changed = changes_of(record, states[number - 1], states[number])
            found.append(Step(number, step.action.label, MappingProxyType(shown), changed, text))
        return tuple(found)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The states of the path, starting with the initial state."""
        record = self.trace.protocol.machine.state
        shown = (MappingProxyType(fields_of(record, key)) for key in self.path.states)
        return tuple(State(number, fields) for number, fields in enumerate(shown))

    @cached_property
    def replayed(self) -> Replay:
        """The replayed path, from which all formats are generated."""
        from fencepost.counterexamples.replay import follow

        return follow(self.trace)

    def titled(self, title: str) -> Trace:
        """Return the trace with a new title but no source or reason, for a page that shows those separately."""
        return replace(self.trace, title=title or self.trace.title, source="", why="")

    def render(self, form: str, model: str = "") -> str:
        """Return the path as `text`, `mermaid`, `html`, `itf`, `pytest`, or `trace` (the format that `replay` reads).
        The HTML page contains all states within two steps of the path, so that users can try other steps.
        """
        if form == "trace":
            return self.replayed.text
        if form == "text":
            return trace_text(self.trace, self.path)
        if form == "html":
            from fencepost.counterexamples.browser.book import section
            from fencepost.counterexamples.render.html import render as page

            return page(self.replayed, more=section(self.trace, self.path))
        from fencepost.counterexamples.render import render

        return render(form, self.replayed, model)

    def explorer(self) -> Explorer:
        """Return a page for notebooks, where the user can step through the path or try other steps."""
        return Explorer(self.render("html"))

    def save(self, file: str | File) -> None:
        """Write the path to a file that `replay` can read; raise UsageError if that fails."""
        from fencepost.counterexamples.replay import write

        write(file, self.trace)

    def to_dict(self) -> dict[str, Any]:
        return {"property": self.prop or None, **pick(self, "finding length"), "steps": list(self.texts)}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per state, with the step that leads to the state and every field of the state."""
        pd = pandas()
        made = pd.DataFrame([dict(state.fields) for state in self.states]).rename_axis("state")
        made.insert(0, "step", ["", *self.texts], allow_duplicates=True)
        return made

    def __str__(self) -> str:
        return self.render("text")

    def _repr_html_(self) -> str:
        from fencepost.counterexamples.render.html import figure

        return figure(self.trace, self.path)


@dataclass(frozen=True)
class Explorer:
    """A page for exploring a path, shown in its own frame."""

    page: str

    def _repr_html_(self) -> str:
        from fencepost.counterexamples.browser.book import framed

        return framed(self.page)


class Histories(Mapping[str, Counterexample]):
    """Paths by property name; each path is computed on first use."""

    def __init__(self, found: Mapping[str, PropertyResult], make: Callable[[PropertyResult], Counterexample]) -> None:
        self.found, self.make = found, make
        self.made: dict[str, Counterexample] = {}

    def __getitem__(self, name: str) -> Counterexample:
        if name not in self.made:
            self.made[name] = self.make(self.found[name])
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


WIDTH = 100
"""Width, in columns, of output that does not go to a terminal, such as a build log or an email."""


def trace_of_path(found: Protocol, constants: Constants, prop: str | None, path: Path, **more: Any) -> Trace:
    """Return the trace of a path that decides a property. `more` overrides the trace's source and reason."""
    from fencepost.counterexamples.trace import trace_of_path as made

    why = next((item.sentence for item in found.properties if item.name == prop), "")
    return made(found, constants, prop, path, **{"source": found.machine.source, "why": why, **more})


def way_of(found: Protocol, constants: Constants, to: DomainError | Path | None, *, normalize: bool) -> str:
    """Return the path to an invalid value or to a state where engines differ, or "" if there is no such path."""
    from fencepost.counterexamples.history import way_text
    from fencepost.counterexamples.trace import Trace

    if to is None or not to.states:
        return ""
    trace = Trace(found.name, found, constants, None, to.steps, normalize=normalize)
    return way_text(trace, Path(to.states[0], to.steps, to.states))


def bare(console: Console, content: RenderableType) -> str:
    """Return a Rich layout as text without trailing spaces."""
    with console.capture() as caught:
        console.print(content)
    return "".join(f"{line.rstrip()}\n" for line in caught.get().splitlines())


def trace_text(trace: Trace, path: Path) -> str:
    from fencepost.counterexamples.text import render
    from rich.console import Console

    return bare(Console(width=WIDTH, no_color=True, force_terminal=False, highlight=False), render(trace, path))


def archived(run: Run, prop: str) -> str:
    """Return the path of a violation's archived trace if it has the run's constants, and otherwise an empty string."""
    from fencepost.counterexamples.trace import ARCHIVE

    name = run.traces.get(prop, "")
    if not name or not (ARCHIVE / name).is_file():
        return ""
    same = _constants_in(name) == protocol(run.protocol).machine.set_constants(values_of(run))
    return f"counterexamples/archive/{name}" if same else ""


@cache
def _constants_in(name: str) -> Constants:
    from fencepost.counterexamples.reader import read
    from fencepost.counterexamples.trace import ARCHIVE

    return read(ARCHIVE / name).trace.constants
