"""What must happen in the end in the replication model: runs, and the guarantees and bugs that they settle.

No crash loses records here, so that what is lost does not hide what is late, and the repairs of HYP-1 and HYP-3 are in. That of
HYP-2 is not: with it a broker that is down waits for its session to end, which is a timeout and so is not promised.
`max_leader_epoch` is never reached, since a guard that only bounds the search would look like something that never happens.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.invariants import replication_liveness
from fencepost.invariants.catalogue import Case, Evidence, Profile, Run
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
    "G-L8": "follower-rejoins",
    "KIP903-L1": "restarted-broker-rejoins",
    "drops": "drops-until-settled",
}
"""The property that decides each guarantee, by the guarantee's id."""
EVERY = tuple(item.name for item in replication_liveness.PROPERTIES)
IN_THE_END = tuple(name for name in EVERY if name not in (PROPERTY["G-L3b"], PROPERTY["drops"]))

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
    """Return one run; `fails` and `worst` are by id, and so is the violation whose `trace` is archived."""
    made = safety_run(title, base, more, distinct, depth, repaired=False, version=version, profile=profile, why=why)
    return replace(
        made,
        properties=properties,
        violated={PROPERTY[name]: length for name, length in (fails or {}).items()},
        worst={PROPERTY[name]: value for name, value in (worst or {}).items()},
        trace={PROPERTY[trace]: f"replication-{PROPERTY[trace]}.trace"} if trace else {},
    )


RUNS: tuple[Run, ...] = (
    run("2 brokers, in the end", FAULTS, "", 33_755, 22, profile=Profile.QUICK),
    run("2 brokers, in the end, and a shutdown", FAULTS, "clean_stops=1 max_leader_epoch=9", 692_663, 29),
    run("2 brokers in the end", FAULTS, "", 57_018, 26, version="kafka-3.5"),
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
        38_410,
        22,
        {"G-L4": 17},
        why="an acknowledged record is lost (HYP-3), so it never gets to all replicas",
    ),
    run(
        "2 brokers, a shutdown and a write",
        SHUTDOWN,
        "waits_for_joining=on",
        2_687,
        16,
        properties=EVERY[:-1],
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
        properties=EVERY[:-1],
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
_BY_NAME = {item.name: item for item in RUNS}


def cases(text: str) -> tuple[Case, ...]:
    """Return cases from lines `title: id, id`; the title is the run's name without the protocol's."""
    found = []
    for line in filter(None, map(str.strip, text.splitlines())):
        title, _, ids = line.rpartition(": ")
        found += [Case(_BY_NAME[f"replication {title}"], PROPERTY[name]) for name in ids.split(", ")]
    return tuple(found)


_PROMISED = "Fair are what brokers and the controller do, message by message, and that a broker which is down is started again."

EVIDENCE: tuple[Evidence, ...] = (
    Evidence(
        "G-L1",
        cases(
            "2 brokers, in the end: G-L1\n2 brokers, in the end, and a shutdown: G-L1\n2 brokers, in the end, sessions that last for ever: G-L1"
        ),
        answer=f"{_PROMISED} Starting and registering are one step.",
    ),
    Evidence("G-L2", cases("2 brokers, in the end: G-L2\n2 brokers, in the end, and a shutdown: G-L2"), answer=_PROMISED),
    Evidence(
        "G-L3",
        cases("""
            2 brokers, in the end: G-L3
            2 brokers, in the end, and a shutdown: G-L3
            kafka-3.5 2 brokers in the end: G-L3
            kafka-4.1 2 brokers in the end: G-L3
            2 brokers, a shutdown and a write: G-L3b
            2 brokers, B04, in the end: G-L3
        """),
        answer=_PROMISED,
    ),
    Evidence(
        "G-L4",
        cases("2 brokers, in the end: G-L4\n2 brokers, in the end, and a shutdown: G-L4\n2 brokers, in the end, HYP-3: G-L4"),
        answer=f"{_PROMISED} Where an acknowledged record is lost it does not hold: see G-S2.",
    ),
    Evidence(
        "G-L5",
        cases("2 brokers, in the end: G-L5\n2 brokers, in the end, and a shutdown: G-L5\nkafka-3.5 2 brokers in the end: G-L5"),
        answer=f"{_PROMISED} A refused change is settled by the metadata that refused it, which reaches every leader.",
    ),
    Evidence(
        "G-L6",
        cases("""
            2 brokers, in the end, and a shutdown: G-L6, G-L6b
            2 brokers, ELR and a shutdown, in the end: G-L6, G-L6b
            2 brokers, every incarnation unclean, in the end: G-L6, G-L6b
            2 brokers, every incarnation unclean and no last known leader: G-L6, G-L6b
        """),
        answer=_PROMISED,
    ),
    Evidence("G-L7", cases("2 brokers, in the end: G-L7\n2 brokers, in the end, and a shutdown: G-L7"), answer=_PROMISED),
    Evidence(
        "G-L8",
        cases("""
            2 brokers, in the end: G-L8
            2 brokers, in the end, and a shutdown: G-L8
            kafka-3.5 2 brokers in the end: G-L8
            kafka-4.1 2 brokers in the end: G-L8
            2 brokers, B04, in the end: G-L8
        """),
        answer=_PROMISED,
    ),
    Evidence(
        "KIP903-L1",
        cases(
            "2 brokers, in the end: KIP903-L1\n2 brokers, in the end, and a shutdown: KIP903-L1\nkafka-3.5 2 brokers in the end: KIP903-L1"
        ),
        answer=f"{_PROMISED} Requests that are refused as ineligible are no livelock.",
    ),
    Evidence(
        "B17",
        cases("2 brokers, B17: G-L3b\n2 brokers, a shutdown and a write: G-L3b"),
        answer="Without restarts, fences, ISR shrinks and lag times: those would end the wait.",
    ),
    Evidence(
        "B23",
        cases(
            "2 brokers, a record and 2 drops: drops\n2 brokers, a record and 3 drops: drops\n2 brokers, two records and 3 drops: drops\n"
            "2 brokers, two records and 4 drops: drops"
        ),
        gap="In part. A follower that joins at a frozen high watermark is dropped again, once for each record that it lacks, and no more "
        "often however many drops are allowed: each return takes a fetch, which brings a record. Without end it needs writes without end.",
    ),
)
