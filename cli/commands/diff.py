"""`fencepost diff`: what one variant of a protocol does and another does not."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click
from fencepost.api.data import FORMAT
from fencepost.api.quantities import counted, default_memory, parse_size
from fencepost.api.targets import find_protocol, parse_setting, spelt
from fencepost.cli.commands.options import asked, constants_options
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.cli.views.display import Display
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.evidence.diff import Difference, OnlyOne
    from fencepost.explorers.evidence.space import Space
    from fencepost.explorers.native.search import Search
    from fencepost.explorers.verdict import Options, Result
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants
    from rich.console import Console

MOST_PAIRS = 50_000
"""Pairs of sets of states that are followed: some minutes."""


@dataclass(frozen=True)
class Side:
    """One of the two: what it was called, its protocol and its constants."""

    told: str
    found: Protocol
    constants: Constants


@click.command(short_help="Show the first behaviour that only one of two variants has.")
@click.argument("protocol", metavar="PROTOCOL_OR_FILE")
@constants_options
@click.option("--a", "one", default="", metavar="VARIANT", help="What is special about side A; as it is, if not given.")
@click.option("--b", "other", default="", metavar="VARIANT", help="What is special about side B.")
@click.option(
    "--on", "paths", multiple=True, metavar="FIELD", help="Look only at this field of the state, such as replica.log."
)
@click.option(
    "--max-pairs", type=click.IntRange(1), default=MOST_PAIRS, metavar="N", help="Give up after so many pairs of sets."
)
@click.option("--workers", type=click.IntRange(1, 1024), metavar="N", help="Threads; all processors if not given.")
@click.option("--max-states", type=click.IntRange(1), metavar="N", help="Give up after so many states of a side.")
@click.option("--memory", metavar="SIZE", help="Give up before the states of a side take more than this, such as 4G.")
@click.option("--normalize/--no-normalize", default=True, help="Drop what nobody can ever observe.  [default: on]")
@click.option("--json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No notes and no progress, only results.")
def diff(protocol: str, one: str, other: str, paths: tuple[str, ...], **given: Any) -> Exit:
    """Compare two variants of PROTOCOL: reachable states, and behaviours as they look from outside.

    A VARIANT is written as one text: settings NAME=VALUE, the name of a version, another protocol, or a Python file, with
    blanks between them, such as --a "elr=on min_isr=2" --b kafka-4.0. Both sides must have the same state.

    They are compared by all that the protocol keeps (without budgets and ghosts), and by what its clients can see; with
    --on, by the named fields only.

    \b
    Exit status: 0 no difference, 1 there is one, 2 bad input, 3 nobody knows.
    """  # noqa: D301 (\b is the mark by which click keeps lines)
    if not one.strip() and not other.strip():
        raise UsageError(
            "neither --a nor --b was given, so both sides would be the same: say what to compare, such as --b SWITCH=on, "
            "--b VERSION or --b PROTOCOL."
        )
    target = [given.pop(name) for name in ("settings", "version", "with_", "without")]
    found, constants = asked(protocol, *target)
    sides = tuple(_side(found, constants, option, text) for option, text in (("--a", one), ("--b", other)))
    with Display(quiet=given["quiet"]) as display:
        data = _compared(sides, paths, given, display)
    if given["json"]:
        print_json(data)
    else:
        print_diff(results(), data)
    known = [item["same"] for item in data["compared"]]
    return Exit.FAILED if False in known else Exit.UNDETERMINED if None in known else Exit.AS_EXPECTED


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


def _options(given: dict[str, Any]) -> Options:
    from fencepost.explorers.verdict import Options

    return Options(
        workers=given["workers"] or os.cpu_count() or 1,
        normalize=given["normalize"],
        max_states=given["max_states"],
        memory=parse_size(given["memory"], "--memory") if given["memory"] else (default_memory() or 0) // 3 or None,
    )


def _compared(sides: tuple[Side, ...], paths: tuple[str, ...], given: dict[str, Any], display: Display) -> dict[str, Any]:
    """Search both sides, compare them in every way that is asked for, and return the data."""
    from fencepost.explorers.evidence.diff import compare
    from fencepost.explorers.evidence.observed import choose_fields
    from fencepost.explorers.evidence.space import Space

    a, b = sides
    _look_at_schemas(a, b)
    choose_fields(a.found.machine.state, paths)
    options = _options(given)
    searches = [_searched(side, options, display) for side in sides]
    with display.busy("comparing"):
        spaces = Space(searches[0][0]), Space(searches[1][0])
        compared = []
        for title, told, sights in _sights(sides, paths, spaces):
            found = compare(spaces, sights, given["max_pairs"])
            compared.append({"title": title, "looked_at": told, **_difference(found, spaces)})
    return {
        "format": FORMAT,
        "a": _side_data(a, searches[0][1]),
        "b": _side_data(b, searches[1][1]),
        "constants": _constants(a, b),
        "actions": _actions(a, b, searches[0][1], searches[1][1]),
        "compared": compared,
    }


def _searched(side: Side, options: Options, display: Display) -> tuple[Search, Result]:
    """Return a complete search of one side; raise UsageError if it cannot be completed."""
    from fencepost.api.engines import Question, kernels_of, source_of
    from fencepost.explorers.native.search import Search

    question = Question(side.found.machine, side.constants, side.found.properties)
    kernels = kernels_of(question, source_of(question, options), display)
    search = Search(side.found.machine, side.constants, (), options, kernels=kernels, tell=display.telling(side.told))
    result = search.run()
    display.clear()
    if not result.complete:
        raise UsageError(
            f"the side {side.told!r} could not be searched to its end: {result.why_stopped}. Only whole spaces are compared: "
            "use smaller constants, or give more."
        )
    return search, result


def _look_at_schemas(a: Side, b: Side) -> None:
    from fencepost.explorers.evidence.observed import leaves_of
    from fencepost.explorers.native.layout import layout_of

    one, other = (layout_of(side.found.machine.state, side.constants) for side in (a, b))
    if one.dtype == other.dtype:
        return
    only = set(leaves_of(one.state)) ^ set(leaves_of(other.state))
    fields = f"Fields of one only: {', '.join(sorted(only))}." if only else "Their arrays or numbers have different sizes."
    raise UsageError(f"the two sides have different states, so they cannot be compared. {fields} Set their sizes alike.")


def _sights(sides: tuple[Side, ...], paths: tuple[str, ...], spaces: tuple[Space, Space]) -> list[tuple[str, list[str], Any]]:
    """Return the ways to look at states: title, what is looked at, and what is seen of each side's states."""
    from fencepost.explorers.evidence.observed import choose_fields, everything, look_at_fields, look_through
    from fencepost.model.language import always

    state = sides[0].found.machine.state
    if paths:
        chosen = choose_fields(state, paths)
        return [("the fields that were named", list(paths), tuple(look_at_fields(space, chosen) for space in spaces))]
    whole = everything(state)
    ways: list[tuple[str, list[str], Any]] = [
        (
            "all that the protocol keeps",
            ["every field but budgets and ghosts"],
            tuple(look_at_fields(space, whole) for space in spaces),
        )
    ]
    views = sides[0].found.visible
    if views:
        told = [item.__name__.replace("_", " ") for item in views]
        asked_for = tuple(always(cast("Callable[..., bool]", item)) for item in views)
        ways.append(("what clients can see", told, tuple(look_through(space, asked_for) for space in spaces)))
    return ways


def _difference(found: Difference, spaces: tuple[Space, Space]) -> dict[str, Any]:
    return {
        "same": found.same,
        "seen": dict(zip(("a", "b", "both"), found.seen, strict=True)),
        "state": _only_one(found.state, spaces),
        "behaviour": _only_one(found.behaviour, spaces),
        "why": found.why,
    }


def _only_one(found: OnlyOne | None, spaces: tuple[Space, Space]) -> dict[str, Any] | None:
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


def _side_data(side: Side, result: Result) -> dict[str, Any]:
    return {
        "variant": side.told,
        "protocol": side.found.name,
        "constants": {name: spelt(value) for name, value in result.constants.items()},
        "distinct": result.distinct,
        "generated": result.generated,
        "depth": result.depth,
        "levels": list(result.levels),
    }


def _constants(a: Side, b: Side) -> list[dict[str, Any]]:
    mine, others = a.constants.shown(), b.constants.shown()
    names = dict.fromkeys((*mine, *others))
    return [
        {"name": name, "a": spelt(mine.get(name)), "b": spelt(others.get(name))}
        for name in names
        if mine.get(name) != others.get(name)
    ]


def _actions(a: Side, b: Side, one: Result, other: Result) -> dict[str, Any]:
    from fencepost.explorers.evidence.texts import texts_of

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


# -- for people


def print_diff(console: Console, data: dict[str, Any]) -> None:
    """Print how two sides compare."""
    a, b = data["a"], data["b"]
    rows = [
        (heading(name), _named(side), f"{side['distinct']:,} states, depth {side['depth']}")
        for name, side in (("A", a), ("B", b))
    ]
    print_rows(console, rows)
    growth = b["distinct"] / a["distinct"] if a["distinct"] else 0
    print_lines(console, styled(f"B has {growth:.2f} times the states of A.", "dim"))
    for item in data["constants"]:
        print_lines(console, f"{item['name']}: {str(item['a']).lower()} in A, {str(item['b']).lower()} in B")
    _print_actions(console, data["actions"])
    for item in data["compared"]:
        console.print()
        _print_compared(console, item)


def _named(side: dict[str, Any]) -> str:
    """Return what a side is called: its protocol, and what is special about it unless that says the same."""
    return str(side["protocol"]) if side["variant"] == side["protocol"] else f"{side['protocol']}, {side['variant']}"


def _print_actions(console: Console, actions: dict[str, Any]) -> None:
    for side in ("a", "b"):
        for key, words in ((f"only_{side}", "Only in"), (f"fired_only_{side}", "Happens only in")):
            if actions[key]:
                print_lines(console, f"{words} {side.upper()}: {', '.join(actions[key])}")
    for item in actions["changed"]:
        print_lines(console, f"{item['action']}:")
        for side in ("a", "b"):
            for condition in item[f"only_{side}"]:
                print_lines(console, f"only {side.upper()} requires {condition}", indent=2)
        if item["effect"]:
            print_lines(console, "what it does differs", indent=2)


def _print_compared(console: Console, item: dict[str, Any]) -> None:
    from rich.text import Text

    verdict = {True: ("no difference", "bold green"), False: ("different", "bold red"), None: ("undetermined", "bold yellow")}
    print_lines(console, Text.assemble(heading(item["title"]), ": ", verdict[item["same"]]))
    print_lines(console, styled(", ".join(item["looked_at"]), "dim"))
    seen = item["seen"]
    print_lines(console, f"{seen['a']:,} sights in A, {seen['b']:,} in B, {seen['both']:,} in both")
    if item["why"]:
        print_lines(console, styled(f"Behaviours were not compared to the end: {item['why']}.", "yellow"))
    for key, words in (
        ("state", "the first state that looks like none of the other side"),
        ("behaviour", "the shortest behaviour that only this side has, though each of its states can be seen in both"),
    ):
        if item[key]:
            _print_only(console, item[key], words)


def _print_only(console: Console, only: dict[str, Any], words: str) -> None:
    from fencepost.counterexamples.folding import fold
    from fencepost.counterexamples.text import ARROW

    print_lines(console, styled(f"Only in {only['side'].upper()}: {words}, {counted(only['length'], 'state')}", "bold"))
    print_rows(console, [(f"{number:>3}", step) for number, step in enumerate(only["steps"], 1)])
    if only["last"]:
        told = f"the last step: {', '.join(only['last'])}".replace(" -> ", ARROW)
        for line in fold(told, console.width - 5):
            console.print(styled(f"     {line}", "dim"), soft_wrap=True)
