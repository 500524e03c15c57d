"""A sweep as one page of HTML with a heat map, which needs nothing else."""

from __future__ import annotations

from typing import Any

DARKEST = 0.85


def page(data: dict[str, Any]) -> str:
    """Return the page."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fencepost.cli.views"), autoescape=True, trim_blocks=True, undefined=StrictUndefined
    )
    return environment.get_template("sweep.html").render(data=data, maps=list(maps_of(data)))


def maps_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a heat map for each combination of the values of the third axis and those after it.

    Its columns are the first axis and its rows the second; `shade` is the share of walks that violated something.
    """
    axes = list(data["axes"].items())
    (across, columns), (down, rows) = [*axes[:2], ("", [""]), ("", [""])][:2]
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
            lines.append({"value": row, "cells": [_square(known.get(key), refused.get(key, "")) for key in keys]})
        title = " ".join(f"{name}={value}" for (name, _), value in zip(axes[2:], others, strict=True))
        found.append({"title": title, "across": across, "down": down, "columns": columns, "rows": lines})
    return found


def _square(cell: dict[str, Any] | None, why: str) -> dict[str, Any]:
    if cell is None:
        return {"kind": "refused", "text": "", "title": why, "shade": 0.0}
    if not cell["walks"]:
        return {"kind": "unknown", "text": "?", "title": "not walked yet", "shade": 0.0}
    title = "\n".join(
        [
            f"{cell['walks']:,} walks",
            *(f"{item['property']}: {item['walks']:,} walks, shortest {item['length']} states" for item in cell["violations"]),
        ]
    )
    if not cell["violations"]:
        return {"kind": "safe", "text": "0", "title": title, "shade": 0.0}
    share = cell["violated"] / cell["walks"]
    text = f"{share:.0%}" if share >= 0.01 else f"{cell['violated']:,} of {cell['walks']:,}"
    kind = "frontier" if cell["smallest_unsafe"] else "unsafe"
    return {"kind": kind, "text": text, "title": title, "shade": 0.25 + (DARKEST - 0.25) * share**0.5}
