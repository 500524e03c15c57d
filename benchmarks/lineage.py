"""Speed of the explorers, as ratios in one run: `python -m benchmarks.lineage`.

The model is kip320 with 3 replicas, 2 records, logs of length 2, and 3 leader epochs. All properties are checked, and
coverage is recorded. Compilation is excluded. Each figure is the median of several runs. The runs are interleaved, so
that other load on the machine affects all figures alike.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from types import SimpleNamespace

from fencepost.explorers import plain
from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.native.llvm.libraries import Kernel
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options, Result
from fencepost.invariants.protocols import protocol
from rich.console import Console
from rich.table import Table

from benchmarks import tuples, yardsticks

SIZE = {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2}
PLAIN_SIZE = {**SIZE, "max_leader_epoch": 1}
KERNELS = {
    "expand_pieces": "expand (guards, effects, hashes)",
    "insert": "table (insert, compare)",
    "judge_pieces": "properties",
    "rebuild": "table (grow)",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="number of runs for each figure, which is their median")
    rounds = parser.parse_args().rounds
    console = Console(width=110)
    found = protocol("kip320")
    constants = found.machine.set_constants(SIZE)
    kernels = compiled(found.machine, constants, found.properties)

    def native(workers: int, *, compact: bool = False) -> Result:
        options = Options(workers=workers, compact=compact)
        return Search(found.machine, constants, found.properties, options, kernels=kernels).run()

    native(2)
    one: list[Result] = []
    two: list[Result] = []
    simple: list[float] = []
    in_c: list[float] = []
    bound: list[float] = []
    latency: list[float] = []
    for turn in range(rounds):
        one.append(native(1))
        two.append(native(2))
        in_c += _figure(yardsticks.c_search(*SIZE.values()), "seconds")
        bound += _figure(yardsticks.c_latency_bound(*SIZE.values()), "overlapped_seconds")
        latency += _figure(yardsticks.c_latency_bound(*SIZE.values()), "seconds")
        if turn < max(1, rounds // 2):
            simple.append(_time(lambda: tuples.search(*SIZE.values())))
    reference = plain.search(found.machine, found.machine.set_constants(PLAIN_SIZE), found.properties)
    small = median(_small(PLAIN_SIZE) for _ in range(rounds))
    compact = native(1, compact=True)
    base = median(result.seconds for result in one)
    pair = median(result.seconds for result in two)
    distinct, generated = one[0].distinct, one[0].generated

    table = Table(title=f"kip320 3/2/2/2: {distinct:,} states, {generated:,} generated", title_justify="left")
    for column in ("search", "seconds", "states/s", "transitions/s", "against native, one worker"):
        table.add_column(column, justify="left" if column == "search" else "right")
    rows = [
        ("native, one worker", base),
        ("native, two workers", pair),
        ("hand-written Python (tuples and a set)", median(simple)),
        *([("hand-written C, one thread", median(in_c))] if in_c else []),
        *([("table accesses alone, one after another", median(latency))] if latency else []),
        *([("table accesses alone, overlapping: the bound", median(bound))] if bound else []),
    ]
    for name, seconds in rows:
        ratio = f"{seconds / base:.2f} times" if seconds > base else f"1/{base / seconds:.2f}"
        table.add_row(name, f"{seconds:.3f}", f"{distinct / seconds:,.0f}", f"{generated / seconds:,.0f}", ratio)
    console.print(table)

    checks = Table(title="What must hold", title_justify="left")
    for column in ("what", "wanted", "measured"):
        checks.add_column(column, justify="left" if column == "what" else "right")
    plain_ratio = reference.seconds / small
    checks.add_row("native, one worker, against the plain reference search (3/2/2/1)", "60", f"{plain_ratio:.0f}")
    checks.add_row(
        "native, one worker, against hand-written Python (tuples and a set)", "9", f"{median(simple) / base:.1f}"
    )
    checks.add_row("two workers against one", "1.7", f"{base / pair:.2f}")
    checks.add_row("bytes a state, exact", "at most 30", f"{one[0].store_bytes / distinct:.1f}")
    checks.add_row("bytes a state, compact", "at most 20", f"{compact.store_bytes / distinct:.1f}")
    console.print(checks)
    console.print(_shares(kernels))
    if not in_c:
        console.print(f"No C yardstick: {yardsticks.reason(*SIZE.values())}")


def _figure(measured: yardsticks.Measured | None, name: str) -> list[float]:
    return [float(measured[name])] if measured else []


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _small(size: dict[str, int]) -> float:
    kip320 = protocol("kip320")
    constants = kip320.machine.set_constants(size)
    kernels = compiled(kip320.machine, constants, kip320.properties)
    return Search(kip320.machine, constants, kip320.properties, Options(workers=1), kernels=kernels).run().seconds


class Watched:
    def __init__(self, kernel: Kernel, name: str, spent: dict[str, float]) -> None:
        self.kernel, self.name, self.spent = kernel, name, spent

    def __call__(self, *arguments: object) -> object:
        return self.timed(lambda: self.kernel(*arguments))

    def bound(self, *arguments: object) -> Callable[[], object]:
        call = self.kernel.bound(*arguments)
        return lambda: self.timed(call)

    def timed(self, call: Callable[[], object]) -> object:
        began = time.perf_counter()
        try:
            return call()
        finally:
            self.spent[self.name] += time.perf_counter() - began


def _shares(kernels: Kernels) -> Table:
    kip320 = protocol("kip320")
    spent = dict.fromkeys(KERNELS, 0.0)

    module = SimpleNamespace(**vars(kernels.module))
    for name in KERNELS:
        setattr(module, name, Watched(getattr(module, name), name, spent))
    watched = replace(kernels, module=module)
    constants = kip320.machine.set_constants(SIZE)
    seconds = Search(kip320.machine, constants, kip320.properties, Options(workers=1), kernels=watched).run().seconds
    table = Table(title="Where the time goes, one worker", title_justify="left")
    table.add_column("kernel")
    table.add_column("share", justify="right")
    for name, words in KERNELS.items():
        table.add_row(words, f"{spent[name] / seconds:.0%}")
    table.add_row("everything else", f"{1 - sum(spent.values()) / seconds:.0%}")
    return table


if __name__ == "__main__":
    main()
