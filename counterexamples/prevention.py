"""Prevention of a path: other settings or a later protocol under which the same steps end differently.

Each switch is flipped, and the steps are taken again under the plain semantics. The first guard that refuses a step
shows the effect of the switch. A path does not count as prevented if the property is decided before a step is refused,
or if the model raises an error. Other paths may still violate the property with the same settings.
"""

import ast
import linecache
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

from fencepost.counterexamples.shortening import bounds_of
from fencepost.counterexamples.sources import Place, place_of, settings_of, suspects
from fencepost.counterexamples.states import Change, changes
from fencepost.counterexamples.trace import Trace
from fencepost.explorers.liveness.shown import shown
from fencepost.explorers.paths import holds_at_end
from fencepost.explorers.program.subset.program import Guards, check, guards_of
from fencepost.invariants.catalogue import Entry
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.constants import RUNTIME, Constant, Constants
from fencepost.model.language.errors import DisabledError, FencepostError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter, Path, Step, Transition
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key
from fencepost.model.language.trees import definition_of

FEW = 4
"""If a constant has at most this many values, every value is tried. A constant with more values counts as a budget."""


class Line(NamedTuple):
    place: Place
    text: str


class Ending(NamedTuple):
    """A different ending of the steps: the number (from 1) of the first step that differs, and its action's sentence.

    `guard` is the line of the guard that refuses the step, if any. `differs` describes how the step differs. If only
    the verdict differs, the step is 0, and the sentence explains why an infinite behaviour is not a violation.
    """

    step: int
    guard: Line | None
    differs: tuple[Change, ...]
    sentence: str


@dataclass(frozen=True)
class Prevention:
    """A setting or a protocol under which the steps end differently. `is_usual` says whether the setting is the default
    or belongs to the version. `lines` are the lines of the model that read the setting.
    """

    setting: str
    meaning: str
    is_usual: bool
    ending: Ending
    lines: tuple[Line, ...]


def preventions(trace: Trace, path: Path) -> list[Prevention]:
    """Return the settings that prevent a path: those of its known bug first, then usual settings, then others."""
    if trace.prop is None or trace.prop.kind is Kind.AT_MOST or not path.steps:
        return []
    guards, reads = _checked(trace.protocol.machine)
    usual = trace.interpreter()
    raws = [usual.apply(before, step).raw for before, step in zip(path.states, path.steps, strict=False)]
    named = {name for entry in suspects(trace) for name in settings_of(trace, entry)}
    found: list[tuple[tuple[bool, bool, int], Prevention]] = []
    for name, constant, value, is_usual in _alternatives(trace):
        try:
            constants = trace.protocol.machine.set_constants({**trace.constants.values, name: value})
            other = Interpreter(trace.protocol.machine, constants, normalize=trace.normalize)
        except (UsageError, ModelError):
            continue  # these settings cannot be combined
        if not _begins(other, path.start):
            continue
        ended = _replayed(trace, path, raws, other, guards)
        if ended is not None:
            setting = f"{name}={str(constant.show(value)).lower()}"
            prevention = Prevention(setting, constant.meaning, is_usual, ended, reads.get(name, ()))
            found.append(((name not in named, not is_usual, len(found)), prevention))
    return [*(prevention for _, prevention in sorted(found, key=lambda item: item[0])), *_later(trace, path, raws)]


def _begins(other: Interpreter, start: Key) -> bool:
    try:
        return start in other.initial_states()
    except FencepostError:
        return False


def is_prevented(
    machine: Machine, constants: Constants, prop: Property, path: Path, values: Mapping[str, int], *, normalize: bool
) -> bool:
    """Return whether other constants prevent a path, either by refusing a step or by leaving the property undecided."""
    other = Interpreter(machine, machine.set_constants({**constants.values, **values}), normalize=normalize)
    state = path.start
    try:
        if _decides(other, prop, state, None):
            return False
        for step in path.steps:
            last = other.apply(state, step)
            if _decides(other, prop, state, last):
                return False
            state = last.after
    except DisabledError:
        return True
    except FencepostError:
        return False
    return True


def _decides(other: Interpreter, prop: Property, before: Key, last: Transition | None) -> bool:
    if prop.kind.over_behaviours:
        return False
    states = (before,) if last is None else (before, last.after)
    return holds_at_end(other, prop, states, last) is (prop.kind is Kind.SOMETIMES)


def known_as(trace: Trace, found: list[Prevention]) -> list[Entry]:
    turned = {prevention.setting.partition("=")[0] for prevention in found}
    return [
        entry for entry in suspects(trace) if not settings_of(trace, entry) or settings_of(trace, entry).keys() & turned
    ]


def _alternatives(trace: Trace) -> Iterator[tuple[str, Constant[Any], int, bool]]:
    """Yield every other value of every switch, except switches that determine sizes or are not read at run time."""
    machine = trace.protocol.machine
    usual = dict(machine.version(trace.version).values) if trace.version else {}
    sizes = {name for total in bounds_of(machine.state) for name in total.names} | _read(
        definition_of(machine.initial.function)
    )
    for name, constant in machine.constants.declared().items():
        now = int(trace.constants.values[name])
        is_number = constant.high - constant.low >= FEW and not constant.spellings()
        if constant.sort != RUNTIME or name in sizes or is_number:
            continue
        for value in sorted(set(constant.spellings().values()) or range(constant.low, constant.high + 1)):
            if value != now:
                yield name, constant, value, value == int(usual.get(name, constant.default))


def _later(trace: Trace, path: Path, raws: Sequence[Key]) -> Iterator[Prevention]:
    """Yield the protocols of the same family under which the steps end differently, oldest first."""
    machine = trace.protocol.machine
    for protocol in PROTOCOLS.values():
        other = protocol.machine
        known = {item.name: parameters(item) for item in other.actions}
        same = other.state is machine.state and other.constants is machine.constants and other.name != machine.name
        if same and all(known.get(step.action.name) == parameters(step.action) for step in path.steps):
            plain = Interpreter(other, trace.constants, normalize=trace.normalize)
            ended = _replayed(trace, path, raws, plain, _checked(other)[0])
            if ended is not None:
                yield Prevention(f"protocol {other.name}", other.sentence, False, ended, ())


def parameters(action: Action) -> list[tuple[str, type]]:
    return [(name, type(domain)) for name, domain in action.params]


def _replayed(trace: Trace, path: Path, raws: Sequence[Key], other: Interpreter, guards: Guards) -> Ending | None:
    """Take the steps of a path on a changed machine. Return where and how the steps end differently, or None if they
    end in the same way. `raws` are the states after each step of the path, before `normalize`.
    """
    record, state, states = other.machine.state, path.start, [path.start]
    prop = trace.prop
    assert prop is not None
    first: Ending | None = None
    try:
        if _decides(other, prop, state, None):
            return None
        for number, (raw, step) in enumerate(zip(raws, path.steps, strict=True), 1):
            mine = Step(other.machine.action(step.action.name), step.args)
            try:
                last = other.apply(state, mine)
            except DisabledError as error:
                return _refused(guards, mine, error, number, first)
            if _decides(other, prop, state, last):
                return None
            if first is None and last.raw != raw:
                differs = tuple(item for item in changes(record, raw, last.raw) if not item.is_message)
                first = Ending(number, None, differs, mine.action.sentence)
            state = last.after
            states.append(state)
        if prop.kind.over_behaviours:
            found = shown(other, prop, trace.args, replace(path, states=tuple(states)))
            return (first or Ending(0, None, (), found)) if isinstance(found, str) else None
    except FencepostError:
        return None  # an error in the model does not prevent the path
    return first or Ending(0, None, (), "")


def _refused(guards: Guards, step: Step, error: DisabledError, number: int, first: Ending | None) -> Ending:
    guard = guards.refused(step.action, error)
    if first is not None or guard < 0:
        return first or Ending(number, None, (), step.action.sentence)
    (line, _), _, condition = guards.found[step.action.name][guard]
    where = Line(Place(place_of(step.action.function).file, line), condition)
    return Ending(number, where, (), step.action.sentence)


_CHECKED: dict[int, tuple[Machine, Guards, dict[str, tuple[Line, ...]]]] = {}
"""Guards and lines, keyed by the machine's id. The machine is stored too, so that its id is not reused."""


def _checked(machine: Machine) -> tuple[Guards, dict[str, tuple[Line, ...]]]:
    if id(machine) in _CHECKED:
        return _CHECKED[id(machine)][1:]
    program = check(machine)
    found: dict[str, dict[Line, None]] = {}
    for function, checked in program.functions.items():
        file = place_of(function).file
        nodes = [node for node in ast.walk(checked.node) if isinstance(node, ast.Attribute)]
        for node in sorted(nodes, key=lambda node: node.lineno):
            if _is_constant(node, node.attr):
                line = Line(Place(file, node.lineno), linecache.getline(str(file), node.lineno).strip())
                found.setdefault(node.attr, {})[line] = None
    reads = {name: tuple(lines) for name, lines in found.items()}
    return _CHECKED.setdefault(id(machine), (machine, guards_of(program), reads))[1:]


def _read(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_constant(node, node.attr)}


def _is_constant(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == name
        and isinstance(node.value, ast.Name)
        and node.value.id == "c"
    )
