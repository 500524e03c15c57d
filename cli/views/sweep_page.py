"""A sweep as one page of HTML with a heat map, which needs nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fencepost.cli.views.sweep import about

if TYPE_CHECKING:
    from fencepost.api.answers.contract import SweepData, SweptCellData, Value

DARKEST = 0.85


class Square(NamedTuple):
    """A cell of a heat map; `shade` is the share of walks that violated something."""

    kind: str
    text: str
    title: str
    shade: float


class Line(NamedTuple):
    """A row of a heat map."""

    value: Value
    cells: list[Square]


class HeatMap(NamedTuple):
    """A heat map: its columns are the first axis and its rows the second."""

    title: str
    across: str
    down: str
    columns: list[Value]
    rows: list[Line]


def page(data: SweepData) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fencepost.cli.views"), autoescape=True, trim_blocks=True, undefined=StrictUndefined
    )
    return environment.get_template("sweep.html").render(data=data, maps=list(maps_of(data)), about=about)


def maps_of(data: SweepData) -> list[HeatMap]:
    """Return a heat map for each combination of the values of the third axis and those after it."""
    axes = list(data["axes"].items())
    none: tuple[str, list[Value]] = ("", [""])
    (across, columns), (down, rows) = [*axes[:2], none, none][:2]
    known = {tuple(cell["constants"].values()): cell for cell in data["cells"]}
    refused = {tuple(item["constants"].values()): item["why"] for item in data["refused"]}
    rest: list[tuple[Any, ...]] = [()]
    for _, values in axes[2:]:
        rest = [(*one, value) for one in rest for value in values]
    found = []
    for others in rest:
        lines = []
        for row in rows:
            keys = [(*([column] if across else []), *([row] if down else []), *others) for column in columns]
            lines.append(Line(row, [_square(known.get(key), refused.get(key, "")) for key in keys]))
        title = " ".join(f"{name}={value}" for (name, _), value in zip(axes[2:], others, strict=True))
        found.append(HeatMap(title, across, down, columns, lines))
    return found


def _square(cell: SweptCellData | None, why: str) -> Square:
    if cell is None:
        return Square("refused", "", why, 0.0)
    if not cell["walks"]:
        return Square("unknown", "?", "not walked yet", 0.0)
    title = "\n".join(
        [
            f"{cell['walks']:,} walks",
            *(
                f"{item['property']}: {item['walks']:,} walks, shortest {item['length']} states"
                for item in cell["violations"]
            ),
        ]
    )
    if not cell["violations"]:
        return Square("safe", "0", title, 0.0)
    share = cell["violated"] / cell["walks"]
    text = f"{share:.0%}" if share >= 0.01 else f"{cell['violated']:,} of {cell['walks']:,}"
    kind = "frontier" if cell["smallest_unsafe"] else "unsafe"
    return Square(kind, text, title, 0.25 + (DARKEST - 0.25) * share**0.5)
