"""How far verdicts reach, once the bounds of a check were raised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import show_seconds
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from fencepost.api.answers.growing import Growth
    from rich.console import Console
    from rich.text import Text


def print_growth(console: Console, growth: Growth, unshared: Container[str]) -> None:
    """Print what raising the bounds has shown; of `unshared` bounds that are not reached, larger values add no state."""
    console.print()
    console.print(heading("bounds raised"), soft_wrap=True)
    for item in growth.steps:
        found = f"{item.distinct:,} states, {show_seconds(item.seconds)}"
        changed = (
            f"{'; ' if item.why_not else ': '}another verdict on {', '.join(item.changed)}" if item.changed else ""
        )
        end = f"unfinished after {found}: {item.why_not}{changed}" if item.why_not else f"{found}{changed}"
        print_lines(console, f"{item.constant}={item.value}: {end}", indent=2)
    if not growth.steps:
        print_lines(console, "none", indent=2)
    print_rows(console, [(styled(name, "dim"), text) for name, text in _lines(growth, unshared)])


def _lines(growth: Growth, unshared: Container[str]) -> Iterator[tuple[str, Text | str]]:
    """Yield what was learnt: (label, text)."""
    same = [item.name for item in growth.stable if item.changes is None]
    if same and growth.bounds:
        told = "every verdict" if len(same) == len(growth.stable) else ", ".join(same)
        yield "stable", f"{told}, up to {_shown(growth.bounds)}"
    for item in growth.stable:
        if item.changes is not None:
            constant, value, verdict = item.changes
            yield (
                item.name,
                styled(f"{item.verdict} up to {_shown(item.up_to)}; {verdict} with {constant}={value}", "yellow"),
            )
    if growth.settled:
        yield "settled", f"not reached any more: {beyond_bounds({name: name for name in growth.settled}, unshared)}"
    if growth.open:
        yield "still reached", ", ".join(growth.open)
    if growth.off:
        yield "switched off", f"{', '.join(growth.off)}: a bound of 0 is not raised"
    largest = f"; {', '.join(growth.open)}: the largest value that is declared" if growth.open else ""
    why = f"unfinished: {growth.why_stopped}" if growth.why_stopped else f"nothing is left to raise{largest}"
    yield "growth", f"{why} ({show_seconds(growth.seconds)} in all)"


def beyond_bounds(shown: Mapping[str, str], unshared: Container[str]) -> str:
    """Return what is known of larger values of bounds that were not reached; `shown` is each by name."""
    free = [text for name, text in shown.items() if name in unshared]
    read = [text for name, text in shown.items() if name not in unshared]
    told = [f"{', '.join(free)}: larger values add no state"] if free else []
    if read:
        them = "it" if len(read) == 1 else "them"
        told.append(f"{', '.join(read)}: the model reads {them} elsewhere too, so larger values may add states")
    return "; ".join(told)


def _shown(bounds: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in bounds.items())
