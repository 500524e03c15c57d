"""Comparison of two models: their guarantees, the states and behaviours of only one, and changes without effect."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from fencepost.api.answers.as_json import Answer, table
from fencepost.api.answers.counterexample import changes_of
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import join_values, parse_setting, read_values
from fencepost.api.asking.targets import Question, find_protocol, find_subject, kernels_of, source_of
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.calls.base import base_of, never_enabled, reasons, searched_the_same
from fencepost.explorers.running.interrupts import Stopped, cancelled_by, default_memory, stop_if_cancelled
from fencepost.explorers.verdict import Cause, Options, Result, Verdict, cause_of
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language import Constants, Machine, always
from fencepost.model.language.acting import summary_of
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.explorers.evidence.diff import Changed, OnlyOne
    from fencepost.explorers.evidence.space import Space
    from fencepost.explorers.native.search import Search

MOST_PAIRS = 50_000
"""Maximum number of pairs of state sets. Reaching it takes a few minutes."""
WORDS = {True: "no difference", False: "different", None: "undetermined"}


@dataclass(frozen=True)
class Variant:
    title: str
    found: Protocol
    constants: Constants


@dataclass(frozen=True)
class Side:
    """One of the two models in a comparison, with the figures of its search."""

    variant: str
    protocol: str
    constants: Mapping[str, Any]
    distinct: int
    generated: int
    depth: int
    levels: tuple[int, ...]


@dataclass(frozen=True)
class OnlyOneSide:
    """The shortest path that only one model has, the changes made by its `last` step, and a `sentence` about it."""

    side: str
    length: int
    sights: int
    steps: tuple[str, ...]
    last: tuple[str, ...]
    sentence: str = ""


@dataclass(frozen=True)
class Comparison:
    """The comparison of two models by some fields: whether they differ, and the behaviour that only one model has."""

    title: str
    looked_at: tuple[str, ...]
    same: bool | None
    seen: Mapping[str, int]
    state: OnlyOneSide | None
    behaviour: OnlyOneSide | None
    why: str


@dataclass(frozen=True)
class TwoValues:
    """A constant whose values differ between two models. None stands for a model that lacks the constant."""

    name: str
    a: int | bool | str | None
    b: int | bool | str | None


@dataclass(frozen=True)
class TwoVerdicts:
    """A guarantee whose verdict, cost or trace length differs; fields are empty for a model without the guarantee."""

    name: str
    sentence: str
    a: str
    b: str
    states_a: int = 0
    states_b: int = 0
    worst_a: str = ""
    worst_b: str = ""


@dataclass(frozen=True)
class ActionsDiffer:
    """Actions that have changed, or that only one of two models has or ever takes."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    changed: tuple[Changed, ...]
    fired_only_a: tuple[str, ...]
    fired_only_b: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class CompareResult(Answer):
    """The comparison of two models. `untouched` lists reasons why changes made no difference."""

    format: int
    verdict: str
    a: Side
    b: Side
    constants: tuple[TwoValues, ...]
    guarantees: tuple[TwoVerdicts, ...]
    actions: ActionsDiffer
    untouched: tuple[str, ...]
    compared: tuple[Comparison, ...]
    lengths: tuple[TwoVerdicts, ...] = ()
    """Guarantees that both models violate, with shortest traces of different lengths."""

    @property
    def same(self) -> bool | None:
        """Whether the models agree in every requested comparison; None if unknown."""
        return {"same": True, "differs": False, "undetermined": None}[self.verdict]

    def __repr__(self) -> str:
        return f"CompareResult({self.a.variant} and {self.b.variant}: {WORDS[self.same]})"

    def _repr_html_(self) -> str:
        rows = [(item.name, item.a, item.b) for item in self.guarantees]
        rows += [(item.title, WORDS[item.same], item.why) for item in self.compared]
        return table(f"A and B: {WORDS[self.same]}", ("compared", "A", "B"), rows)


@call
def compare(
    a: Machine | Protocol | str | Path,
    b: Machine | Protocol | str | Path | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
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
) -> CompareResult:
    """Compare the guarantees, the reachable states and the observable behaviours of two models.

    A model is a machine, or a string as on the command line: a protocol, a Python file or one of its machines
    (`FILE.py:NAME`), a version (`kafka-4.1` or `version=kafka-4.1`), and settings NAME=VALUE, separated by spaces. A
    string without a protocol uses that of the other model. Without `b`, a variant is compared with its base. `on` lists
    the fields of the state to compare, such as `replica.log`. By default, the models are compared by all stored fields,
    and by everything that clients can observe. Only complete state spaces are compared, so a cancellation raises
    KeyboardInterrupt.
    """
    options = Options(
        workers=workers or os.cpu_count() or 1,
        normalize=normalize,
        max_states=max_states,
        memory=memory or (default_memory() or 0) // 3 or None,
    )
    sides = _sides(a, b, join_values(constants, more), version)
    with cancelled_by(cancel):
        return _compared(sides, tuple(on), options, max_pairs, watched(progress))


def _sides(
    a: Machine | Protocol | str | Path,
    b: Machine | Protocol | str | Path | None,
    given: Mapping[str, Any],
    version: str,
) -> tuple[Variant, Variant]:
    one: Protocol | None = _model(a)
    other = None if b is None else _model(b)
    if b is None:
        base = base_of(Question(one, one.machine.constants(), ())) if one is not None else None
        if one is None or base is None:
            raise UsageError(
                f"there is nothing to compare {_title(a)} with, because it is not a variant made by "
                "`Machine.replacing`: name a second model."
            )
        one, other, a, b = Protocol(base, one.properties), one, base.name, a
    found = one or other or _no_model(_title(a), _title(b))
    common = read_values(found.machine, given)
    return (
        _side(one or found, _title(a), found.machine, common, version),
        _side(other or found, _title(b), found.machine, common, version),
    )


def common_machine(a: str, b: str = "") -> Machine:
    return (_model(a) or _model(b) or _no_model(a, b)).machine


def _no_model(a: str, b: str) -> NoReturn:
    raise UsageError(f"neither {a!r} nor {b!r} names a model: write a protocol or a Python file in one of them.")


def _words(model: object) -> list[str]:
    return [word for word in re.split(r"[\s,]+", model) if word] if isinstance(model, str) else []


def _title(model: object) -> str:
    named = model.machine if isinstance(model, Protocol) else model
    return str(getattr(named, "name", named)) if not isinstance(model, Path) else str(model)


def _is_model(word: str) -> bool:
    return word in PROTOCOLS or word.partition(":")[0].endswith(".py")


def _model(model: Machine | Protocol | str | Path) -> Protocol | None:
    if not isinstance(model, str):
        return find_subject(model, () if isinstance(model, Machine) else None).protocol
    words = _words(model)
    named = [word for word in words if _is_model(word)]
    if len(named) > 1:
        raise UsageError(f"{model!r} names {len(named)} models, {' and '.join(named)}: write one model on each side.")
    if not named and len(words) == 1 and "=" not in words[0] and not words[0].startswith("kafka-"):
        return find_protocol(words[0])
    return find_protocol(named[0]) if named else None


def _side(found: Protocol, title: str, first: Machine, common: Mapping[str, int], version: str) -> Variant:
    machine = found.machine
    known = machine.constants.declared()
    words = [word for word in _words(title) if not _is_model(word)] if title != machine.name else []
    words = words if "version" in known else [word.removeprefix("version=") for word in words]
    has_versions = machine is first or machine.versions
    values = dict(machine.version(version).values) if version and has_versions else {}
    values.update({name: value for name, value in common.items() if name in known})
    for word in words:
        if "=" not in word:
            values.update(machine.version(word).values)
    values.update(parse_setting(machine, f"{title!r}:", word) for word in words if "=" in word)
    return Variant(title, found, machine.set_constants(values))


def _compared(
    sides: tuple[Variant, Variant], paths: tuple[str, ...], options: Options, max_pairs: int, watch: Watch
) -> CompareResult:
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
    both = _guarantees(sides, (one, other))
    guarantees = tuple(it for it in both if (it.a, it.worst_a) != (it.b, it.worst_b))
    known = [item.same for item in compared]
    verdict = "differs" if False in known or guarantees else "undetermined" if None in known else "same"
    return CompareResult(
        1,
        verdict,
        _as_searched(a, one),
        _as_searched(b, other),
        _constants(a, b),
        guarantees,
        _actions(a, b, one, other),
        tuple(_untouched(sides, (one, other), (searches[0][0], searches[1][0]))),
        tuple(compared),
        tuple(it for it in both if it not in guarantees and it.a == Verdict.VIOLATED and it.states_a != it.states_b),
    )


def _guarantees(sides: tuple[Variant, Variant], results: tuple[Result, Result]) -> tuple[TwoVerdicts, ...]:
    sentences = {item.name: item.sentence for side in sides for item in side.found.properties}
    one, other = ({item.name: item for item in result.properties} for result in results)
    found = []
    for name in dict.fromkeys((*one, *other)):
        pair = [one.get(name), other.get(name)]
        verdicts = [str(item.verdict) if item else "" for item in pair]
        lengths = [item.path.length if item and item.path else 0 for item in pair]
        costs = [item.cost.text if item and item.cost else "" for item in pair]
        (a, b), (states_a, states_b), (worst_a, worst_b) = verdicts, lengths, costs
        found.append(TwoVerdicts(name, sentences[name], a, b, states_a, states_b, worst_a, worst_b))
    return tuple(found)


def _untouched(
    sides: tuple[Variant, Variant], results: tuple[Result, Result], searches: tuple[Search, Search]
) -> Iterator[str]:
    """Yield reasons why changes made no difference: actions that were never enabled, although their source differs."""
    from fencepost.explorers.evidence.diff import texts_of

    texts = texts_of(sides[0].found.machine, sides[1].found.machine)
    for side, result, other, only in (
        ("A", results[0], results[1], texts.only_a),
        ("B", results[1], results[0], texts.only_b),
    ):
        for label in (*only, *(item.action for item in texts.changed if side == "B")):
            if not result.fired.get(label) and not other.fired.get(label):
                yield from never_enabled(label, result, f" in {side}" if label in only else "")
    machines = [side.found.machine for side in sides]
    for base, variant in ((0, 1), (1, 0)):
        found = results[variant], results[base]
        is_variant = machines[variant].base is machines[base]
        if is_variant and searched_the_same(searches[variant], searches[base], found):
            normalize = searches[variant].options.normalize
            yield from reasons(machines[variant], machines[base], *found, normalize=normalize)


def _searched(side: Variant, options: Options, watch: Watch) -> tuple[Search, Result]:
    from fencepost.explorers.liveness.engine import Engine
    from fencepost.explorers.native.search import Search

    question = Question(side.found, side.constants, side.found.properties)
    kernels = kernels_of(question, source_of(question, options), watch)
    later = tuple(item for item in question.properties if item.kind.over_behaviours)
    of_states = tuple(item for item in question.properties if not item.kind.over_behaviours)
    began = time.perf_counter()
    machine, telling = side.found.machine, watch.telling(side.title)
    search = Search(machine, side.constants, of_states, options, kernels=kernels, tell=telling)
    result = search.run()
    watch.clear()
    if cause_of(result.why_stopped) is Cause.CANCELLED:
        raise Stopped(result.why_stopped)
    if not result.complete:
        raise UsageError(
            f"the search of side {side.title!r} did not finish: {result.why_stopped}. Only complete state spaces are "
            "compared: use smaller constants, or raise the limit."
        )
    if later:
        result = Engine(search, later, began).judge(result, question.properties)
    return search, result


def _look_at_schemas(a: Variant, b: Variant) -> None:
    from fencepost.explorers.evidence.space import leaves_of, lengths_of
    from fencepost.explorers.native.layout import layout_of

    one, other = (layout_of(side.found.machine.state, side.constants) for side in (a, b))
    lengths = [lengths_of(side.found.machine.state, side.constants.values) for side in (a, b)]
    if one.wide == other.wide and lengths[0] == lengths[1]:
        return
    only = set(leaves_of(one.state)) ^ set(leaves_of(other.state))
    sizes = "Arrays or numbers differ in size."
    fields = f"Only one side has these fields: {', '.join(sorted(only))}." if only else sizes
    raise UsageError(
        f"the two sides have different state fields, so they cannot be compared. {fields} Give both sides the same "
        "fields and sizes."
    )


def _sights(
    sides: tuple[Variant, Variant], paths: tuple[str, ...], spaces: tuple[Space, Space]
) -> list[tuple[str, list[str], Any]]:
    """Return the observations to compare, each with a title, its fields, and their values in each model's states."""
    from fencepost.explorers.evidence.space import choose_fields, everything, observe_fields, observe_views

    state = sides[0].found.machine.state
    if paths:
        chosen = choose_fields(state, paths)
        return [("the named fields", list(paths), tuple(observe_fields(space, chosen) for space in spaces))]
    whole = everything(state)
    kept = tuple(observe_fields(space, whole) for space in spaces)
    ways: list[tuple[str, list[str], Any]] = [
        ("all that the protocol stores", ["all fields except budgets and ghosts"], kept)
    ]
    views = sides[0].found.visible
    if views:
        names = [item.__name__.replace("_", " ") for item in views]
        asked_for = tuple(always(cast("Callable[..., bool]", item)) for item in views)
        ways.append(("what clients see", names, tuple(observe_views(space, asked_for) for space in spaces)))
    return ways


def _only_one(found: OnlyOne | None, spaces: tuple[Space, Space]) -> OnlyOneSide | None:
    if found is None:
        return None
    plain = spaces[found.side == "b"].search.plain
    states = found.path.states
    last = changes_of(plain.machine.state, *states[-2:]) if len(states) > 1 else ()
    steps = found.path.steps
    sentence = summary_of(steps[-1].action.function) if steps else ""
    shown = tuple(plain.show(step) for step in steps)
    return OnlyOneSide(found.side, found.path.length, found.sights, shown, last, sentence)


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
