"""Fault budgets in words: what settings tolerate, and how they break."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.quantities import counted
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

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
            print_lines(console, styled(f"Undetermined: {words_of(item['faults'], point['kinds'])}: {item['why']}.", "yellow"))
    for item in data["refused"]:
        print_lines(console, styled(f"{name_of(item['constants'])}: left out, {item['why']}", "dim"))
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
    if point["least"]:
        return counted(max(point["least"] - 1, 0), "fault")
    return f"none: it fails without any{'' if _all_spent(point) else ' ' + either(point['kinds'])}"


def _all_spent(point: dict[str, Any]) -> bool:
    """Say whether a history without counted faults is known to be one without any fault at all."""
    return any(item.get("free") == {} for item in point["front"] if not item["faults"])


def breaks_with(point: dict[str, Any]) -> str:
    """Return every minimal set of faults, with what happened for free in its history, and the states of its trace."""
    return "; ".join(_broken(item, point["kinds"]) for item in point["front"])


def _broken(item: dict[str, Any], kinds: list[str]) -> str:
    free = item.get("free")
    counted_ones = words_of(item["faults"], [] if free == {} else kinds)
    return f"{counted_ones}{f', for free {words_of(free)}' if free else ''} ({counted(item['length'], 'state')})"


def words_of(used: dict[str, int], kinds: list[str] | tuple[str, ...] = ()) -> str:
    """Return faults in words: `crashes 2, fences 1`; where there is none, `no crash or fence` if only these kinds are counted."""
    told = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in used.items() if count)
    return told or f"no {either(kinds) if kinds else 'fault'}"


def either(kinds: list[str] | tuple[str, ...]) -> str:
    """Return kinds of faults as alternatives: `crash or fence`."""
    *first, last = [one_of(name) for name in kinds]
    return f"{', '.join(first)} or {last}" if first else last


def one_of(kind: str) -> str:
    """Return what one fault of a kind is called: `crash` of `crashes`, `unclean election` of `unclean_elections`."""
    words = kind.replace("_", " ")
    return words.removesuffix("es") if words.endswith(("sses", "shes", "ches", "xes")) else words.removesuffix("s")


def name_of(told: dict[str, Any]) -> str:
    """Return a setting in a few words, as it is written on the command line."""
    return " ".join(f"{name}={str(value).lower()}" for name, value in told.items()) or "as set"


def left_out(omission: float) -> str:
    """Return how sure it is that no state was left out, in words; nothing where all states were kept whole."""
    return f", kept as fingerprints: one was left out with a probability of at most {omission:.1g}" if omission else ""
