"""Runs of the replication model in which something is stuck for ever: known bugs, and rules that are missing; each with its twin.

Small, and without losses, like the runs in the module beside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.runs.replication_eventual import BASE, PROPERTY, SHUTDOWN, run

if TYPE_CHECKING:
    from fencepost.invariants.catalogue import Run

OUTSIDE = f"brokers=2 max_records=0 initial_isr=1 crashes=1 fences=1 shrinks=0 max_leader_epoch=6 {BASE}"
QUERIES = (
    "brokers=2 max_records=1 initial_isr=2 crashes=0 fences=0 shrinks=1 elections=3 any_preferred=on max_leader_epoch=8 "
    f"truncation=kip-279 {BASE}"
)
RESENT = (
    "brokers=2 max_records=1 initial_isr=1 crashes=0 fences=0 shrinks=0 resends=1 max_leader_epoch=4 alter_partition_version=2 "
    f"answers_are_lost=on {BASE}"
)
FIELD = f"brokers=2 max_records=2 initial_isr=2 crashes=0 fences=0 shrinks=1 max_leader_epoch=1 {BASE}"
LEADER_AWAY = (PROPERTY["G-L7"], PROPERTY["B18"])
LEARNT = (PROPERTY["K1166-S4"],)

RUNS: tuple[Run, ...] = (
    run("2 brokers, one outside the ISR, in the end", OUTSIDE, "", 1_721, 14),
    run(
        "2 brokers, INELIGIBLE_REPLICA changes nothing",
        OUTSIDE,
        "rollback_on=never",
        1_808,
        15,
        {"G-L5": 7, "G-L8": 7, "KIP903-L1": 9},
        trace="KIP903-L1",
        why="the leader goes on waiting for a change that was refused for good, and asks for no other",
    ),
    run(
        "2 brokers, unfenced only in the ISR",
        OUTSIDE,
        "unfencing_needs_isr=on",
        610,
        12,
        {"G-L1": 5, "G-L2": 4},
        trace="G-L2",
        why="who is fenced may not join the ISR (KIP-841), and who is outside the ISR stays fenced",
    ),
    run("2 brokers, a shutdown, in the end", SHUTDOWN, "", 930, 15, properties=LEADER_AWAY),
    run(
        "2 brokers, B18",
        SHUTDOWN,
        "metadata_in_shutdown=off",
        641,
        15,
        {"G-L7": 3, "B18": 3},
        properties=LEADER_AWAY,
        trace="B18 b18-kafka-13858",
        why="a leader that is shutting down does not read that another one was elected, and leads on until its process ends",
    ),
    run("2 brokers, KRaft and a lost answer", RESENT, "", 53, 10),
    run(
        "2 brokers, B15",
        RESENT,
        "isr_from_metadata=off",
        60,
        10,
        {"G-L5": 5},
        trace="G-L5 b15-kafka-14144",
        why="the answer is lost, the request that is sent again has an old partition epoch, and nothing else tells the leader",
    ),
    run("2 brokers, B15 repaired", RESENT, "isr_from_metadata=off repeats_answers=on", 88, 12),
    run("2 brokers, truncation queries, in the end", QUERIES, "", 3_842, 26),
    run("2 brokers, fenced queries checked", QUERIES, "fenced_answers=checked", 3_888, 26),
    run(
        "2 brokers, B08",
        QUERIES,
        "fenced_answers=trusted",
        3_934,
        26,
        {"G-L3": 9, "G-L8": 11, "G-L4": 12},
        trace="G-L8 b08-kafka-7786",
        why="an answer to a query of the epoch before stops the fetcher of the new one, and nothing starts it again",
    ),
    *(
        run(f"2 brokers, fetches report {reports}", FIELD, f"fetches_report={reports}", 302, 14, properties=LEARNT)
        for reports in ("absent", "own", "unknown")
    ),
    run(
        "2 brokers, the field counts and is absent",
        FIELD,
        "fetches_report=absent reported_high_watermark_counts=on",
        239,
        14,
        {"K1166-S4": 5},
        properties=LEARNT,
        trace="K1166-S4 k1166-s4-field-heeded",
        why="the replica fetcher does not set the field, so its high watermark looks greater than any, and its fetches wait",
    ),
    run(
        "2 brokers, the field counts and is unknown",
        FIELD,
        "fetches_report=unknown reported_high_watermark_counts=on",
        410,
        16,
        properties=LEARNT,
    ),
)
