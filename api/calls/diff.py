"""The differences between two variants of a protocol: states and behaviours that only one of them has."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from fencepost.api.answers.as_json import Answer
from fencepost.api.answers.counterexample import changes_of
from fencepost.api.answers.results import table
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

    from fencepost.explorers.evidence.diff import Changed, OnlyOne
    from fencepost.explorers.evidence.space import Space
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.verdict import Result
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine, Property

MOST_PAIRS = 50_000
"""Pairs of sets of states that are followed: some minutes."""
WORDS = {True: "no difference", False: "different", None: "undetermined"}


@dataclass(frozen=True)
class Variant:
    """One of the two: what it was called, its protocol and its constants."""

    title: str
    found: Protocol
    constants: Constants


@dataclass(frozen=True)
class Side:
    """One side of a comparison, as it was searched."""

    variant: str
    protocol: str
    constants: Mapping[str, Any]
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]


@dataclass(frozen=True)
class OnlyOneSide:
    """The shortest history of one side, `a` or `b`, that the other one lacks; `last` is what its last step changes."""

    side: str
    length: int
    sights: int
    steps: tuple[str, ...]
    last: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """One way to compare: whether both sides look the same (None: not known), and what only one of them shows."""

    title: str
    looked_at: tuple[str, ...]
    same: bool | None
    seen: Mapping[str, int]
    state: OnlyOneSide | None
    behaviour: OnlyOneSide | None
    why: str


@dataclass(frozen=True)
class TwoValues:
    """A constant that differs; None where a side has none of this name."""

    name: str
    a: int | bool | str | None
    b: int | bool | str | None


@dataclass(frozen=True)
class ActionsDiffer:
    """How the actions of two sides differ: in their text, and in whether they happen."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[Changed, ...]
    fired_only_a: tuple[str, ...]
    fired_only_b: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class DiffResult(Answer):
    """A comparison of two variants."""

    a: Side
    b: Side
    constants: tuple[TwoValues, ...]
    actions: ActionsDiffer
    compared: tuple[Comparison, ...]

    @property
    def same(self) -> bool | None:
        """Whether they are the same in every way that was asked; None if that is not known."""
        known = [item.same for item in self.compared]
        return False if False in known else None if None in known else True

    def __repr__(self) -> str:
        return f"DiffResult({self.a.variant} and {self.b.variant}: {WORDS[self.same]})"

    def _repr_html_(self) -> str:
        rows = [(item.title, WORDS[item.same], item.why) for item in self.compared]
        return table("A and B", ("compared by", "found", ""), rows)


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

    A variant is written as one text, as on the command line: settings NAME=VALUE, the name of a version, another
    protocol, or a Python file, with blanks between them. `on` are fields of the state, such as `replica.log`; without
    any, the variants are compared by all that the protocol keeps, and by what its clients can see. Only whole spaces
    are compared, so a cancellation raises KeyboardInterrupt.
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
        return _compared((one, other), tuple(on), options, max_pairs, watched(progress))


def _side(found: Protocol, constants: Constants, option: str, text: str) -> Variant:
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
                    f"{option} was given {word!r}: protocol {found.name!r} has no version {word!r}, and no protocol "
                    f"has this name.{near} {listed}; protocols are: {', '.join(PROTOCOLS)}."
                )
            values.update(found.machine.version(word).values)
    return Variant(text or "as it is", found, found.machine.set_constants(values))


def _compared(
    sides: tuple[Variant, Variant], paths: tuple[str, ...], options: Options, max_pairs: int, watch: Watch
) -> DiffResult:
    """Search both sides, compare them in every way that is asked for, and return what was found."""
    from fencepost.explorers.evidence.diff import compare
    from fencepost.explorers.evidence.space import Space, choose_fields

    a, b = sides
    _look_at_schemas(a, b)
    choose_fields(a.found.machine.state, paths)
    searches = [_searched(side, options, watch) for side in sides]
    with watch.busy("comparing"):
        spaces = Space(searches[0][0]), Space(searches[1][0])
        compared = []
        for title, looked_at, sights in _sights(sides, paths, spaces):
            stop_if_cancelled()
            found = compare(spaces, sights, max_pairs)
            seen = dict(zip(("a", "b", "both"), found.seen, strict=True))
            only = _only_one(found.state, spaces), _only_one(found.behaviour, spaces)
            compared.append(Comparison(title, tuple(looked_at), found.same, seen, *only, found.why))
    one, other = (result for _, result in searches)
    actions = _actions(a, b, one, other)
    return DiffResult(_as_searched(a, one), _as_searched(b, other), _constants(a, b), actions, tuple(compared))


def _searched(side: Variant, options: Options, watch: Watch) -> tuple[Search, Result]:
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
            f"the side {side.title!r} could not be searched to its end: {result.why_stopped}. Only whole spaces are "
            "compared: use smaller constants, or give more."
        )
    return search, result


def _look_at_schemas(a: Variant, b: Variant) -> None:
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
    sides: tuple[Variant, Variant], paths: tuple[str, ...], spaces: tuple[Space, Space]
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


def _only_one(found: OnlyOne | None, spaces: tuple[Space, Space]) -> OnlyOneSide | None:
    if found is None:
        return None
    plain = spaces[found.side == "b"].search.plain
    states = found.path.states
    last = changes_of(plain.machine.state, *states[-2:]) if len(states) > 1 else ()
    return OnlyOneSide(
        found.side, found.path.length, found.sights, tuple(plain.show(step) for step in found.path.steps), last
    )


def _as_searched(side: Variant, result: Result) -> Side:
    figures = (result.distinct, result.generated, result.depth, tuple(result.levels))
    return Side(side.title, side.found.name, result.constants, *figures)


def _constants(a: Variant, b: Variant) -> tuple[TwoValues, ...]:
    mine, others = a.constants.shown, b.constants.shown
    values = (TwoValues(name, mine.get(name), others.get(name)) for name in dict.fromkeys((*mine, *others)))
    return tuple(item for item in values if item.a != item.b)


def _actions(a: Variant, b: Variant, one: Result, other: Result) -> ActionsDiffer:
    from fencepost.explorers.evidence.diff import texts_of

    texts = texts_of(a.found.machine, b.found.machine)
    shared = [name for name in one.fired if name in other.fired]
    return ActionsDiffer(
        texts.only_a,
        texts.only_b,
        texts.changed,
        tuple(name for name in shared if one.fired[name] and not other.fired[name]),
        tuple(name for name in shared if other.fired[name] and not one.fired[name]),
    )
