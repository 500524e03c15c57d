"""The comparison of two variants on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import ActionsData, ComparedData, DiffData, OnlyData, SideData
    from rich.console import Console


def print_diff(console: Console, data: DiffData) -> None:
    """Print how two sides compare."""
    a, b = data["a"], data["b"]
    rows = [
        (heading(name), _named(side), f"{side['distinct']:,} states, depth {side['depth']}")
        for name, side in (("A", a), ("B", b))
    ]
    print_rows(console, rows)
    growth = b["distinct"] / a["distinct"] if a["distinct"] else 0
    print_lines(console, styled(f"B has {growth:.2f} times the states of A.", "dim"))
    for constant in data["constants"]:
        print_lines(
            console, f"{constant['name']}: {str(constant['a']).lower()} in A, {str(constant['b']).lower()} in B"
        )
    _print_actions(console, data["actions"])
    for item in data["compared"]:
        console.print()
        _print_compared(console, item)


def _named(side: SideData) -> str:
    """Return what a side is called: its protocol, and what is special about it unless that says the same."""
    return str(side["protocol"]) if side["variant"] == side["protocol"] else f"{side['protocol']}, {side['variant']}"


def _print_actions(console: Console, actions: ActionsData) -> None:
    for words, names in (
        ("Only in A", actions["only_a"]),
        ("Happens only in A", actions["fired_only_a"]),
        ("Only in B", actions["only_b"]),
        ("Happens only in B", actions["fired_only_b"]),
    ):
        if names:
            print_lines(console, f"{words}: {', '.join(names)}")
    for item in actions["changed"]:
        print_lines(console, f"{item['action']}:")
        for side, conditions in (("A", item["only_a"]), ("B", item["only_b"])):
            for condition in conditions:
                print_lines(console, f"only {side} requires {condition}", indent=2)
        if item["effect"]:
            print_lines(console, "what it does differs", indent=2)


def _print_compared(console: Console, item: ComparedData) -> None:
    from rich.text import Text

    verdict = {
        True: ("no difference", "bold green"),
        False: ("different", "bold red"),
        None: ("undetermined", "bold yellow"),
    }
    print_lines(console, Text.assemble(heading(item["title"]), ": ", verdict[item["same"]]))
    print_lines(console, styled(", ".join(item["looked_at"]), "dim"))
    seen = item["seen"]
    print_lines(console, f"{seen['a']:,} sights in A, {seen['b']:,} in B, {seen['both']:,} in both")
    if item["why"]:
        print_lines(console, styled(f"Behaviours were not compared to the end: {item['why']}.", "yellow"))
    for only, words in (
        (item["state"], "the first state that looks like none of the other side"),
        (
            item["behaviour"],
            "the shortest behaviour that only this side has, though each of its states can be seen in both",
        ),
    ):
        if only:
            _print_only(console, only, words)


def _print_only(console: Console, only: OnlyData, words: str) -> None:
    from fencepost.counterexamples.folding import fold
    from fencepost.counterexamples.text import ARROW

    print_lines(console, styled(f"Only in {only['side'].upper()}: {words}, {counted(only['length'], 'state')}", "bold"))
    print_rows(console, [(f"{number:>3}", step) for number, step in enumerate(only["steps"], 1)])
    if only["last"]:
        text = f"the last step: {', '.join(only['last'])}".replace(" -> ", ARROW)
        for line in fold(text, console.width - 5):
            console.print(styled(f"     {line}", "dim"), soft_wrap=True)
