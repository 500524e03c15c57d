"""Pinned figures, written into the files of runs. Verdicts are not pinned, but edited by hand in a run's row."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.api.asking.quantities import counted
from fencepost.api.files import write_text
from fencepost.invariants.catalogue import NAME, file_of, runs, with_reached
from fencepost.invariants.figures import store
from fencepost.invariants.run import Run
from fencepost.invariants.run_files import Runs
from fencepost.model.language.errors import UsageError

_ROW = re.compile(r"^run\.(?:\"[^\"]*\"|'[^']*'|[\w-]+) *= *(?=[\[{]).*?(?=^run\.|^\[|\Z)", re.MULTILINE | re.DOTALL)
"""Matches a row up to the next row or the end of its group."""
_PIN = re.compile(r"(\bpin *= *\[)[\d_]+, *[\d_]+")
_LISTED = re.compile(r"\b(fails|worst) *= *(\"\"\"|\")(.*?)\2", re.DOTALL)


@dataclass(frozen=True)
class Pinned:
    """A report on pinned figures, with a line for each file and for each run that stays unchanged."""

    lines: tuple[str, ...]
    left: tuple[dict[str, Any], ...]


def pin(done: Sequence[dict[str, Any]]) -> Pinned:
    """Write the figures of runs that have the expected verdicts into their files."""
    by_name = {run.name: run for run in runs()}
    changed: dict[Path, dict[str, Run]] = {}
    left, lines = [], []
    for item in done:
        run = by_name[item["run"]]
        expected = dict.fromkeys(run.violated, "violated") | dict.fromkeys(run.unreached, "unreached")
        if not item["complete"] or any(
            prop["verdict"] != expected.get(prop["name"], "holds") for prop in item["properties"]
        ):
            left.append(item)
        elif (found := _found(run, item)) != run:
            changed.setdefault(file_of(run), {})[run.name] = found
    bounds = {
        item["run"]: tuple(found["constant"] for found in item["bounds_reached"])
        for item in done
        if item not in left and "bounds_reached" in item
    }
    reached = with_reached(runs(), bounds)
    if reached != store.load(NAME):
        store.save(NAME, reached)
        lines.append(f"{store.file_of(NAME)}: the bounds that were reached. Review the diff before keeping it.")
    for file, repinned in changed.items():
        write_text(file, pinned(file.name, file.read_text("utf-8"), repinned))
        lines.append(f"{file}: pinned {counted(len(repinned), 'run')}. Review the diff before keeping it.")
    for item in left:
        why = "did not finish"
        if item["complete"]:
            why = "has unexpected verdicts, which must be edited by hand"
        lines.append(f"not pinned: {item['run']} {why}.")
    return Pinned(tuple(lines), tuple(left))


def _found(run: Run, item: dict[str, Any]) -> Run:
    by_name = {prop["name"]: prop for prop in item["properties"]}
    lengths = {name: by_name[name]["length"] for name in run.violated}
    worst = {name: by_name[name]["worst"] for name in run.worst}
    return replace(run, distinct=item["distinct"], depth=item["depth"], violated=lengths, worst=worst)


def pinned(name: str, text: str, changed: Mapping[str, Run]) -> str:
    """Return the text of a runs file with new figures; raise UsageError if a run has no place for its figures."""
    before = Runs({name: text})
    rows = iter(before.all)
    if sum(1 for _ in _ROW.finditer(text)) != len(before.all):
        raise UsageError(f'{name}: figures are written into rows of the form run."..." = {{...}}: use this form.')

    def row(match: re.Match[str]) -> str:
        run = next(rows)
        return _repinned(before, match[0], changed[run.name]) if run.name in changed else match[0]

    made = _ROW.sub(row, text)
    for run, again in zip(before.all, Runs({name: made}).all, strict=True):
        if again != changed.get(run.name, run):
            raise UsageError(
                f"{name}: some figures of {run.name!r} are defaults of its group: write them in the run's row, then "
                "pin again."
            )
    return made


def _repinned(runs: Runs, row: str, run: Run) -> str:
    places: dict[str, Mapping[str, int | str]] = {"fails": run.violated, "worst": run.worst}

    def listed(match: re.Match[str]) -> str:
        key, quote, items = match[1], match[2], match[3]
        named = [_item(runs, run, item, places[key]) for item in items.split(",")]
        return match[0].replace(f"{quote}{items}{quote}", f"{quote}{','.join(named)}{quote}")

    row = _PIN.sub(lambda match: f"{match[1]}{run.distinct:_}, {run.depth:_}", row, count=1)
    return _LISTED.sub(listed, row)


def _item(runs: Runs, run: Run, item: str, figures: Mapping[str, int | str]) -> str:
    words, last = item.rstrip(), item.rsplit(maxsplit=1)[-1]
    (name,) = runs.names(run.protocol, " ".join(item.split()[:-1]))
    return words[: -len(last)] + str(figures[name]) + item[len(words) :]
