"""Runs of how high watermarks get to followers: with records only, tracked by the leader, or reported."""

from __future__ import annotations

from fencepost.invariants.catalogue import Profile, Run
from fencepost.invariants.runs.client_rows import casebook, rows
from fencepost.model.consumers.propagation.machine import MACHINE

PROPERTY = {
    "ahead": "follower-is-never-ahead",
    "hidden": "committed-record-is-hidden",
    "messages": "messages-until-known",
    "waits": "waits-until-known",
    "read": "waits-until-read",
    "fetches": "fetches-in-all",
    "no-extra": "no-fetch-without-records",
}
TIME = "messages, waits, fetches, no-extra"
LAG = "messages, waits"
READ = "read"

run = rows(MACHINE, PROPERTY, lambda _: ())

RUNS: tuple[Run, ...] = (
    run("one follower", "consumer=on losses=1", 438, 18, version="data-only"),
    run("one follower", "consumer=on losses=1", 465, 16, version="kip-392", profile=Profile.QUICK),
    run("one follower", "consumer=on losses=1", 492, 16, version="reported"),
    run(
        "one follower that trusts its log",
        "consumer=on follower_trusts_its_log=on",
        290,
        14,
        "ahead 4",
        version="kip-392",
        trace="ahead follower-trusts-its-log",
        never="committed-record-is-hidden",
    ),
    run(
        "in time, nothing noted",
        "notes_what_it_sends=off",
        75,
        10,
        "fetches 11, no-extra 11",
        version="kip-392",
        trace="fetches nothing-noted",
        only=TIME,
        worst="messages 3, waits 0, fetches never, no-extra never",
    ),
    run(
        "in time",
        "",
        107,
        12,
        "waits 8",
        version="data-only",
        trace="waits data-only-wait",
        only=TIME,
        worst="messages 3, waits 1, fetches 3, no-extra 3",
    ),
    run(
        "in time",
        "",
        101,
        11,
        "no-extra 16",
        version="kip-392",
        profile=Profile.QUICK,
        trace="no-extra b27-kafka-9731",
        only=TIME,
        worst="messages 3, waits 0, fetches 6, no-extra 6",
    ),
    run(
        "in time", "", 107, 11, "no-extra 14", version="reported", only=TIME, worst="messages 3, waits 0, fetches 5, no-extra 5"
    ),
    run(
        "in time, one lost answer",
        "losses=1",
        242,
        14,
        "messages 13, waits 11",
        version="data-only",
        only=TIME,
        worst="messages 4, waits 2, fetches 4, no-extra 4",
    ),
    run(
        "in time, one lost answer",
        "losses=1",
        216,
        13,
        "messages 12, no-extra 18",
        version="kip-392",
        only=TIME,
        worst="messages 4, waits 0, fetches 7, no-extra 7",
    ),
    run(
        "in time, one lost answer",
        "losses=1",
        242,
        13,
        "messages 12, no-extra 16",
        version="reported",
        only=TIME,
        worst="messages 4, waits 0, fetches 6, no-extra 6",
    ),
    run(
        "in time, one lost answer in the same session",
        "losses=1 loss_opens_session=off",
        210,
        13,
        "messages 13, waits 11, no-extra 18",
        version="kip-392",
        trace="waits q54-lost-answer",
        only=TIME,
        worst="messages 4, waits 1, fetches 7, no-extra 7",
    ),
    run(
        "in time, one lost answer in the same session",
        "losses=1 loss_opens_session=off",
        209,
        13,
        "messages 12, no-extra 16",
        version="reported",
        only=TIME,
        worst="messages 4, waits 0, fetches 6, no-extra 6",
    ),
    run("in time, new session", "behind=on", 31, 9, version="kip-392", only=LAG, worst="messages 3, waits 0"),
    run(
        "in time, new partition",
        "behind=on session_is_new=off",
        31,
        9,
        version="kip-392",
        only=LAG,
        worst="messages 3, waits 0",
    ),
    run(
        "in time, new partition that waits",
        "behind=on session_is_new=off answers_new_partition=off",
        34,
        9,
        "waits 4",
        version="kip-392",
        trace="waits q48-new-partition",
        only=LAG,
        worst="messages 3, waits 1",
    ),
    run(
        "in time, new partition that waits",
        "behind=on session_is_new=off answers_new_partition=off",
        31,
        9,
        version="reported",
        only=LAG,
        worst="messages 3, waits 0",
    ),
    run("in time, a consumer", "consumer=on", 195, 15, version="data-only", only=READ, worst="read 0"),
    run("in time, a consumer", "consumer=on", 218, 14, version="kip-392", only=READ, worst="read 0"),
    run(
        "in time, a consumer that is not woken",
        "consumer=on completes_consumer_fetches=off",
        225,
        15,
        "read 10",
        version="kip-392",
        trace="read b28-kafka-14334",
        only=READ,
        worst="read 1",
    ),
    run(
        "in time, a consumer that is not woken",
        "consumer=on completes_consumer_fetches=off",
        197,
        16,
        "read 11",
        version="data-only",
        only=READ,
        worst="read 1",
    ),
)

cases = casebook(RUNS, PROPERTY)
