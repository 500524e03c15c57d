"""Runs of the quorum model with three voters: Raft as KRaft does it, with KIP-1166 and without, and its known bugs."""

from __future__ import annotations

from fencepost.invariants.catalogue import Profile, Run
from fencepost.invariants.runs.quorum_rows import run

V3 = "nodes=3 voters=3 max_epoch=3 max_records=1"
V3E2 = "nodes=3 voters=3 max_epoch=2 max_records=1"
V3E4 = "nodes=3 voters=3 max_epoch=4 max_records=1 records_per_answer=1"
FOUR = "nodes=4 voters=3"

RUNS: tuple[Run, ...] = (
    run("3 voters", V3, "", 77_039, 28, unreached="deposed, ahead, old", profile=Profile.QUICK),
    run("3 voters, two records", V3, "max_records=2", 405_239, 33, unreached="deposed, ahead, old"),
    run("3 voters", V3, "", 89_486, 29, unreached="deposed, ahead", version="kafka-4.0"),
    run("3 voters, late fetches", V3, "late_fetches=1", 91_509, 28, unreached="ahead, old"),
    run(
        "3 voters, late fetches and a restart",
        V3,
        "late_fetches=1 restarts=1 flush_lags=on",
        554_229,
        30,
        unreached="ahead, old",
    ),
    run("3 voters, record by record", V3, "records_per_answer=1", 64_241, 29, unreached="deposed, ahead, old"),
    run(
        "3 voters, B37",
        V3,
        "parks_diverging=on",
        79_271,
        29,
        "B37 4, K1166-S1 8",
        unreached="deposed, old",
        profile=Profile.QUICK,
        trace="B37 b37-kafka-15100",
    ),
    run(
        "3 voters, Q8",
        V3,
        "diverging_high_watermark_counts=on",
        77_835,
        28,
        "KR-S4 9, stops 9",
        unreached="deposed, ahead, old",
        trace="stops q8-diverging-high-watermark",
    ),
    run(
        "3 voters, Q8 and no refusal",
        V3,
        "diverging_high_watermark_counts=on refuses_truncation_below_high_watermark=off",
        79_251,
        28,
        "KR-S4 9, K1166-S3 9",
        unreached="deposed, ahead, old",
    ),
    run(
        "3 voters, B34",
        V3E4,
        "commits_beyond_epoch_start=off",
        398_926,
        34,
        "KR-S6 8, stops 13, KR-S4 14, KR-S2 17",
        unreached="deposed, ahead, old",
        profile=Profile.QUICK,
        trace="KR-S2 b34-kafka-12619, KR-S4 b34-kafka-12619-overwritten",
    ),
    run("3 voters, four epochs", V3E4, "", 384_116, 34, unreached="deposed, ahead, old"),
    run(
        "3 voters, B35",
        V3E2,
        "restarts=1 flush_lags=on resumes_leadership=on",
        103_792,
        30,
        "G-S3b 10, KR-S4 13, KR-S6 13",
        unreached="deposed, ahead, old",
        profile=Profile.QUICK,
        trace="KR-S4 b35-kafka-10527",
    ),
    run("3 voters, restart", V3E2, "restarts=1 flush_lags=on", 31_407, 24, unreached="deposed, ahead, old"),
    run(
        "3 voters, B36",
        V3E2,
        "disk_losses=1 refuses_truncation_below_high_watermark=off",
        97_009,
        32,
        "KR-S1 3, G-S3b 5, KR-S3 6, KR-S6 7, KR-S4 10, KR-S5 10, K1166-S3 10, KR-S2 12, K1166-S3-step 15",
        unreached="old",
        trace="KR-S5 b36-kafka-12460",
    ),
    run(
        "3 voters, disk loss",
        V3E2,
        "disk_losses=1",
        89_642,
        31,
        "KR-S1 3, G-S3b 5, KR-S3 6, KR-S6 7, stops 10, KR-S4 11, KR-S2 12",
        unreached="ahead, old",
    ),
    run(
        "3 voters, B39",
        V3E2,
        "removals=1 leader_always_counted=on",
        41_990,
        30,
        "KR-S3 10",
        unreached="deposed, old",
        trace="KR-S3 b39-kafka-16530",
    ),
    run("3 voters, removal", V3E2, "removals=1", 37_753, 31, unreached="deposed, old"),
    run("3 voters, real votes", V3, "real_votes=on restarts=1", 650_136, 36, unreached="ahead, old"),
    run(
        "3 voters, votes asked twice",
        V3E2,
        "real_votes=on restarts=1 vote_persisted=off",
        78_216,
        28,
        "KR-S1 5, KR-S6 10",
        unreached="ahead, old",
        trace="KR-S1 vote-not-persisted",
    ),
    run("3 voters, votes on disk", V3E2, "real_votes=on restarts=1", 65_727, 27, unreached="ahead, old"),
    # missing 3 voters and an observer
    # missing 3 voters and an observer, three epochs
    # missing 3 voters and an observer, three epochs and two records
)
