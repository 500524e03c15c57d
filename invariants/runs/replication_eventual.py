"""Runs of the replication model that say what must happen in the end, and how runs of that kind are written down.

No crash loses records here, so that what is lost does not hide what is late, and the repairs of HYP-1, HYP-2 and HYP-3 are in. A broker
need not wait for its fence: if it had to, one that is down would wait for its session to end, which is a timeout and so is not promised.
`max_leader_epoch` is never reached, since a guard that only bounds the search would look like something that never happens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.invariants import replication_liveness
from fencepost.invariants.catalogue import Profile, Run
from fencepost.invariants.runs.replication_rows import run as safety_run

if TYPE_CHECKING:
    from collections.abc import Mapping

PROPERTY = {
    "G-L1": "broker-returns",
    "G-L2": "fenced-broker-is-unfenced",
    "G-L3": "writes-are-answered",
    "G-L3b": "writes-wait-for-nobody-who-left",
    "G-L4": "acknowledged-reaches-all",
    "G-L5": "pending-change-is-settled",
    "G-L6": "offline-partition-is-led",
    "G-L6b": "partition-is-led-again",
    "G-L7": "metadata-converges",
    "B18": "deposed-leader-steps-down",
    "G-L8": "follower-rejoins",
    "KIP903-L1": "restarted-broker-rejoins",
    "K1166-S4": "followers-learn-the-high-watermark",
    "drops": "drops-until-settled",
}
"""The property that decides each guarantee, by the guarantee's id."""
_APART = ("G-L3b", "B18", "K1166-S4", "drops")
"""Properties that runs of their own decide."""
IN_THE_END = tuple(
    item.name for item in replication_liveness.PROPERTIES if item.name not in [PROPERTY[entry] for entry in _APART]
)

BASE = "loss=none equal_partition_epoch_overwrites=off reset_followers_on_reelection=on"
FAULTS = f"brokers=2 max_records=1 initial_isr=2 crashes=1 fences=1 shrinks=1 max_leader_epoch=8 {BASE}"
SHUTDOWN = f"brokers=2 max_records=1 initial_isr=2 crashes=0 fences=0 shrinks=0 clean_stops=1 lags=1 max_leader_epoch=6 {BASE}"
ELR = f"brokers=2 max_records=1 initial_isr=2 min_isr=2 crashes=1 clean_stops=1 fences=0 shrinks=0 elr=on max_leader_epoch=9 {BASE}"
MOVES = (
    f"brokers=2 max_records=2 initial_isr=2 crashes=0 fences=0 shrinks=1 elections=3 any_preferred=on max_leader_epoch=8 {BASE}"
)
SLOW = f"brokers=2 initial_isr=2 min_isr=2 crashes=0 fences=0 max_leader_epoch=1 {BASE}"


def run(
    title: str,
    base: str,
    more: str,
    distinct: int,
    depth: int,
    fails: Mapping[str, int] | None = None,
    *,
    properties: tuple[str, ...] = IN_THE_END,
    worst: Mapping[str, int | str] | None = None,
    version: str = "",
    profile: Profile = Profile.CI,
    why: str = "",
    trace: str = "",
) -> Run:
    """Return one run; `fails` and `worst` are by id, and so is `trace`: the violation that is archived, and a name of its file.

    Without a name the file is named after the property.
    """
    entry, _, slug = trace.partition(" ")
    made = safety_run(title, base, more, distinct, depth, repaired=False, version=version, profile=profile, why=why)
    return replace(
        made,
        properties=properties,
        violated={PROPERTY[name]: length for name, length in (fails or {}).items()},
        worst={PROPERTY[name]: value for name, value in (worst or {}).items()},
        trace={PROPERTY[entry]: f"replication-{slug or PROPERTY[entry]}.trace"} if trace else {},
    )


RUNS: tuple[Run, ...] = (
    run("2 brokers, in the end", FAULTS, "", 26_693, 23, profile=Profile.QUICK),
    run("2 brokers, in the end, and a shutdown", FAULTS, "clean_stops=1 max_leader_epoch=9", 530_507, 30),
    run("2 brokers in the end", FAULTS, "", 58_508, 26, version="kafka-3.5"),
    run("2 brokers in the end", FAULTS, "", 30_079, 23, version="kafka-4.1"),
    run(
        "2 brokers, in the end, sessions that last for ever",
        FAULTS,
        "fences=0 fenced_before_registration=on",
        256,
        12,
        {"G-L1": 2, "G-L3": 3, "G-L4": 6, "G-L8": 4},
        why="a broker that may register only once it is fenced never comes back if nobody fences it",
    ),
    run(
        "2 brokers, in the end, HYP-3",
        FAULTS,
        "equal_partition_epoch_overwrites=on",
        29_887,
        24,
        {"G-L4": 17},
        why="an acknowledged record is lost (HYP-3), so it never gets to all replicas",
    ),
    run(
        "2 brokers, a shutdown and a write",
        SHUTDOWN,
        "waits_for_joining=on",
        2_687,
        16,
        properties=(*IN_THE_END, PROPERTY["G-L3b"]),
        profile=Profile.QUICK,
    ),
    run(
        "2 brokers, B17",
        SHUTDOWN,
        "waits_for_joining=on wait_needs_eligibility=off",
        3_159,
        16,
        {"G-L3b": 4},
        trace="G-L3b",
        properties=(*IN_THE_END, PROPERTY["G-L3b"]),
        profile=Profile.QUICK,
        why="the high watermark waits for a follower that is shutting down, until it is back or its lag time has passed",
    ),
    run("2 brokers, ELR and a shutdown, in the end", ELR, "", 14_796, 23),
    run("2 brokers, every incarnation unclean, in the end", ELR, "unclean_shutdown=every-incarnation", 14_045, 23),
    run(
        "2 brokers, every incarnation unclean and no last known leader",
        ELR,
        "unclean_shutdown=every-incarnation last_known_leader=off",
        13_742,
        23,
        {"G-L6": 8, "G-L6b": 7},
        trace="G-L6b",
        why="a clean stop and start costs a broker its place in the ELR, and nobody is left who may be elected",
    ),
    run("2 brokers, three moves, in the end", MOVES, "", 20_046, 27),
    run(
        "2 brokers, B04, in the end",
        MOVES,
        "epoch_start_recorded=off",
        19_496,
        27,
        {"G-L3": 8, "G-L4": 11, "G-L8": 11},
        trace="G-L8",
        why="the leader cannot tell where the follower's last epoch ends, and refuses its fetches for ever",
    ),
    *(
        run(
            f"2 brokers, {'a record' if records == 1 else 'two records'} and {shrinks} drops",
            SLOW,
            f"max_records={records} shrinks={shrinks}",
            distinct,
            depth,
            properties=(PROPERTY["drops"],),
            worst={"drops": worst},
        )
        for records, shrinks, distinct, depth, worst in (
            (1, 2, 205, 17, 1),
            (1, 3, 293, 23, 1),
            (2, 3, 1_050, 26, 2),
            (2, 4, 1_259, 31, 2),
        )
    ),
)
