"""Fault tables on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.topics.fault_words import breaks_with, left_out, name_of, tolerated, words_of
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import FaultsData
    from rich.console import Console


def print_faults(console: Console, data: FaultsData) -> None:
    """Print what every setting tolerates, and how it breaks."""
    from rich.text import Text

    console.print(Text.assemble(heading(data["protocol"]), "  ", (data["property"]["name"], "bold")), soft_wrap=True)
    print_lines(console, styled(data["property"]["sentence"], "dim"))
    console.print()
    head = tuple(styled(text, "bold") for text in ("setting", "tolerates", "breaks with"))
    rows = [(name_of(point["setting"]), tolerated(point), breaks_with(point)) for point in data["grid"]]
    print_rows(console, [head, *rows])
    for point in data["grid"]:
        where = f"{name_of(point['setting'])}, " if point["setting"] else ""
        for item in point["unknown"]:
            told = f"Undetermined: {where}{words_of(item['faults'], point['kinds'])}: {item['why']}."
            print_lines(console, styled(told, "yellow"))
    for left in data["refused"]:
        print_lines(console, styled(f"{name_of(left['constants'])}: left out, {left['why']}", "dim"))
    if data["not_run"]:
        print_lines(console, styled(f"Partial. Not run: {', '.join(data['not_run'])}.", "yellow"))
    most = {name: count for point in data["grid"] for name, count in point["most"].items()}
    omission = sum(point["omission"] for point in data["grid"])
    searches, states = (sum(point[name] for point in data["grid"]) for name in ("searches", "states"))
    console.print()
    print_rows(
        console,
        [
            (styled("tried", "dim"), f"up to {words_of(most)}; other budgets as the constants set them, at no cost"),
            (styled("searches", "dim"), f"{searches:,}, of {states:,} states together{left_out(omission)}"),
        ],
    )
