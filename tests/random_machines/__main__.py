"""Random machines through every engine: `python -m tests.random_machines run --count 1000`."""

import argparse
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from fencepost.invariants.figures.store import load as figures
from fencepost.invariants.figures.store import save
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import ModelError, UsageError

from tests.random_machines import claims
from tests.random_machines.case import Case
from tests.random_machines.choices import Choices, shrink
from tests.random_machines.comparisons import ALWAYS, SOMETIMES
from tests.random_machines.constructs import cover
from tests.random_machines.engines import compare_typed, with_folder
from tests.random_machines.machines import machine_text
from tests.random_machines.run import rows_in, run, sources, summary


def small(seed: int, name: str) -> str:
    asked = (
        ALWAYS
        | {name: ask for name, (_, ask) in SOMETIMES.items()}
        | {"typed": lambda case: compare_typed(case.machine, case.properties)}
    )

    if name not in asked:
        raise UsageError(f"there is no comparison {name!r}. Comparisons are: {', '.join(sorted(asked))}.")

    def differs(machine: Machine, properties: tuple[Property, ...]) -> str:
        try:
            return asked[name](Case(machine, properties, machine.set_constants({}), seed))
        except Exception as error:  # noqa: BLE001 (an engine that breaks is what is looked for)
            return repr(error)

    ask: Callable[[str], str | None] = with_folder(differs)
    choices = Choices(seed=seed)
    if not ask(machine_text(choices)):
        return f"machine {seed} does not differ\n"
    return machine_text(Choices(shrink(choices.made, lambda given: bool(ask(machine_text(Choices(given)))))))


def on_spark(seed: int, count: int) -> int:
    from tests.random_machines import spark

    found = spark.run(seed, count)
    print("\n".join(found["differences"]) or found)  # noqa: T201 (what it is for)
    save("trust", {**figures("trust"), "machines on Spark": {**found, "differences": len(found["differences"])}})
    return 1 if found["differences"] else 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.random_machines", description=__doc__)
    orders = parser.add_subparsers(required=True, dest="order")
    for name, file, words in (
        ("run", "random_machines.jsonl", "compare machines, on from where an earlier run ended"),
        ("claims", "random_claims.jsonl", "make claims about machines with bounds and budgets, and try to refute them"),
    ):
        order = orders.add_parser(name, help=words)
        order.add_argument("--seed", type=int, default=0, help="the first machine")
        order.add_argument("--count", type=int, default=1000, help="how many")
        order.add_argument("--seconds", type=float, default=3600, help="end after so long")
        order.add_argument("--workers", type=int, default=2, help="processes; 0 looks at all machines in this one")
        order.add_argument("--file", type=Path, default=Path(file), help=f"a row for each machine: {file} if not given")
    order = orders.add_parser("summary", help="write what runs saw to invariants/figures/trust.json")
    order.add_argument("files", type=Path, nargs="+", help="files of runs")
    order = orders.add_parser("shrink", help="print a small machine that differs")
    order.add_argument("seed", type=int, help="of the machine")
    order.add_argument("comparison", help="that differs, such as `whole`, as a row of a run names it")
    order = orders.add_parser(
        "spark", help="compare a few machines on Spark, and write what was seen to invariants/figures/trust.json"
    )
    order.add_argument("--seed", type=int, default=0, help="the first machine")
    order.add_argument("--count", type=int, default=20, help="how many")
    order = orders.add_parser("cover", help="print seeds of machines that have every construct between them")
    order.add_argument("count", type=int, help="machines that are drawn")
    given = parser.parse_args()
    say = partial(print, flush=True)
    if given.order == "shrink":
        say(small(given.seed, given.comparison))
        return 0
    if given.order == "cover":
        with tempfile.TemporaryDirectory() as folder:
            say(cover(given.count, Path(folder)))
        return 0
    if given.order == "claims":
        found = claims.summary(run(given.seed, given.count, given.seconds, given.file, given.workers, claims.ask))
        return show(found, found["false"])
    if given.order == "spark":
        return on_spark(given.seed, given.count)
    if given.order == "run":
        rows = run(given.seed, given.count, given.seconds, given.file, given.workers)
    else:
        rows = rows_in(given.files)
        if any("made" in row for row in rows):
            found = claims.summary(rows)
            save("trust", {**figures("trust"), "claims": {**found, "false": len(found["false"])}})
            return show(found, found["false"])
    for row in rows:
        if row.get("differs"):
            say(f"machine {row['seed']}: {row['differs']}")
    if all(row.get("refused") for row in rows):
        raise UsageError("no machine was looked at, so there is nothing to say.")
    found = {"sources": sources(), **summary(rows)}
    if given.order == "summary":
        save("trust", {**figures("trust"), "machines": found})
    return show(found, found["differences"])


def show(found: dict[str, Any], wrong: object) -> int:
    print("\n".join(f"{name}: {value}" for name, value in found.items()), flush=True)  # noqa: T201 (what it is for)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ModelError, UsageError) as error:
        sys.exit(str(error))
