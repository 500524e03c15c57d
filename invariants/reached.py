"""Which bounds each run of the catalogue reached: what holds there, holds below them.

`reached.toml` has a table for each protocol and a line for each run: the constants whose bounds cut off a step that was otherwise
possible, in the order of the constants. A budget of 0 is among them where it leaves something out. `fencepost check --profile ci --pin` writes it.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.invariants.run_files import constants_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fencepost.invariants.run import Run

HEAD = """# The bounds that each run of the catalogue reached: what holds there, holds below them.
# `fencepost check --profile ci --pin` writes this file; `reached.py` says what it means.
"""


def file_of_reached() -> Path:
    """Return the file."""
    return Path(str(resources.files("fencepost.invariants") / "reached.toml"))


@cache
def _reached() -> Mapping[str, Mapping[str, str]]:
    found: dict[str, dict[str, str]] = tomllib.loads(file_of_reached().read_text("utf-8"))
    return found


def reached_by(run: Run) -> dict[str, int] | None:
    """Return the bounds that a run reached, with their values; None where that was not recorded."""
    names = _reached().get(run.protocol, {}).get(run.short_name)
    if names is None:
        return None
    values = constants_of(run)
    return {name: int(values[name]) for name in names.split()}


def with_reached(runs: Iterable[Run], found: Mapping[str, Sequence[str]]) -> str:
    """Return the text of the file with what runs found, by their names; runs that are gone are left out."""
    tables: dict[str, list[str]] = {}
    for run in runs:
        before = reached_by(run)
        names = found.get(run.name, None if before is None else tuple(before))
        if names is not None:
            tables.setdefault(run.protocol, []).append(f'"{run.short_name}" = "{" ".join(names)}"')
    return HEAD + "".join(f"\n[{name}]\n" + "\n".join(lines) + "\n" for name, lines in tables.items())
