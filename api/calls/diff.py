"""The differences between two variants of a protocol: states and behaviours that only one of them has."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fencepost.api.answers.results import FORMAT, Answer, table
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import parse_setting
from fencepost.api.asking.targets import Question, ask, find_protocol
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.engines import kernels_of, source_of
from fencepost.explorers.running.interrupts import Stopped, cancelled_by, stop_if_cancelled
from fencepost.explorers.running.memory import default_memory
from fencepost.explorers.verdict import Cause, Options, cause_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from fencepost.api.answers.contract_evidence import (
        ActionsData,
        BothValues,
        ComparedData,
        DiffData,
        DifferenceData,
        OnlyData,
        SideData,
    )
    from fencepost.explorers.evidence.diff import Difference, OnlyOne
    from fencepost.explorers.evidence.space import Space
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.verdict import Result
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine, Property

MOST_PAIRS = 50_000
"""Pairs of sets of states that are followed: some minutes."""


@dataclass(frozen=True)
class Side:
    """One of the two: what it was called, its protocol and its constants."""

    title: str
    found: Protocol
    constants: Constants


@dataclass(frozen=True)
class OnlyOneSide:
    """The shortest history of one side, `a` or `b`, that the other one lacks."""

    side: str
    length: int
    steps: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """One way to compare: whether both sides look the same (None: not known), and what only one of them shows."""

    title: str
    looked_at: tuple[str, ...]
    same: bool | None
    state: OnlyOneSide | None
    behaviour: OnlyOneSide | None
    why: str


@dataclass(frozen=True)
class DiffResult(Answer["DiffData"]):
    """How two variants compare."""

    compared: tuple[Comparison, ...]

    @classmethod
    def of(cls, data: DiffData) -> DiffResult:
        """Return what is given as JSON."""
        return cls(
            data,
            tuple(
                Comparison(
                    item["title"],
                    tuple(item["looked_at"]),
                    item["same"],
                    _one_side(item["state"]),
                    _one_side(item["behaviour"]),
                    item["why"],
                )
                for item in data["compared"]
            ),
        )

    @property
    def same(self) -> bool | None:
        """Whether they are the same in every way that was asked; None if that is not known."""
        known = [item.same for item in self.compared]
        return False if False in known else None if None in known else True

    def _repr_html_(self) -> str:
        rows = [
            (item.title, {True: "no difference", False: "different", None: "undetermined"}[item.same], item.why)
            for item in self.compared
        ]
        return table("A and B", ("compared by", "found", ""), rows)


def _one_side(data: OnlyData | None) -> OnlyOneSide | None:
    return OnlyOneSide(data["side"], data["length"], tuple(data["steps"])) if data else None


@call
def diff(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    a: str = "",
    b: str = "",
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    on: Iterable[str] = (),
    workers: int = 0,
    max_pairs: int = MOST_PAIRS,
    max_states: int | None = None,
    memory: int | None = None,
    normalize: bool = True,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> DiffResult:
    """Compare two variants of a protocol: reachable states, and behaviours as they look from outside.

    A variant is written as one text, as on the command line: settings NAME=VALUE, the name of a version, another protocol, or a
    Python file, with blanks between them. `on` are fields of the state, such as `replica.log`; without any, the variants are
    compared by all that the protocol keeps, and by what its clients can see. Only whole spaces are compared, so a cancellation
    raises KeyboardInterrupt.
    """
    question = ask(what, properties, constants=constants, version=version, more=more)
    options = Options(
        workers=workers or os.cpu_count() or 1,
        normalize=normalize,
        max_states=max_states,
        memory=memory or (default_memory() or 0) // 3 or None,
    )
    one, other = (_side(question.protocol, question.constants, name, text) for name, text in (("`a=`", a), ("`b=`", b)))
    with cancelled_by(cancel):
        return DiffResult.of(_compared((one, other), tuple(on), options, max_pairs, watched(progress)))


def _side(found: Protocol, constants: Constants, option: str, text: str) -> Side:
    """Return one side: the common protocol and constants, changed as its text says."""
    words = [word for word in re.split(r"[\s,]+", text) if word]
    values: dict[str, int] = dict(constants.values)
    for word in words:
        if word.endswith(".py") or word in PROTOCOLS:
            found = find_protocol(word)
    known = found.machine.constants.declared()
    values = {name: value for name, value in values.items() if name in known}
    versions = [item.name for item in found.machine.versions]
    for word in words:
        if "=" in word:
            name, value = parse_setting(found.machine, option, word)
            values[name] = value
        elif not word.endswith(".py") and word not in PROTOCOLS:
            if word not in versions:
                near = nearest(word, [*versions, *PROTOCOLS])
                listed = f"Versions are: {', '.join(versions)}" if versions else "It has no named versions"
                raise UsageError(
                    f"{option} was given {word!r}: protocol {found.name!r} has no version {word!r}, and no protocol has this "
                    f"name.{near} {listed}; protocols are: {', '.join(PROTOCOLS)}."
                )
            values.update(found.machine.version(word).values)
    return Side(text or "as it is", found, found.machine.set_constants(values))


def _compared(
    sides: tuple[Side, Side], paths: tuple[str, ...], options: Options, max_pairs: int, watch: Watch
) -> DiffData:
    """Search both sides, compare them in every way that is asked for, and return the data."""
    from fencepost.explorers.evidence.diff import compare
    from fencepost.explorers.evidence.space import Space, choose_fields

    a, b = sides
    _look_at_schemas(a, b)
    choose_fields(a.found.machine.state, paths)
    searches = [_searched(side, options, watch) for side in sides]
    with watch.busy("comparing"):
        spaces = Space(searches[0][0]), Space(searches[1][0])
        compared: list[ComparedData] = []
        for title, looked_at, sights in _sights(sides, paths, spaces):
            stop_if_cancelled()
            found = compare(spaces, sights, max_pairs)
            compared.append({"title": title, "looked_at": looked_at, **_difference(found, spaces)})
    return {
        "format": FORMAT,
        "a": _side_data(a, searches[0][1]),
        "b": _side_data(b, searches[1][1]),
        "constants": _constants(a, b),
        "actions": _actions(a, b, searches[0][1], searches[1][1]),
        "compared": compared,
    }


def _searched(side: Side, options: Options, watch: Watch) -> tuple[Search, Result]:
    """Return a complete search of one side; raise UsageError if it cannot be completed."""
    from fencepost.explorers.native.search import Search

    question = Question(side.found, side.constants, side.found.properties)
    kernels = kernels_of(question, source_of(question, options), watch)
    search = Search(side.found.machine, side.constants, (), options, kernels=kernels, tell=watch.telling(side.title))
    result = search.run()
    watch.clear()
    if cause_of(result.why_stopped) is Cause.CANCELLED:
        raise Stopped(result.why_stopped)
    if not result.complete:
        raise UsageError(
            f"the side {side.title!r} could not be searched to its end: {result.why_stopped}. Only whole spaces are compared: "
            "use smaller constants, or give more."
        )
    return search, result


def _look_at_schemas(a: Side, b: Side) -> None:
    from fencepost.explorers.evidence.space import leaves_of, lengths_of
    from fencepost.explorers.native.layout import layout_of

    one, other = (layout_of(side.found.machine.state, side.constants) for side in (a, b))
    lengths = [lengths_of(side.found.machine.state, side.constants.values) for side in (a, b)]
    if one.wide == other.wide and lengths[0] == lengths[1]:
        return
    only = set(leaves_of(one.state)) ^ set(leaves_of(other.state))
    fields = (
        f"Fields of one only: {', '.join(sorted(only))}." if only else "Their arrays or numbers have different sizes."
    )
    raise UsageError(
        f"the two sides have different states, so they cannot be compared. {fields} Set their sizes alike."
    )


def _sights(
    sides: tuple[Side, Side], paths: tuple[str, ...], spaces: tuple[Space, Space]
) -> list[tuple[str, list[str], Any]]:
    """Return the ways to look at states: title, what is looked at, and what is seen of each side's states."""
    from fencepost.explorers.evidence.space import choose_fields, everything, observe_fields, observe_views
    from fencepost.model.language import always

    state = sides[0].found.machine.state
    if paths:
        chosen = choose_fields(state, paths)
        return [("the fields that were named", list(paths), tuple(observe_fields(space, chosen) for space in spaces))]
    whole = everything(state)
    ways: list[tuple[str, list[str], Any]] = [
        (
            "all that the protocol keeps",
            ["every field but budgets and ghosts"],
            tuple(observe_fields(space, whole) for space in spaces),
        )
    ]
    views = sides[0].found.visible
    if views:
        names = [item.__name__.replace("_", " ") for item in views]
        asked_for = tuple(always(cast("Callable[..., bool]", item)) for item in views)
        ways.append(("what clients can see", names, tuple(observe_views(space, asked_for) for space in spaces)))
    return ways


def _difference(found: Difference, spaces: tuple[Space, Space]) -> DifferenceData:
    return {
        "same": found.same,
        "seen": dict(zip(("a", "b", "both"), found.seen, strict=True)),
        "state": _only_one(found.state, spaces),
        "behaviour": _only_one(found.behaviour, spaces),
        "why": found.why,
    }


def _only_one(found: OnlyOne | None, spaces: tuple[Space, Space]) -> OnlyData | None:
    if found is None:
        return None
    from fencepost.counterexamples.states import changes

    plain = spaces[found.side == "b"].search.plain
    states = found.path.states
    last = changes(plain.machine.state, states[-2], states[-1]) if len(states) > 1 else []
    return {
        "side": found.side,
        "length": found.path.length,
        "sights": found.sights,
        "steps": [plain.show(step) for step in found.path.steps],
        "last": [f"{item.label}.{item}" if item.label else str(item) for item in last],
    }


def _side_data(side: Side, result: Result) -> SideData:
    return {
        "variant": side.title,
        "protocol": side.found.name,
        "constants": dict(result.constants),
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "levels": list(result.levels),
    }


def _constants(a: Side, b: Side) -> list[BothValues]:
    mine, others = a.constants.shown, b.constants.shown
    names = dict.fromkeys((*mine, *others))
    return [
        {"name": name, "a": mine.get(name), "b": others.get(name)}
        for name in names
        if mine.get(name) != others.get(name)
    ]


def _actions(a: Side, b: Side, one: Result, other: Result) -> ActionsData:
    from fencepost.explorers.evidence.diff import texts_of

    texts = texts_of(a.found.machine, b.found.machine)
    shared = [name for name in one.fired if name in other.fired]
    return {
        "only_a": list(texts.only_a),
        "only_b": list(texts.only_b),
        "changed": [
            {"action": item.action, "only_a": list(item.only_a), "only_b": list(item.only_b), "effect": item.effect}
            for item in texts.changed
        ],
        "fired_only_a": [name for name in shared if one.fired[name] and not other.fired[name]],
        "fired_only_b": [name for name in shared if other.fired[name] and not one.fired[name]],
    }
