"""The published models: TLC's distinct states, depths and trace lengths, which ours must equal.

Every row was explored with TLC (breadth first, no symmetry, no view) on hachikuji/kafka-specification as published.
"""

from __future__ import annotations

from fencepost.invariants.catalogue import Case, Evidence, Profile, Run

SIZES = ("replicas", "log_size", "max_records", "max_leader_epoch")


def _run(
    protocol: str, sizes: str, distinct: int, depth: int, weak: int = 0, strong: int = 0, profile: Profile = Profile.CI
) -> Run:
    violated = {name: length for name, length in (("weak-isr", weak), ("strong-isr", strong)) if length}
    values = dict(zip(SIZES, (int(digit) for digit in sizes.split("/")), strict=True))
    return Run(protocol, values, profile=profile, distinct=distinct, depth=depth, violated=violated)


RUNS = (
    _run("truncate-to-hwm", "2/2/2/1", 1_251, 16, weak=9, strong=10),
    _run("kip101", "2/2/2/1", 1_177, 15),
    _run("kip279", "2/2/2/1", 1_177, 15),
    _run("kip320-first-try", "2/2/2/1", 1_165, 15),
    _run("kip320", "2/2/2/1", 957, 15),
    _run("truncate-to-hwm", "2/2/2/2", 10_131, 20, weak=9, strong=10, profile=Profile.QUICK),
    _run("kip101", "2/2/2/2", 9_045, 18, weak=12, strong=12, profile=Profile.QUICK),
    _run("kip279", "2/2/2/2", 9_027, 18, profile=Profile.QUICK),
    _run("kip320-first-try", "2/2/2/2", 8_429, 18),
    _run("kip320", "2/2/2/2", 5_973, 18),
    _run("truncate-to-hwm", "3/2/2/1", 67_807, 21, weak=9, strong=9),
    _run("kip101", "3/2/2/1", 59_788, 22, strong=12),
    _run("kip279", "3/2/2/1", 60_106, 22, strong=12, profile=Profile.QUICK),
    _run("kip320-first-try", "3/2/2/1", 59_092, 22),
    _run("kip320", "3/2/2/1", 39_619, 22),
    _run("kip320-first-try", "3/2/2/2", 1_437_076, 28, weak=12, strong=13, profile=Profile.QUICK),
    _run("kip320", "3/2/2/2", 737_794, 26, profile=Profile.QUICK),
)

_BY_NAME = {run.name: run for run in RUNS}


def _cases(*pairs: tuple[str, str]) -> tuple[Case, ...]:
    return tuple(Case(_BY_NAME[run], prop) for run, prop in pairs)


_LAST = ("kip320 2/2/2/1", "kip320 2/2/2/2", "kip320 3/2/2/1", "kip320 3/2/2/2")

EVIDENCE: tuple[Evidence, ...] = (
    Evidence("LIN-1", _cases(*((run, "weak-isr") for run in _LAST), ("kip320-first-try 3/2/2/2", "weak-isr"))),
    Evidence("LIN-2", _cases(*((run, "strong-isr") for run in _LAST), ("kip279 3/2/2/1", "strong-isr"))),
    Evidence("LIN-3", _cases(*((run, "leader-in-isr-or-none") for run in _LAST))),
    Evidence(
        "B01",
        _cases(("truncate-to-hwm 2/2/2/2", "weak-isr"), ("truncate-to-hwm 2/2/2/2", "strong-isr")),
        answer="Found in the published model of one-step fetches: nine states with two replicas.",
    ),
    Evidence(
        "B02",
        _cases(("kip101 2/2/2/2", "weak-isr"), ("kip279 2/2/2/2", "weak-isr")),
        answer="KIP-101 alone loses a committed record after fast leader changes; with KIP-279 nothing is lost at this size.",
    ),
    Evidence(
        "B03",
        _cases(
            ("kip320-first-try 3/2/2/2", "weak-isr"),
            ("kip320 3/2/2/2", "weak-isr"),
            ("kip320 3/2/2/2", "strong-isr"),
        ),
        answer="With the epoch of the last record only, three replicas and three leader epochs lose a committed record; "
        "with the current leader epoch in every fetch nothing is lost at this size. What kip279 loses with two epochs is "
        "another bug, KAFKA-7128: a follower rejoins the ISR before the high watermark has reached the leader's epoch.",
    ),
)
