"""A matrix of necessity on a terminal: rows by purpose, the needed ones with what is violated without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.api.answers.matrix import meaning_for, not_run
from fencepost.api.answers.suspicions import SUSPICIONS
from fencepost.api.asking.quantities import counted
from fencepost.api.calls.patience import eventual_of
from fencepost.cli.views.console import heading, print_lines, print_rows, styled

if TYPE_CHECKING:
    from fencepost.api.answers.contract_evidence import MatrixData, RowData
    from rich.console import Console

LONG = 120
"""Characters of a condition that are shown."""
NUMBERS = "states of the shortest trace to a violation; ? where the search ended without a decision"
_STYLES = {
    "needed": "bold green",
    "undetermined": "bold yellow",
    "not-exercised": "bold yellow",
    "nothing-broke": "bold yellow",
}


def print_matrix(console: Console, data: MatrixData, *, legend: bool = True) -> None:
    """Print a matrix: what was searched, then the rows of each purpose; with a legend of the numbers."""
    from rich.text import Text

    console.print(Text.assemble(heading(data["protocol"]), f"  {counted(len(data['rows']), 'row')}"), soft_wrap=True)
    print_lines(console, styled(data["sentence"], "dim"))
    for item in data["properties"]:
        if item["length"] is not None and item["verdict"] == "violated":
            print_lines(
                console,
                styled(
                    f"{item['name']} is violated by the whole protocol (shortest trace {counted(item['length'], 'state')}), so no row says anything of it.",
                    "bold red",
                ),
            )
    eventual = eventual_of(data)
    for name in eventual["violated"]:
        print_lines(
            console, styled(f"{name} is violated by the whole protocol, so no row says anything of it.", "bold red")
        )
    for name in eventual["asked"]:
        if name not in {*eventual["holding"], *eventual["violated"]}:
            print_lines(
                console,
                styled(f"{name} is undetermined in the whole protocol, so no row says anything of it.", "yellow"),
            )
    for purpose, meaning in meaning_for(data).items():
        rows = [row for row in data["rows"] if row["purpose"] == purpose]
        if rows:
            console.print()
            print_lines(console, Text.assemble((purpose, _STYLES.get(purpose, "bold")), f"  {len(rows)}: {meaning}"))
            width = max(len(row["row"]) for row in rows)
            for row in rows:
                _print_row(console, row, width)
    if data["why_stopped"]:
        console.print()
        print_lines(console, styled(f"Partial: {data['why_stopped']}. {not_run(data)}".rstrip(), "yellow"))
    _print_suspicions(console, data["suspicions"])
    console.print()
    constants = " ".join(f"{name}={str(value).lower()}" for name, value in data["constants"].items())
    print_rows(
        console,
        [
            (styled("constants", "dim"), constants),
            (styled("whole", "dim"), f"{data['distinct']:,} distinct states, depth {data['depth']}"),
            *([(styled("numbers", "dim"), NUMBERS)] if legend else []),
        ],
    )


def _print_suspicions(console: Console, found: dict[str, list[str]]) -> None:
    """Print what shows that nothing could have gone wrong: guards have their rows above."""
    for name, meaning in SUSPICIONS.items():
        if found.get(name) and name != "idle":
            console.print()
            print_lines(console, styled(f"Suspicious: {meaning}:", "bold yellow"))
            print_lines(console, ", ".join(found[name]), indent=2)


def _print_row(console: Console, row: RowData, width: int) -> None:
    """Print a row: its name and what it asks for, and below that what was found."""
    from rich.text import Text

    condition = row["condition"] if row["kind"] == "guard" else row["sentence"]
    name = styled(f"{row['row']:{width}}", "bold" if row["purpose"] == "needed" else "")
    print_rows(console, [(name, condition if len(condition) <= LONG else condition[: LONG - 3] + "...")], indent=2)
    found = Text.assemble(*_found(row))
    if found:
        print_lines(console, found, indent=6)


def _found(row: RowData) -> list[Any]:
    """Return what was found of a row, in pieces."""
    if row["purpose"] == "needed":
        broken = ", ".join(f"{name} {row['cells'][name]['length']}" for name in row["broken"])
        unknown = [name for name, cell in row["cells"].items() if cell["verdict"] == "undetermined"]
        return [(broken, "red"), f"; ? {', '.join(unknown)}" if unknown else ""]
    if row["purpose"] == "liveness":
        return [(", ".join(row["liveness"]), "red")]
    if row["why"]:
        return [row["why"]]
    if row["purpose"] == "bound" and row["departure"]:
        return [row["departure"]["message"]]
    if row["grown"]:
        return [f"{row['distinct']:,} states", *_beyond(row)]
    if row["purpose"] == "implied":
        return [f"first to refuse {row['refused']:,} times"] if row["refused"] else ["guards before it refuse the same"]
    return [f"refuses {row['alone']:,} steps alone", *_beyond(row)] if row["alone"] else []


def _beyond(row: RowData) -> list[Any]:
    """Say that steps were left out which left a domain: what they lead to is not known."""
    if not row["departure"]:
        return []
    return [
        ("; steps that leave a domain go no further: ", "yellow"),
        row["departure"]["message"].rstrip("."),
        "; widen it to decide",
    ]
