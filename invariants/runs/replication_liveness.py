"""What must happen in the end in the replication model: the guarantees and bugs that its runs settle."""

from __future__ import annotations

from fencepost.invariants.catalogue import Case, Evidence, Run
from fencepost.invariants.runs import replication_eventual, replication_stuck
from fencepost.invariants.runs.replication_eventual import PROPERTY

RUNS: tuple[Run, ...] = (*replication_eventual.RUNS, *replication_stuck.RUNS)
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
    Evidence(
        "G-L2",
        cases(
            "2 brokers, in the end: G-L2\n2 brokers, in the end, and a shutdown: G-L2\n2 brokers, unfenced only in the ISR: G-L2"
        ),
        answer=f"{_PROMISED} To be unfenced takes no more than a broker that runs and knows of its registration.",
    ),
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
        cases("""
            2 brokers, in the end: G-L5
            2 brokers, in the end, and a shutdown: G-L5
            kafka-3.5 2 brokers in the end: G-L5
            2 brokers, KRaft and a lost answer: G-L5
            2 brokers, one outside the ISR, in the end: G-L5
            2 brokers, INELIGIBLE_REPLICA changes nothing: G-L5
        """),
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
    Evidence(
        "G-L7",
        cases("2 brokers, in the end: G-L7\n2 brokers, in the end, and a shutdown: G-L7\n2 brokers, B18: G-L7"),
        answer=f"{_PROMISED} A shutdown is not needed for it.",
    ),
    Evidence(
        "G-L8",
        cases("""
            2 brokers, in the end: G-L8
            2 brokers, in the end, and a shutdown: G-L8
            kafka-3.5 2 brokers in the end: G-L8
            kafka-4.1 2 brokers in the end: G-L8
            2 brokers, B04, in the end: G-L8
            2 brokers, B08: G-L8
        """),
        answer=_PROMISED,
    ),
    Evidence(
        "KIP903-L1",
        cases("""
            2 brokers, in the end: KIP903-L1
            2 brokers, in the end, and a shutdown: KIP903-L1
            kafka-3.5 2 brokers in the end: KIP903-L1
            2 brokers, one outside the ISR, in the end: KIP903-L1
            2 brokers, INELIGIBLE_REPLICA changes nothing: KIP903-L1
        """),
        answer=f"{_PROMISED} Requests that are refused as ineligible are no livelock, because the leader gives up the change.",
    ),
    Evidence(
        "K1166-S4",
        cases("""
            2 brokers, fetches report absent: K1166-S4
            2 brokers, fetches report own: K1166-S4
            2 brokers, fetches report unknown: K1166-S4
            2 brokers, the field counts and is absent: K1166-S4
            2 brokers, the field counts and is unknown: K1166-S4
        """),
        answer="Runs that differ in the field alone have the same states. Where leaders heed it they have not: without the field, "
        "as the replica fetcher leaves it, a follower is parked although the high watermark has moved; with -1 it is answered "
        "again and again.",
    ),
    Evidence(
        "B08",
        cases("""
            2 brokers, B08: G-L8, G-L3, G-L4
            2 brokers, fenced queries checked: G-L8, G-L3, G-L4
            2 brokers, truncation queries, in the end: G-L8, G-L3, G-L4
        """),
        answer="With queries where to truncate, which IBP 2.7 and later do without.",
    ),
    Evidence(
        "B15",
        cases("2 brokers, B15: G-L5\n2 brokers, KRaft and a lost answer: G-L5\n2 brokers, B15 repaired: G-L5"),
        answer="Where leaders learn the ISR from answers alone, as with ZooKeeper. Repaired by a controller that answers again what it has "
        "applied; in KRaft metadata settles it (KAFKA-14144).",
    ),
    Evidence(
        "B18",
        cases("2 brokers, B18: B18, G-L7\n2 brokers, a shutdown, in the end: B18, G-L7"),
        answer="It lasts until the process ends. What clients make of that is K951-Q1.",
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
