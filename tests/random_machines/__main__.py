"""Draw machines from seeds and compare what engines say of them: `python -m tests.random_machines --seed 0 --count 1000`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.random_machines.choices import Choices, shrink
from tests.random_machines.engines import compare_searches, compare_symbolic, compare_typed, with_folder
from tests.random_machines.machines import machine_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.random_machines.engines import Question


def questions() -> dict[str, Question]:
    """Return what can be asked, by name."""
    from fencepost.explorers.native.search import search as native

    return {"typed": compare_typed, "symbolic": compare_symbolic, "native": partial(compare_searches, other=native)}


def smallest(choices: list[int], ask: Callable[[str], str | None]) -> tuple[str, str]:
    """Return the simplest text that was found that still fails, and how."""
    least = shrink(choices, lambda given: bool(ask(machine_text(Choices(given)))))
    text = machine_text(Choices(least))
    return text, ask(text) or ""


def main() -> int:
    """Run; return 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_machines", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--against", default="typed", choices=questions(), help="what the plain semantics is compared with")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for machines that fail")
    given = parser.parse_args()
    ask = with_folder(questions()[given.against])
    began, seen = time.monotonic(), Counter[str]()
    for seed in range(given.seed, given.seed + given.count):
        choices = Choices(seed=seed)
        found = ask(machine_text(choices))
        seen["refused" if found is None else "differs" if found else "agrees"] += 1
        if found:
            text, how = smallest(choices.made, ask)
            path = given.out / f"random_{given.against}_{seed}.py"
            path.write_text(text)
            print(f"seed {seed}: {how}\n  smallest: {path}", flush=True)  # noqa: T201 (what it is for)
    shown = ", ".join(f"{count} {word}" for word, count in sorted(seen.items()))
    print(f"{shown}; {time.monotonic() - began:.0f} s")  # noqa: T201 (what it is for)
    return 1 if seen["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
