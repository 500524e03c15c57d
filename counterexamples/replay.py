"""Replay of traces under the plain semantics. Recorded states are compared, to report changes to the model."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path as File
from typing import NamedTuple, NoReturn

from fencepost.counterexamples.history import UNDER_TITLE, states_text
from fencepost.counterexamples.lines import Lines
from fencepost.counterexamples.reader import TraceFile, read, read_lines
from fencepost.counterexamples.trace import Trace
from fencepost.explorers.liveness.shown import shown
from fencepost.explorers.paths import holds_at_end
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.explorers.running.files import write_named
from fencepost.explorers.verdict import Reach, Verdict
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.errors import DisabledError, FencepostError, MismatchError, UsageError
from fencepost.model.language.interpreter import Interpreter, Path, Step, Transition
from fencepost.model.language.own_names import path_shown
from fencepost.model.language.records import Key


class Difference(NamedTuple):
    """The first line at which the recorded states differ from the model's states. None stands for a line beyond the
    end. `step` is the number of the step if a different step was taken, or 0 if a different state was reached.
    """

    place: str
    was: str | None
    now: str | None
    step: int = 0

    def __str__(self) -> str:
        if self.was is None:
            return f"{self.place}: the states end, but the model continues with {(self.now or '').strip()!r}."
        if self.step:
            at = f"{self.place}: the steps differ from the recorded steps at step {self.step}"
            return f"{at}: the file has {self.was.strip()!r}, but the model has {(self.now or '').strip()!r}."
        there = f"say {self.was.strip()!r}" if self.was.strip() else "have an empty line"
        here = f"gives {self.now.strip()!r}" if self.now else "gives an empty line"
        if self.now is None:
            here = "has nothing more"
        return f"{self.place}: the states {there}, but the model {here}."


def first_difference(file: TraceFile, text: str, *, whole: bool = True) -> Difference | None:
    """Return where the recorded states and `text` first differ. Unless `whole` is set, `text` may be shorter."""
    recorded, given = "\n".join(file.recorded).rstrip().splitlines(), text.splitlines()
    for index, (was, now) in enumerate(zip_longest(recorded, given)):
        place = f"{file.path}:{file.states + index}"
        if now is None and not whole:
            return None
        if was is None:
            return Difference(place, None, next(line for line in given[index:] if line))
        if was != now:
            return Difference(
                place, was, now, 0 if now is None else _step_at(given, index) or _step_at(recorded, index)
            )
    return None


def _step_at(lines: Sequence[str], index: int) -> int:
    while index and lines[index].startswith(UNDER_TITLE):
        index -= 1
    found = re.match(r"(\d+) \S", lines[index])
    return int(found.group(1)) if found else 0


def changes_since(file: TraceFile | None, text: str, *, whole: bool) -> str:
    if file is None or not any(file.recorded):
        return ""
    found = first_difference(file, text, whole=whole)
    if found is None and whole:
        return " The states are as recorded, so the header or the model has changed."
    if found is None:
        return " The states are as recorded, so the header or the model has changed, or steps and states were edited."
    if found.step:
        was = (found.was or "").strip()
        return f" The steps differ from the recorded steps at step {found.step}: {found.place} has {was!r}."
    if found.was is None:
        return f" The file has been truncated or edited since the states were written: {found}"
    return f" The header has been edited, or the model has changed, since the states were written: {found}"


SHOWN = 4


@dataclass(frozen=True)
class Replay:
    trace: Trace
    path: Path
    verdict: Verdict

    @property
    def states(self) -> str:
        return states_text(self.trace, self.path)

    @property
    def text(self) -> str:
        return self.trace.head() + self.states


def follow(trace: Trace, file: TraceFile | None = None) -> Replay:
    """Replay a trace; raise UsageError if a step is disabled, or if the trace does not end as it claims. If the trace's
    `file` is given, error messages name the line and what has changed since the states were recorded.
    """
    return _Replaying(trace, file).run()


def replay(path: str | File, lookup: Callable[[str], Protocol] = named_protocol) -> Replay:
    file = read(path, lookup)
    made = follow(file.trace, file)
    if not any(file.recorded):
        raise UsageError(
            f"{path}:{file.states - 1}: the file contains no states. Write states with "
            f"`{_rewriting(path, file.trace)}`."
        )
    difference = first_difference(file, made.states)
    if difference:  # the model may have new constants, each with its own fields
        earlier = states_text(made.trace, made.path, known=frozenset(re.findall(r"(\w+)=", file.head)))
        difference = first_difference(file, earlier) and difference
    if difference:
        cause = "The file has been edited" if difference.step else "The file has been edited, or the model has changed,"
        raise UsageError(
            f"{difference} {cause} since the states were written. Check the steps, then update the states with "
            f"`{_rewriting(path, file.trace)}`."
        )
    return made


def replay_text(text: str, lookup: Callable[[str], Protocol] = named_protocol) -> Replay:
    """Replay a trace from the text of its file. The states may be missing, and are not compared."""
    file = read_lines(Lines("trace", text), lookup)
    return follow(file.trace, file)


def _rewriting(path: str | File, trace: Trace) -> str:
    own = own_file(trace.protocol)
    return f"fencepost.replay({_text(path)}, {f'model={_text(own)}, ' if own else ''}rewrite=True)"


def _text(value: object) -> str:
    return json.dumps(str(value), ensure_ascii=False)


def own_file(found: Protocol) -> str:
    return "" if found.name in PROTOCOLS else path_shown(found.machine.initial.function.__code__.co_filename)


def rewrite(path: str | File, lookup: Callable[[str], Protocol] = named_protocol) -> Replay:
    """Replay a trace file and regenerate its states. The header, the actions and the comments stay unchanged."""
    file = read(path, lookup)
    made = follow(file.trace, file)
    _save(path, file.head + made.states, file.newline)
    return made


def write(path: str | File, trace: Trace) -> Replay:
    """Write a trace; raise MismatchError if it does not replay, or UsageError if the file cannot be written."""
    try:
        made = follow(trace)
    except UsageError as error:
        raise MismatchError(f"the trace found for {trace.title!r} does not replay: {error}") from error
    _save(path, made.text)
    return made


class _Replaying:
    def __init__(self, trace: Trace, file: TraceFile | None) -> None:
        self.trace, self.file = trace, file
        self.plain = trace.interpreter()
        self.states: list[Key] = []

    def run(self) -> Replay:
        self.states.append(self.start())
        last = None
        for step in self.trace.steps:
            last = self.take(step)
            self.states.append(last.after)
        path = self.path()
        if self.trace.prop is not None and self.trace.prop.kind.over_behaviours:
            fault = _fault(self.plain, self.trace, path)
            if fault:
                self.refuse_behaviour(path, fault)
        elif self.trace.judged_by_its_end and not _shows(self.plain, self.trace.prop, path, last):
            self.refuse_end(path)
        witness = self.trace.prop is not None and self.trace.prop.kind is Kind.SOMETIMES
        return Replay(self.trace, path, Verdict.HOLDS if witness or self.trace.worst else Verdict.VIOLATED)

    def start(self) -> Key:
        wanted = self.trace.initial
        return self.plain.initial_states()[0] if wanted is None else self.plain.begin(wanted)

    def path(self) -> Path:
        steps = self.trace.steps[: len(self.states) - 1]
        loop = self.trace.loop if len(steps) == len(self.trace.steps) else None
        return Path(self.states[0], steps, tuple(self.states), loop)

    def take(self, step: Step) -> Transition:
        number = len(self.states)
        place = f"{self.file.path}:{self.file.steps[number - 1]}: " if self.file else ""
        try:
            return self.plain.apply(self.states[-1], step)
        except DisabledError as error:
            shown, reason = self.plain.show(step), self.reason(step, error)
            text = states_text(self.trace, self.path(), ending=f"{number} {shown}")
            raise UsageError(
                f"{place}step {number}, `{shown}`, is not possible: {reason}. "
                f"{self.enabled(step)}{changes_since(self.file, text, whole=False)}"
            ) from None
        except FencepostError as error:
            raise type(error)(f"{place}step {number}: {error}") from error

    def reason(self, step: Step, error: DisabledError) -> str:
        guards = guards_of(check(self.plain.machine))
        number = guards.refused(step.action, error)
        if number < 0:
            return "no such message is in flight"
        (line, _), _, condition = guards.found[step.action.name][number]
        return f"the guard `{condition}` ({File(step.action.function.__code__.co_filename).name}:{line}) refuses"

    def enabled(self, step: Step) -> str:
        possible = [item.step for item in self.plain.transitions(self.states[-1])]
        possible.sort(key=lambda item: item.action.name != step.action.name)
        if not possible:
            return "No step is enabled in that state: remove this step and all later steps."
        others = len(possible) - SHOWN
        more = f" or one of {others} others" if others > 1 else " or one other" if others == 1 else ""
        shown = ", ".join(f"`{self.plain.show(item)}`" for item in possible[:SHOWN])
        return f"Write a step that is enabled in that state: {shown}{more}."

    def refuse_end(self, path: Path) -> NoReturn:
        trace, count = self.trace, len(self.trace.steps)
        place = f"{self.file.path}:{self.file.verdict}: " if self.file else ""
        earlier = next((length for length in range(1, path.length) if self.shows_after(length)), None)
        if trace.prop is None:
            fact = "some action is enabled in the last state, so this is not a deadlock"
        elif trace.prop.kind is Kind.SOMETIMES:
            fact = f"witness {trace.prop.name!r} is not reached at the end"
        else:
            fact = f"property {trace.prop.name!r} is not violated at the end"
        if earlier:
            kept = f"after step {earlier - 1}" if earlier > 1 else "in the initial state"
            raise UsageError(f"{place}{fact} of the {count} steps, but it is {kept}. Remove all later steps.")
        since = changes_since(self.file, states_text(trace, path), whole=True)
        raise UsageError(
            f"{place}all steps are possible, but {fact}. Find another trace with `{self.command()}`, or remove the "
            f"file.{since}"
        )

    def refuse_behaviour(self, path: Path, fault: str) -> NoReturn:
        place = f"{self.file.path}:{self.file.verdict}: " if self.file else ""
        since = changes_since(self.file, states_text(self.trace, path), whole=True)
        raise UsageError(
            f"{place}all steps are possible, but they do not show that {self.trace.finding}: {fault}. Find another "
            f"trace with `{self.command()}`, or remove the file.{since}"
        )

    def shows_after(self, length: int) -> bool:
        path = Path(self.states[0], self.trace.steps[: length - 1], tuple(self.states[:length]))
        last = self.plain.apply(self.states[length - 2], self.trace.steps[length - 2]) if length > 1 else None
        return _shows(self.plain, self.trace.prop, path, last)

    def command(self) -> str:
        trace = self.trace
        given = [_text(own_file(trace.protocol) or trace.protocol.name)]
        given += [f"version={_text(trace.version)}"] if trace.version else []
        for name, _, value in (pair.partition("=") for pair in trace.constants_text.split()):
            given.append(f"{name}={value if value.isdecimal() else _text(value)}")
        given += [f"only=[{_text(trace.prop.name)}]"] if trace.prop else []
        given += [f"guards=[{_text(trace.removed.name)}]"] if trace.removed else []
        return f"fencepost.{'ablate' if trace.removed else 'check'}({', '.join(given)})"


def _fault(plain: Interpreter, trace: Trace, path: Path) -> str:
    assert trace.prop is not None
    found = shown(plain, trace.prop, trace.args, path)
    if isinstance(found, str):
        return found
    bound = trace.prop.behaviour.bound
    most = None if bound is None else bound.value(plain.constants.values)
    if found.reach is not Reach.BOUNDED:
        return ""
    kept = most is None or found.cost <= most
    if kept is trace.worst:
        return ""
    return f"the path costs {found.cost}, and the bound is {most if most is not None else 'not given'}"


def _shows(plain: Interpreter, prop: Property | None, path: Path, last: Transition | None) -> bool:
    if prop is None:
        return next(plain.transitions(path.states[-1]), None) is None
    return holds_at_end(plain, prop, path.states, last) is (prop.kind is Kind.SOMETIMES)


def _save(path: str | File, text: str, newline: str = "\n") -> None:
    try:
        write_named(File(path), text.replace("\n", newline).encode())
    except OSError as error:
        raise UsageError(
            f"{path}: the trace cannot be written: {error.strerror}. Choose a path in an existing folder that you may "
            "write to."
        ) from None
