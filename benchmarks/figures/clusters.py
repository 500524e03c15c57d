"""Measurement of findings on whole clusters, with several runs of each.

`python -m benchmarks.figures.clusters [--runs N] [--finding NAME ...] [--kafka VERSION ...]`.

Each run has its own cluster and takes about a minute. The program writes a row for each run to
invariants/figures/clusters.json; docs/kafka/clusters.md shows these rows. Recorded runs are skipped, so the command may
be interrupted and restarted; undetermined runs are recorded and played again.
"""

import argparse
from itertools import product
from typing import Any

from fencepost.invariants.figures.store import load, save
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.clusters.reproduce import PORT, SCENARIOS, Asked, choose_repairs, reproduce
from rich.console import Console

RELEASES = ("4.1.2", "4.4.0")
MODES = ("played", "control", "repaired")
REPAIRS = sorted({f"repaired-{cause.repair}" for scenario in SCENARIOS for cause in scenario.causes})
"""Modes with a single fix, for findings that have several fixes."""
CONSOLE = Console(width=120, highlight=False)


def main() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="number of runs of each finding, including recorded runs")
    parser.add_argument("--finding", action="append", choices=names, help="finding to play (default: all)")
    parser.add_argument(
        "--kafka", action="append", metavar="VERSION", help=f"release to use (default: {' and '.join(RELEASES)})"
    )
    parser.add_argument(
        "--mode",
        action="append",
        choices=[*MODES, *REPAIRS],
        help="reproduce the finding unmodified, as its control, with all its fixes, or with one of them",
    )
    parser.add_argument("--port", type=int, default=PORT)
    given = parser.parse_args()
    for name, version, mode in product(given.finding or names, given.kafka or RELEASES, given.mode or ("played",)):
        missing = given.runs - sum(
            _same(row, name, version, mode) and row["verdict"] != "undetermined" for row in _rows()
        )
        for _ in range(missing):
            row = _played(name, version, mode, given.port)
            load.cache_clear()  # another process may have added a run
            save("clusters", {"runs": sorted([*_rows(), row], key=_place)})
            CONSOLE.print(row)


def _rows() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = load("clusters").get("runs", [])
    return found


def _same(row: dict[str, Any], name: str, version: str, mode: str) -> bool:
    return (row["finding"], row["kafka"], row["mode"]) == (name, version, mode)


def _place(row: dict[str, Any]) -> tuple[int, int, str]:
    names = [scenario.name for scenario in SCENARIOS]
    return names.index(row["finding"]), [*MODES, *REPAIRS].index(row["mode"]), row["kafka"]


def _played(name: str, version: str, mode: str, port: int) -> dict[str, Any]:
    scenario = next(found for found in SCENARIOS if found.name == name)
    on, some = kit(version), mode.partition("-")[2]
    repairs = choose_repairs(scenario, on, (some,) if some else ()) if mode.startswith("repaired") else ()
    asked = Asked(control=mode == "control", repairs=repairs, port=port)
    found = reproduce(scenario, asked, on, lambda line: CONSOLE.print(line.shown(), soft_wrap=True)).data()
    names = ("finding", "kafka", "expected", "verdict", "acknowledged", "readable", "lost", "seconds")
    return {**{name: found[name] for name in names}, "mode": mode, **({"why": found["why"]} if "why" in found else {})}


if __name__ == "__main__":
    main()
