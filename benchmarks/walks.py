"""Random walks, Hypothesis and shrinking, measured by `python -m benchmarks.walks`, which exits with 1 if a goal is
missed.

Hypothesis searches for three known bugs with the catalogue's sizes, and random walks search for them with five brokers
or replicas. The traces that they find are shrunk, and compared with the shortest trace from a breadth-first search.
Then steps per second are measured: for the walker, Hypothesis with schedules, and Hypothesis with plain rules. Guards
refuse most calls of rules, so both calls and steps are printed; the goal applies to steps. Compilation is excluded.
"""

import argparse
import sys
import time
from dataclasses import dataclass

from fencepost.counterexamples.shrink import Limits, shrink, source_of
from fencepost.counterexamples.stateful import (
    DEVELOPMENT,
    Driver,
    Profile,
    explore,
    rule_machine,
    settings,
    try_schedules,
)
from fencepost.counterexamples.trace import Trace, trace_of_path
from fencepost.explorers.native.compile import Kernels, load
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options
from fencepost.explorers.walk.sample import Plan, sample
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import protocol
from fencepost.model.language.constants import Constants

SECONDS, FASTER = 60.0, 20.0
REPAIRED = {"equal_partition_epoch_overwrites": 0, "reset_followers_on_reelection": 1, "fenced_before_registration": 1}
"""The fixes for HYP-1 to HYP-3, so that the model contains only one bug at a time."""


@dataclass(frozen=True)
class Bug:
    """A known bug with the catalogue's sizes, and with five brokers or replicas."""

    name: str
    protocol: str
    prop: str
    small: dict[str, int]
    large: dict[str, int]


BUGS = (
    Bug(
        "B09 (KIP-903)",
        "replication",
        "joining-epoch-is-registered",
        {**REPAIRED, "alter_partition_version": 2, "brokers": 2, "max_records": 1, "initial_isr": 1, "shrinks": 0},
        {
            **REPAIRED,
            "alter_partition_version": 2,
            "brokers": 5,
            "max_records": 2,
            "initial_isr": 2,
            "crashes": 2,
            "fences": 4,
        },
    ),
    Bug(
        "B01 (KIP-101)",
        "replication",
        "leader-has-committed",
        {
            **REPAIRED,
            "truncation": 0,
            "loss": 0,
            "brokers": 2,
            "max_records": 1,
            "crashes": 0,
            "fences": 2,
            "shrinks": 0,
            "max_leader_epoch": 3,
        },
        {
            **REPAIRED,
            "truncation": 0,
            "loss": 0,
            "brokers": 5,
            "max_records": 2,
            "crashes": 1,
            "fences": 5,
            "shrinks": 2,
            "max_leader_epoch": 6,
        },
    ),
    Bug(
        "KAFKA-7128 in KIP-279",
        "kip279",
        "strong-isr",
        {"replicas": 3, "log_size": 2, "max_records": 2, "max_leader_epoch": 2},
        {"replicas": 5, "log_size": 2, "max_records": 2, "max_leader_epoch": 2},
    ),
)


def constants_of(bug: Bug, values: dict[str, int]) -> Constants:
    return protocol(bug.protocol).machine.set_constants(values)


def kernels_of(bug: Bug, constants: Constants) -> Kernels:
    found = protocol(bug.protocol)
    return load(source_of(Trace("", found, constants, None, ())))


def shortest(bug: Bug) -> int:
    found, constants = protocol(bug.protocol), constants_of(bug, bug.small)
    kernels = kernels_of(bug, constants)
    result = search(
        found.machine, constants, found.select((bug.prop,)), Options(stop_on_violation=True), kernels=kernels
    )
    path = result.of(bug.prop).path
    assert path is not None
    return path.length


def by_hypothesis(bug: Bug, limits: Limits, least: int) -> bool:
    tried, shrunk = explore(protocol(bug.protocol), bug.small, (bug.prop,), limits=limits)
    if tried.failure is None or shrunk is None:
        print(f"  Hypothesis      NOT FOUND in {tried.schedules:,} schedules, {tried.seconds:.1f} s")
        return False
    print(
        f"  Hypothesis      found after {tried.schedules:,} schedules, {tried.steps:,} steps, {tried.seconds:.1f} s; "
        "shrunk by "
        f"Hypothesis to {tried.failure.path.length} states, then to {shrunk.path.length} in {shrunk.seconds:.1f} s"
    )
    return tried.seconds < SECONDS and shrunk.path.length <= least + 2


def by_walks(bug: Bug, plan: Plan, limits: Limits, least: int) -> bool:
    found, constants = protocol(bug.protocol), constants_of(bug, bug.large)
    walker = Walker(found.machine, constants, found.select((bug.prop,)), kernels=kernels_of(bug, constants))
    made = sample(walker, plan)
    path = made.of(bug.prop).path
    if path is None:
        print(f"  walks, five     NOT FOUND in {made.walks:,} walks, {made.seconds:.1f} s")
        return False
    shrunk = shrink(trace_of_path(found, constants, bug.prop, path), limits)
    lowered = ", ".join(f"{name} {old} to {new}" for name, (old, new) in shrunk.lowered.items())
    print(
        f"  walks, five     found after {made.walks:,} walks, {made.steps:,} steps, {made.seconds:.1f} s: "
        f"{path.length} states\n"
        f"  shrink          to {shrunk.path.length} states in {shrunk.seconds:.1f} s; {lowered}\n                  "
        f"{shrunk.reach}"
    )
    return made.seconds < SECONDS and shrunk.seconds < SECONDS and shrunk.path.length <= least + 1


def rates(name: str, values: dict[str, int], prop: str) -> bool:
    bug = Bug("", name, prop, values, {})
    found, constants = protocol(name), constants_of(bug, values)
    properties = found.select((prop,))
    walker = Walker(found.machine, constants, properties, kernels=kernels_of(bug, constants))
    driver = Driver(walker, DEVELOPMENT)
    driver.run(bytes((driver.depth + 1) * driver.width.itemsize), aims=False)

    began = time.process_time()
    made = sample(walker, Plan(walks=20_000, workers=1))
    walked = made.steps / (time.process_time() - began)

    began = time.process_time()
    tried = try_schedules(walker, Profile("benchmark", 1_000, DEVELOPMENT.schedules, DEVELOPMENT.depth, fixed=True))
    chosen = tried.steps / (time.process_time() - began)

    from hypothesis import settings as of_hypothesis
    from hypothesis.stateful import run_state_machine_as_test

    rules = rule_machine(found.machine, constants, properties)
    few = of_hypothesis(settings(Profile("", 100, fixed=True), ("generate",)), stateful_step_count=50)
    began = time.process_time()
    run_state_machine_as_test(rules, settings=few)
    took = time.process_time() - began
    called, stepped = rules.calls / took, rules.steps / took
    print(
        f"  {name:12} walker {walked:>11,.0f}   schedules {chosen:>9,.0f}   plain rules {called:>6,.0f} called, "
        f"{stepped:>6,.0f} of them steps: Hypothesis {chosen / called:,.0f} times faster than a call, "
        f"{chosen / stepped:,.0f} than a step"
    )
    return chosen >= FASTER * stepped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    limits = Limits(seconds=SECONDS, workers=given.workers)
    plan = Plan(seed=given.seed, walks=1_000_000, workers=given.workers, budget=SECONDS, stop_on_violation=True)
    good = []
    for bug in BUGS:
        least = shortest(bug)
        print(f"{bug.name}: {bug.protocol}, {bug.prop}: the shortest trace has {least} states")
        good += [by_hypothesis(bug, limits, least), by_walks(bug, plan, limits, least)]
    print("Steps per second of CPU time, one thread:")
    good += [
        rates("kip320", {"replicas": 3}, "strong-isr"),
        rates("replication", {**REPAIRED, "brokers": 2}, "leader-has-committed"),
    ]
    print(
        f"{sum(good)} of {len(good)} goals reached: below {SECONDS:g} s, within 2 and 1 of the shortest, {FASTER:g} "
        "times faster"
    )
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
