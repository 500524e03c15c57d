"""Runs of the replication model as Kafka's versions are read, each beside its repaired twin.

A version that fails is a finding: docs/findings.md says what was read, and what was not established.
"""

from __future__ import annotations

from fencepost.invariants.catalogue import Profile, Run
from fencepost.invariants.runs.replication_rows import UNAWARE, run

TWO = "brokers=2 max_records=1 crashes=1 fences=1 shrinks=1 max_leader_epoch=2"
THREE = "brokers=3 max_records=1 crashes=1 fences=1 shrinks=1 max_leader_epoch=2 min_isr=2"
HYP_2 = "HYP-2: without ELR a broker may register again before it is fenced and stays in the ISR"
HYP_3 = "HYP-3: metadata with an equal partition epoch wipes a pending ISR change"
RACES = "; and the races of KAFKA-15221"

RUNS: tuple[Run, ...] = (
    # Two brokers: Kafka's versions, as the code is and repaired
    run(
        "2 brokers",
        TWO,
        "",
        63_225,
        26,
        "G-S6 3, G-S7 3, G-S1b 13, G-S1 14, G-S2 14, KIP903-S2 16, G-S2b 17",
        repaired=False,
        version="kafka-3.5",
        why=f"{HYP_2}{RACES}",
    ),
    run("2 brokers, repaired", TWO, "atomic_expansion=on fetch_broker_epoch_check=on", 9_748, 21, version="kafka-3.5"),
    run(
        "2 brokers, atomic expansion only",
        TWO,
        "atomic_expansion=on",
        11_207,
        23,
        "G-S1b 15, KIP903-S2 15",
        version="kafka-3.5",
        why="one half of KAFKA-15221: fetches of an earlier incarnation still count",
    ),
    run(
        "2 brokers, fetch check only",
        TWO,
        "fetch_broker_epoch_check=on",
        10_535,
        22,
        "G-S1b 17, KIP903-S2 17",
        version="kafka-3.5",
        why="the other half of KAFKA-15221: check and request are still two steps",
    ),
    run(
        "2 brokers",
        TWO,
        "",
        51_166,
        24,
        "G-S6 3, G-S7 3, KIP903-S3 6, G-S8 7, G-S1b 10, KIP903-S2 10, G-S1 12, G-S2 12, G-S2b 15",
        repaired=False,
        version="kafka-3.7",
        why=f"{HYP_2}; {HYP_3}",
    ),
    run("2 brokers, repaired", TWO, "", 7_336, 19, version="kafka-3.7"),
    run(
        "2 brokers",
        TWO,
        "",
        51_166,
        24,
        "G-S6 3, G-S7 3, KIP903-S3 6, G-S8 7, G-S1b 10, KIP903-S2 10, G-S1 12, G-S2 12, G-S2b 15",
        repaired=False,
        version="kafka-4.0",
        why=f"{HYP_2}; {HYP_3}",
    ),
    run("2 brokers, repaired", TWO, "", 7_336, 19, version="kafka-4.0"),
    run(
        "2 brokers",
        TWO,
        "",
        35_009,
        24,
        "KIP903-S3 6, G-S8 7, G-S1b 10, KIP903-S2 10, G-S1 13, G-S2 13, G-S2b 15",
        repaired=False,
        version="kafka-4.1",
        profile=Profile.QUICK,
        trace="G-S1 hyp-3-kafka-4.1",
        why=HYP_3,
    ),
    run(
        "2 brokers, HYP-3 repaired", TWO, "equal_partition_epoch_overwrites=0", 31_759, 23, repaired=False, version="kafka-4.1"
    ),
    run("2 brokers, repaired", TWO, "", 7_336, 19, version="kafka-4.1", profile=Profile.QUICK),
    # Three brokers: Kafka's versions, as the code is and repaired
    run(
        "3 brokers",
        THREE,
        "",
        6_696_962,
        39,
        "G-S6 3, G-S7 3, KIP903-S4 6, G-S1b 13, KIP903-S3 13, G-S8 14, G-S1 15, KIP903-S2 16, G-S2 18, G-S2b 23",
        repaired=False,
        version="kafka-3.5",
        why=f"{HYP_2}; {HYP_3}{RACES}",
    ),
    run("3 brokers, repaired", THREE, "atomic_expansion=on fetch_broker_epoch_check=on", 646_086, 31, version="kafka-3.5"),
    run(
        "3 brokers",
        THREE,
        "",
        4_412_255,
        35,
        "G-S6 3, G-S7 3, KIP903-S3 6, KIP903-S4 6, G-S8 7, G-S1b 11, KIP903-S2 11, G-S1 13, G-S2 13, G-S2b 16",
        repaired=False,
        version="kafka-3.7",
        why=f"{HYP_2}; {HYP_3}",
    ),
    run("3 brokers, repaired", THREE, "", 480_991, 30, version="kafka-3.7"),
    run(
        "3 brokers",
        THREE,
        "",
        2_990_042,
        33,
        "KIP903-S3 6, G-S8 7, G-S1b 11, KIP903-S2 11, G-S1 13, G-S2 13, G-S2b 17",
        repaired=False,
        version="kafka-4.1",
        why=HYP_3,
    ),
    run(
        "3 brokers, HYP-1 and HYP-3 repaired",
        THREE,
        "equal_partition_epoch_overwrites=0 reset_followers_on_reelection=1",
        2_596_366,
        33,
        repaired=False,
        version="kafka-4.1",
    ),
    run("3 brokers, repaired", THREE, "", 452_429, 30, unreached=(UNAWARE,), version="kafka-4.1"),
    run(
        "3 brokers, size of KIP-966's specification",
        "brokers=3 max_records=1 initial_isr=2 min_isr=2 crashes=1 fences=1 shrinks=0 loss=any max_leader_epoch=8 elr=on",
        "",
        55_876,
        24,
        unreached=(UNAWARE,),
    ),
    run(
        "3 brokers, size of KIP-966's specification",
        "brokers=3 max_records=1 initial_isr=2 min_isr=2 crashes=1 fences=1 shrinks=0 loss=any max_leader_epoch=8",
        "",
        661_247,
        30,
        "KIP903-S3 9, G-S8 10, G-S1b 13, KIP903-S2 13, G-S1 18, G-S2 18, G-S2b 22",
        repaired=False,
        version="kafka-4.1",
        why=HYP_3,
    ),
    run(
        "3 brokers, size of KIP-966's specification, repaired",
        "brokers=3 max_records=1 initial_isr=2 min_isr=2 crashes=1 fences=1 shrinks=0 loss=any max_leader_epoch=8",
        "",
        69_221,
        26,
        unreached=(UNAWARE,),
        version="kafka-4.1",
    ),
    run(
        "3 brokers, size of KIP-966's specification and a shrink, repaired",
        "brokers=3 max_records=1 initial_isr=2 min_isr=2 crashes=1 fences=1 shrinks=0 loss=any max_leader_epoch=8",
        "shrinks=1",
        666_298,
        31,
        unreached=(UNAWARE,),
        version="kafka-4.1",
    ),
    run(
        "3 brokers and two records, repaired", THREE, "max_records=2", 3_988_053, 38, unreached=(UNAWARE,), version="kafka-4.1"
    ),
    run(
        "3 brokers and two records",
        THREE,
        "max_records=2",
        28_586_269,
        42,
        "KIP903-S3 6, G-S8 7, G-S1b 11, KIP903-S2 11, G-S1 13, G-S2 13, G-S2b 17, G-S3 20, G-S9 20, K392-S1 20",
        repaired=False,
        version="kafka-4.1",
        profile=Profile.FULL,
        why=HYP_3,
    ),
    run(
        "3 brokers, two records and two fences, repaired",
        THREE,
        "max_records=2 fences=2",
        67_204_281,
        48,
        version="kafka-4.1",
        profile=Profile.FULL,
    ),
)
