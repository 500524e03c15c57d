"""The strict reader of trace files, which reports the line of anything that it cannot interpret."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

from fencepost.counterexamples.lines import Line, Lines, load
from fencepost.counterexamples.trace import (
    DIFFERS,
    LOOP,
    RECORDED,
    WORST,
    Trace,
    promises_of,
    starting_points,
    verdict_of,
)
from fencepost.counterexamples.values import arguments, pairs, quoted
from fencepost.explorers.program.removal import Guard, find_guard
from fencepost.invariants.protocols import Protocol
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.interpreter import Interpreter, Step

VERDICTS = ("violated", "reached", "deadlock", WORST, DIFFERS, RECORDED)
UNFOLDED = re.compile(r",\s+")
"""A place where a message was folded: joining the lines adds a space, but messages contain no spaces."""


@dataclass(frozen=True)
class TraceFile:
    path: str
    trace: Trace
    head: str
    """The text before the states, with the header and the actions as written."""
    steps: tuple[int, ...]
    verdict: int
    states: int
    recorded: tuple[str, ...]
    newline: str = "\n"


def read(path: str | File, lookup: Callable[[str], Protocol] = named_protocol) -> TraceFile:
    """Return the trace in a file; raise UsageError with the line of anything that cannot be interpreted."""
    return read_lines(load(path), lookup)


def read_lines(lines: Lines, lookup: Callable[[str], Protocol] = named_protocol) -> TraceFile:
    return _Reader(lines, lookup).file()


class _Reader:
    def __init__(self, lines: Lines, lookup: Callable[[str], Protocol]) -> None:
        self.lines, self.refuse, self.at, self.lookup = lines, lines.refuse, lines.at, lookup

    def file(self) -> TraceFile:
        self.lines.look_at_first_line()
        first, second = self.lines.rules()
        header = self.lines.header(self.lines.logical(0, first))
        trace, plain = self.question(header)
        written = self.lines.logical(first + 1, second)
        loop = self.loop(trace, written, header)
        lines = [line for line in written if line.text != LOOP]
        steps = tuple(self.step(plain, line) for line in lines)
        return TraceFile(
            path=self.lines.path,
            trace=replace(trace, steps=steps, initial=self.initial(plain, header), loop=loop),
            head="\n".join(self.lines.lines[: second + 1]) + "\n",
            steps=tuple(line.number for line in lines),
            verdict=header["verdict"].number,
            states=second + 2,
            recorded=tuple(line.rstrip() for line in self.lines.lines[second + 1 :]),
            newline=self.lines.newline,
        )

    def question(self, header: Mapping[str, Line]) -> tuple[Trace, Interpreter]:
        with self.at(header["protocol"].number):
            found = self.lookup(header["protocol"].text)
        constants = self.constants(found, header)
        trace = Trace(
            title=header["title"].text,
            protocol=found,
            constants=constants,
            prop=self.judged(found, header),
            steps=(),
            version=_text(header, "version"),
            normalize=self.normalizes(header),
            source=_text(header, "source"),
            why=_text(header, "why"),
            worst=header["verdict"].text == WORST,
            removed=self.removed(found, header),
            kafka=self.line_of_verdict(
                header,
                "kafka",
                DIFFERS,
                "no release is named. Write a line such as `kafka: 4.1.2`",
                "the header names a release of Kafka",
            ),
            recorded=self.line_of_verdict(
                header,
                "recorded",
                RECORDED,
                "no partition is named. Write a line such as `recorded: t-0, offsets 12 to 140`",
                "the header names a partition of a cluster",
            ),
        )
        plain = trace.interpreter()
        self.behaviours(trace.prop, header)
        return replace(trace, args=self.args(plain, trace.prop, header)), plain

    def behaviours(self, prop: Property | None, header: Mapping[str, Line]) -> None:
        promised = dict(promises_of(prop))
        for name in ("fairness", "without"):
            if name in header and header[name].text != promised.get(name, ""):
                own = "the property has none"
                if prop and promised.get(name):
                    own = f"{prop.name!r} has {quoted(promised[name])}"
                self.refuse(
                    header[name].number,
                    f"{name} is {quoted(header[name].text)}, but {own}. The line only informs the reader: remove "
                    "it, and see whether the trace still replays.",
                )

    def args(self, plain: Interpreter, prop: Property | None, header: Mapping[str, Line]) -> tuple[int, ...]:
        params = prop.eventual.params if prop is not None and prop.eventual is not None else ()
        if "for" not in header:
            if params and prop is not None:
                example = prop.behaviour.shown(plain.arguments(prop)[0])
                self.refuse(
                    header["property"].number,
                    f"property {prop.name!r} needs a value for {', '.join(name for name, _ in params)}, but the "
                    f"header gives none. Write a line such as `for: {example}`.",
                )
            return ()
        line = header["for"]
        if prop is None or not params:
            self.refuse(line.number, "the property has no parameters. Remove the line.")
        known = {prop.behaviour.shown(args): args for args in plain.arguments(prop)}
        if line.text not in known:
            self.refuse(
                line.number,
                f"{quoted(line.text)} is not a value of the property's parameters.{nearest(line.text, list(known))} "
                f"Write a value such as `for: {next(iter(known))}`.",
            )
        return known[line.text]

    def loop(self, trace: Trace, lines: list[Line], header: Mapping[str, Line]) -> int | None:
        places = [place for place, line in enumerate(lines) if line.text == LOOP]
        prop = trace.prop
        if not places:
            if prop is not None and prop.kind is Kind.LEADS_TO:
                self.refuse(
                    header["verdict"].number,
                    f"property {prop.name!r} is violated only by an infinite behaviour, but this trace has no loop. "
                    f"Write a line `{LOOP}` before the actions that repeat, or after the last action if nothing more "
                    "happens.",
                )
            return None
        if len(places) > 1:
            self.refuse(
                lines[places[1]].number,
                f"`{LOOP}` appears twice, first in line {lines[places[0]].number}. Write it once.",
            )
        if prop is None or not prop.kind.over_behaviours or trace.worst:
            self.refuse(
                lines[places[0]].number,
                f"a trace with this verdict must end with its last step, without a loop. Remove `{LOOP}`.",
            )
        return places[0]

    def constants(self, found: Protocol, header: Mapping[str, Line]) -> Constants:
        declared = found.machine.constants.declared()
        chosen: dict[str, int] = {}
        if "version" in header:
            with self.at(header["version"].number):
                chosen.update(found.machine.version(header["version"].text).values)
        named: set[str] = set()
        for key in ("constants", "defaults"):
            if key not in header:
                continue
            with self.at(header[key].number):
                for name, text in pairs(header[key].text, "replicas=3"):
                    if name not in declared:
                        hint = nearest(name, declared, "The constants are:")
                        raise UsageError(f"protocol {found.name!r} has no constant {name!r}.{hint}")
                    if name in named:
                        raise UsageError(f"constant {name!r} appears twice. Write it once.")
                    named.add(name)
                    chosen[name] = declared[name].parse(text)
        with self.at(header.get("constants", header["protocol"]).number):
            return found.machine.set_constants(chosen)

    def line_of_verdict(self, header: Mapping[str, Line], name: str, goes_with: str, missing: str, given: str) -> str:
        verdict = header["verdict"]
        if verdict.text == goes_with and name not in header:
            self.refuse(verdict.number, f"the verdict is {goes_with!r}, but {missing}.")
        if name in header and verdict.text != goes_with:
            self.refuse(header[name].number, f"{given}, but the verdict is not {goes_with!r}. Remove the line.")
        return _text(header, name)

    def judged(self, found: Protocol, header: Mapping[str, Line]) -> Property | None:
        verdict = header["verdict"]
        if verdict.text not in VERDICTS:
            self.refuse(
                verdict.number,
                f"the verdict is {quoted(verdict.text)}, which no trace can "
                f"show.{nearest(verdict.text, list(VERDICTS))} Write `violated` for a property, `reached` for a "
                "witness, `worst` for the most expensive path that an at-most property allows, `deadlock` if no "
                "action is enabled in the last state, `differs` if Kafka deviates from the model, or `recorded` for a "
                "cluster's history.",
            )
        of_none = {"deadlock": "a deadlock", DIFFERS: "a difference from Kafka", RECORDED: "a recorded history"}
        if verdict.text in of_none:
            if "property" in header:
                line, what = header["property"], of_none[verdict.text]
                self.refuse(
                    line.number, f"property {line.text!r} is named, but {what} has no property. Remove the line."
                )
            return None
        if "property" not in header:
            self.refuse(
                verdict.number,
                f"the verdict is {verdict.text!r}, but no property is named. Write a line `property: ...`.",
            )
        with self.at(header["property"].number):
            prop = found.select((header["property"].text,))[0]
        if verdict.text == WORST and prop.kind is not Kind.AT_MOST:
            self.refuse(
                verdict.number,
                f"the verdict is {WORST!r}, but property {prop.name!r} has no costs. Write `verdict: "
                f"{verdict_of(prop)}`.",
            )
        if verdict.text not in (verdict_of(prop), WORST):
            kind = "a witness" if prop.kind is Kind.SOMETIMES else "no witness"
            self.refuse(
                verdict.number,
                f"the verdict is {verdict.text!r}, but property {prop.name!r} is {kind}. Write `verdict: "
                f"{verdict_of(prop)}`.",
            )
        return prop

    def normalizes(self, header: Mapping[str, Line]) -> bool:
        if "normalize" not in header:
            return True
        line = header["normalize"]
        if line.text not in ("on", "off"):
            self.refuse(
                line.number,
                f"normalize is {quoted(line.text)}, which is neither on nor off. Write `off`, or remove the line.",
            )
        return line.text == "on"

    def removed(self, found: Protocol, header: Mapping[str, Line]) -> Guard | None:
        """Return the guard that the trace omits; raise UsageError if its condition has changed."""
        if "removed" not in header:
            return None
        line = header["removed"]
        name, _, condition = line.text.partition(": ")
        with self.at(line.number):
            guard = find_guard(found.machine, name)
        if guard.condition != condition.strip():
            self.refuse(
                line.number,
                f"the condition of guard {guard.name!r} is `{guard.condition}`, but was {quoted(condition)} when the "
                f"trace was written. If this is the intended guard, write `removed: {guard.name}: {guard.condition}`.",
            )
        return guard

    def initial(self, plain: Interpreter, header: Mapping[str, Line]) -> tuple[Any, ...] | None:
        item = plain.machine.initial
        starts = list(starting_points(plain))
        several = len({state for _, state in starts}) > 1
        if "initial" not in header:
            if several:
                example = plain.show(starts[0][0]).partition(" ")[2]
                self.refuse(
                    header["protocol"].number,
                    f"protocol {plain.machine.name!r} has several initial states under these constants, but the "
                    f"header does not say where the trace starts. Write a line such as `initial: {example}`.",
                )
            return None
        line = header["initial"]
        if not item.params:
            self.refuse(
                line.number,
                f"protocol {plain.machine.name!r} has one initial state, which takes no parameters. Remove the line.",
            )
        with self.at(line.number):
            step = Step(item, arguments(plain, item, "initial", line.text))
        if step.args not in [start.args for start, _ in starts]:
            example = plain.show(starts[0][0]).partition(" ")[2]
            self.refuse(
                line.number,
                f"{quoted(line.text)} is not an initial state: a guard of {item.label!r} refuses it. Write, for "
                f"example, `{example}`.",
            )
        return step.args if several else None

    def step(self, plain: Interpreter, line: Line) -> Step:
        label, _, rest = line.text.partition(" #")[0].strip().partition(" ")
        machine = plain.machine
        with self.at(line.number):
            labels = [item.label for item in machine.actions]
            if label not in labels:
                raise UsageError(
                    f"protocol {machine.name!r} has no action {quoted(label)}.{nearest(label, labels)} The actions "
                    f"are: {', '.join(labels)}."
                )
            item = machine.action(label)
            return Step(item, arguments(plain, item, label, UNFOLDED.sub(",", rest)))


def _text(header: Mapping[str, Line], name: str) -> str:
    return header[name].text if name in header else ""
