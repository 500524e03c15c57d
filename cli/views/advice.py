"""What settings mean, on the console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.advice_words import broken_by, change_of, lines_of, released_of
from fencepost.api.advising import notes
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.advising import AdviceResult
    from fencepost.api.contract_evidence import AppliesData
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
    if crashes is None:
        print_lines(
            console, styled(f"Not searched: {data['why']}. Nothing here says that these settings are safe.", "bold yellow")
        )
    else:
        style = "bold yellow" if made.point and made.point["undetermined"] else "bold"
        print_lines(console, styled(f"An acknowledged record: {crashes['outcome']}.", style))
        for item in crashes["front"]:
            print_lines(console, f"{broken_by(item, crashes['counted'])}:", indent=2)
            print_lines(console, *(f"{number}. {step}" for number, step in enumerate(item["steps"], 1)), indent=4)
        print_lines(console, styled("`--trace FILE` writes it, and `fencepost explore FILE` opens it.", "dim"))
    print_lines(console, released_of(data))
    for note in notes(made.settings, data):
        print_lines(console, styled(note, "dim"))
    console.print()
    print_lines(console, heading(f"Findings in {data['settings']['kafka']}"))
    for found in data["findings"]:
        _print_finding(console, found)
    console.print()
    print_lines(console, heading("What to change"))
    rows = [change_of(item) for item in data["changes"]]
    print_rows(console, rows or [("-", "no other value of one setting is known to survive more crashes")], indent=2)


def _print_finding(console: Console, found: AppliesData) -> None:
    print_lines(console, heading(found["id"]), indent=2)
    print_lines(console, *lines_of(found), indent=4)
