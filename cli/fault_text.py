"""Fault budgets in words: what settings tolerate, and how they break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.cli.console import counted, heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from rich.console import Console


def print_faults(console: Console, data: dict[str, Any]) -> None:
    """Print what every setting tolerates, and how it breaks."""
    from rich.text import Text

    console.print(Text.assemble(heading(data["protocol"]), "  ", (data["property"]["name"], "bold")), soft_wrap=True)
    print_lines(console, styled(data["property"]["sentence"], "dim"))
    console.print()
    head = tuple(styled(text, "bold") for text in ("setting", "tolerates", "breaks with"))
    rows = [(name_of(point["setting"]), tolerated(point), breaks_with(point)) for point in data["grid"]]
    print_rows(console, [head, *rows])
    for point in data["grid"]:
        for item in point["unknown"]:
            print_lines(console, styled(f"Undetermined: {words_of(item['faults'])}: {item['why']}.", "yellow"))
    if data["not_run"]:
        print_lines(console, styled(f"Partial: a signal was received. Not run: {', '.join(data['not_run'])}.", "yellow"))
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


def tolerated(point: dict[str, Any]) -> str:
    """Return how many faults a setting tolerates, in words."""
    if point["undetermined"]:
        return "undetermined"
    if point["least"] is None:
        return f"all that were tried ({words_of(point['most'])})"
    return counted(max(point["least"] - 1, 0), "fault") if point["least"] else "none: it fails without any"


def breaks_with(point: dict[str, Any]) -> str:
    """Return every minimal set of faults, with the states of its trace."""
    return "; ".join(f"{words_of(item['faults'])} ({item['length']} states)" for item in point["front"])


def words_of(used: dict[str, int]) -> str:
    """Return faults in words: `2 crashes, 1 fences`."""
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in used.items() if count) or "no fault"


def name_of(told: dict[str, Any]) -> str:
    """Return a setting in a few words, as it is written on the command line."""
    return " ".join(f"{name}={str(value).lower()}" for name, value in told.items()) or "as set"


def left_out(omission: float) -> str:
    """Return how sure it is that no state was left out, in words; nothing where all states were kept whole."""
    return f", kept as fingerprints: one was left out with a probability of at most {omission:.1g}" if omission else ""
