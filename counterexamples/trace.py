"""A trace: a question, and the steps that answer it. This module writes traces as text, and `reader` reads them.

The file has a header, the actions, and the states, separated by lines `----`. The header and the actions may be edited
by hand; the states are generated (see `states`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from fencepost.counterexamples.folding import fold
from fencepost.explorers.program.removal import Guard, without
from fencepost.invariants.protocols import Protocol
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, UsageError
from fencepost.model.language.interpreter import Interpreter, Path, Step
from fencepost.model.language.records import Key

if TYPE_CHECKING:
    from fencepost.explorers.verdict import PropertyResult, Result

FORMAT = "1"
RULE = "----"
LOOP = "loop:"
"""The line before the repeated actions. If no action follows it, nothing more happens."""
WORST = "worst"
"""Verdict of a trace along the most expensive path that an at-most property allows."""
DIFFERS = "differs"
"""Verdict of a path after which Kafka deviates from the model."""
RECORDED = "recorded"
"""Verdict of a cluster's history, which need not violate any property."""
WIDTH = 100
ARCHIVE = File(__file__).parent / "archive"
"""Folder with one shortest trace for each expected violation, in a file named protocol-property.trace."""


@dataclass(frozen=True)
class Trace:
    """The steps of a protocol from an initial state, and their finding.

    `prop` is violated in the last state or, if it is a witness, reached there. If there is no `prop`, the last state
    enables no action. For a property of behaviours, `args` are the values of its parameters. Such a trace violates the
    property and repeats forever from the state with index `loop`, or is the `worst` path that the property allows.

    `initial` contains the parameters of the machine's initial action, or None if there is only one initial state.
    `removed` is the guard that the protocol omits, or None. If `kafka` is set, it is the release that deviates from the
    model at the last step, and there is no property. If `recorded` is set, it names the partition of a cluster's
    history and the offsets in its metadata log, and there is no property.
    """

    title: str
    protocol: Protocol
    constants: Constants
    prop: Property | None
    steps: tuple[Step, ...]
    initial: tuple[Any, ...] | None = None
    version: str = ""
    normalize: bool = True
    source: str = ""
    why: str = ""
    args: tuple[int, ...] = ()
    loop: int | None = None
    worst: bool = False
    removed: Guard | None = None
    kafka: str = ""
    recorded: str = ""

    @property
    def judged_by_its_end(self) -> bool:
        """Return whether the trace must end with a finding, unlike runs of Kafka and histories of clusters."""
        return not self.kafka and not self.recorded

    @property
    def verdict(self) -> str:
        if not self.judged_by_its_end:
            return DIFFERS if self.kafka else RECORDED
        return WORST if self.worst else verdict_of(self.prop)

    @property
    def finding(self) -> str:
        if self.kafka:
            return f"Kafka {self.kafka} deviates from the model"
        if self.recorded:
            return (
                f"a possible history of a cluster: the controller's steps are recorded ({self.recorded}), the others "
                "assumed"
            )
        if self.worst and self.prop is not None:
            return f"{self.prop.name} holds, and no path costs more"
        which = f" for {self.args_told}" if self.args else ""
        return "no action is enabled" if self.prop is None else f"{self.prop.name} is {self.verdict}{which}"

    @property
    def args_told(self) -> str:
        return self.prop.behaviour.shown(self.args) if self.prop is not None and self.args else ""

    @property
    def constants_text(self) -> str:
        return self._constants()[0]

    def interpreter(self, *, bounded: bool = False) -> Interpreter:
        machine = self.protocol.machine if self.removed is None else without(self.protocol.machine, self.removed)
        bounded = bounded or self.removed is not None
        return Interpreter(machine, self.constants, normalize=self.normalize, bounded=bounded)

    def start(self, plain: Interpreter) -> str:
        if self.initial is None:
            return ""
        return plain.show(Step(self.protocol.machine.initial, self.initial)).partition(" ")[2]

    def head(self) -> str:
        plain = self.interpreter()
        header = "".join(_fold(f"{name}: {value}") for name, value in self._header(plain) if value)
        lines = [line for step in self.steps[: self.loop] for line in fold(plain.show(step), WIDTH)]
        if self.loop is not None:
            lines += [LOOP, *(line for step in self.steps[self.loop :] for line in fold(plain.show(step), WIDTH))]
        return "\n".join([f"{header}{RULE}", *lines, RULE, ""])

    def _header(self, plain: Interpreter) -> Iterator[tuple[str, str]]:
        constants, defaults = self._constants()
        yield "format", FORMAT
        yield "title", self.title
        yield "protocol", self.protocol.name
        yield "version", self.version
        yield "constants", constants
        yield "defaults", defaults
        yield "normalize", "" if self.normalize else "off"
        yield "removed", f"{self.removed.name}: {self.removed.condition}" if self.removed else ""
        yield "kafka", self.kafka
        yield "recorded", self.recorded
        yield "initial", self.start(plain)
        yield "property", self.prop.name if self.prop else ""
        yield "for", self.args_told
        yield "verdict", self.verdict
        yield from promises_of(self.prop)
        yield "source", self.source
        yield "why", self.why

    def _constants(self) -> tuple[str, str]:
        """Return the constants that matter to a reader, and the switches that have their usual values. Traces contain
        the values of both, so that a trace keeps its meaning when a default changes.
        """
        machine = self.protocol.machine
        usual = dict(machine.version(self.version).values) if self.version else {}
        notable: list[str] = []
        quiet: list[str] = []
        for name, constant in machine.constants.declared().items():
            value = self.constants.values[name]
            text = f"{name}={str(constant.show(value)).lower()}"
            ordinary = constant.spellings() and int(value) == int(usual.get(name, constant.default))
            (quiet if ordinary else notable).append(text)
        return " ".join(notable), " ".join(quiet)


def verdict_of(prop: Property | None) -> str:
    if prop is None:
        return "deadlock"
    return "reached" if prop.kind is Kind.SOMETIMES else "violated"


def promises_of(prop: Property | None) -> tuple[tuple[str, str], ...]:
    if prop is None or prop.eventual is None:
        return ()
    return ("fairness", prop.eventual.fairness_text), ("without", prop.eventual.without_text)


def trace_of(
    result: Result, prop: str | None, *, lookup: Callable[[str], Protocol] = named_protocol, **about: Any
) -> Trace:
    """Return the trace that an exploration found for a property or, if no `prop` is given, for a deadlock. For `about`,
    see `trace_of_path`. Raises UsageError if the exploration has no such trace.
    """
    path = result.deadlock if prop is None else result.of(prop).path
    if path is None:
        raise UsageError(
            f"the exploration of {result.protocol!r} found no path for {prop or 'a deadlock'}, so there is no trace "
            "to write."
        )
    found = lookup(result.protocol)
    declared = found.machine.constants.declared()
    constants = found.machine.set_constants(
        {name: declared[name].parse(str(value)) for name, value in result.constants.items()}
    )
    return trace_of_path(found, constants, prop, path, item=result.of(prop) if prop else None, **about)


def trace_of_path(
    found: Protocol,
    constants: Constants,
    prop: str | None,
    path: Path,
    *,
    title: str = "",
    source: str = "",
    why: str = "",
    item: PropertyResult | None = None,
    **about: Any,
) -> Trace:
    """Return the trace along a path that decides a property at its end or, if no `prop` is given, ends in a deadlock.
    `item` is the verdict on the property, which is needed if the path alone does not determine it. `about` may give the
    trace's version, whether it is normalized, and the guard that the path omits.
    """
    judged = found.select((prop,))[0] if prop else None
    worst = judged is not None and judged.kind is Kind.AT_MOST and item is not None and item.verdict == "holds"
    said = (
        f"the worst case of {prop}" if worst else f"{prop} is {verdict_of(judged)}" if prop else "no action is enabled"
    )
    made = Trace(
        _one_line(title) or f"{found.name}: {said}",
        found,
        constants,
        judged,
        path.steps,
        source=_one_line(source),
        why=_one_line(why),
        args=item.args if item else (),
        loop=path.loop,
        worst=worst,
        **about,
    )
    return from_start(made, path)


def from_start(trace: Trace, path: Path) -> Trace:
    plain = trace.interpreter()
    starts = list(starting_points(plain))
    if len({state for _, state in starts}) == 1:
        return trace
    return replace(trace, initial=next(step.args for step, state in starts if state == path.start))


def starting_points(plain: Interpreter) -> Iterator[tuple[Step, Key]]:
    for step in plain.steps(plain.machine.initial, plain.zero):
        try:
            yield step, plain.begin(step.args)
        except DisabledError:
            continue


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _fold(line: str) -> str:
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) + "\n"
