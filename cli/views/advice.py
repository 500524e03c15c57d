"""What settings mean, on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.topics.advice_words import (
    UNCHANGED,
    broken_by,
    change_of,
    groups,
    headline,
    lines_of,
    release_of,
    released_of,
)
from fencepost.api.topics.advising import notes
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.topics.advising import AdviceResult
    from rich.console import Console


def print_advice(console: Console, made: AdviceResult, read: dict[str, str] | None) -> None:
    """Print what crashes do, which findings apply, and what to change."""
    data = made.to_dict()
    print_lines(console, heading(made.settings.text))
    if read:
        where = f"Topic {read['topic']} of {read['bootstrap_server']}; release, acks and ELR are not read from there."
        print_lines(console, styled(where, "dim"))
    console.print()
    crashes = data["crashes"]
    print_lines(console, *(styled(line, "bold" if made.decided else "bold yellow") for line in headline(data)))
    if crashes is not None:
        for item, steps in zip(crashes["front"], crashes["told"], strict=True):
            print_lines(console, f"{broken_by(item)}:", indent=2)
            print_lines(console, *(f"{number}. {step}" for number, step in enumerate(steps, 1)), indent=4)
        print_lines(console, styled("`--trace FILE` writes it, and `fencepost explore FILE` opens it.", "dim"))
    print_lines(console, released_of(data))
    for note in notes(made.settings, data):
        print_lines(console, styled(note, "dim"))
    console.print()
    print_lines(console, heading(f"Findings in {release_of(data)}"))
    for title, items in groups(data):
        print_lines(console, styled(f"{title}:", "bold"), indent=2)
        for found in items:
            print_lines(console, heading(found["id"]), indent=2)
            print_lines(console, *lines_of(found, data), indent=4)
    console.print()
    print_lines(console, heading("What to change"))
    rows = [change_of(item) for item in data["changes"]]
    print_rows(console, rows or [("-", UNCHANGED)], indent=2)
