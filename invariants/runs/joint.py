"""Runs of leader hints with consistency tokens, and what they settle: question Q53.

Unless a title says otherwise: two brokers, one client, and a metadata log to offset 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Evidence, Profile, Run
from fencepost.invariants.runs.client_rows import casebook, rows
from fencepost.model.clients.joint.machine import MACHINE

if TYPE_CHECKING:
    from collections.abc import Mapping

PROPERTY = {
    "asked-after": "metadata-is-as-new-as-hints",
    "delivered-after": "late-metadata-is-as-new-as-hints",
    "accepted": "accepted-hints-are-as-new-as-metadata",
    "never-back": "leader-never-goes-back",
    "found": "leader-is-found",
}
"""The property that decides each part of the question, by a short name."""


def _unreached(values: Mapping[str, int]) -> tuple[str, ...]:
    """Return the witnesses for which these constants leave no room."""
    return ("hint-makes-metadata-stale",) if values["old_brokers"] == values["brokers"] - 1 else ()


run = rows(MACHINE, PROPERTY, _unreached)

RUNS: tuple[Run, ...] = (
    # Both texts as they are written, and their readings
    run("2 brokers", "", 143_074, 36, "asked-after 13, delivered-after 12", version="draft", trace="asked-after handled-first"),
    run(
        "2 brokers",
        "",
        87_350,
        35,
        "delivered-after 12",
        version="draft-check-first",
        trace="delivered-after late-metadata",
    ),
    run(
        "2 brokers, hints without tokens",
        "hint_tokens=off",
        91_298,
        34,
        "asked-after 12, delivered-after 12",
        version="draft-check-first",
        profile=Profile.QUICK,
        trace="asked-after hint-without-token",
    ),
    run(
        "2 brokers, an old broker",
        "old_brokers=1",
        157_793,
        44,
        "asked-after 12, delivered-after 12",
        version="draft-check-first",
        trace="asked-after old-broker",
    ),
    run(
        "2 brokers, replicas behind their caches",
        "replica_lags=on",
        506_785,
        38,
        "delivered-after 13",
        version="draft-check-first",
    ),
    run(
        "2 brokers, late metadata dropped",
        "rejects_late=on",
        87_350,
        35,
        "delivered-after 12",
        version="draft-check-first",
    ),
    run(
        "2 brokers, one image, late metadata dropped",
        "one_image=on rejects_late=on",
        25_636,
        33,
        version="draft-check-first",
    ),
    run(
        "2 brokers, epochs of metadata not compared",
        "metadata_epoch_check=off",
        107_364,
        40,
        "delivered-after 12, never-back 12",
        version="draft-check-first",
        trace="never-back epochs-not-compared",
    ),
    run(
        "2 brokers, a new topic, to offset 2",
        "recreations=1 changes=2",
        56_832,
        28,
        "delivered-after 12, accepted 14, never-back 14",
        version="draft-check-first",
        trace="accepted deleted-topic",
    ),
    run(
        "2 brokers, a new topic, hints by token, to offset 2",
        "recreations=1 changes=2 hints_by_token=on",
        56_706,
        28,
        "delivered-after 12, accepted 14, never-back 14",
        version="draft-check-first",
        trace="accepted deleted-topic-later-token",
    ),
    # Connections that keep an order
    run(
        "2 brokers, in order",
        "in_order=on",
        64_926,
        35,
        "delivered-after 12",
        version="draft-check-first",
    ),
    run(
        "2 brokers, in order, hints without tokens",
        "in_order=on hint_tokens=off",
        65_551,
        34,
        "asked-after 12, delivered-after 12",
        version="draft-check-first",
    ),
    run(
        "2 brokers, in order, a new topic, to offset 2",
        "in_order=on recreations=1 changes=2",
        46_486,
        28,
        "delivered-after 12, accepted 14, never-back 14",
        version="draft-check-first",
        trace="accepted deleted-topic-in-order",
    ),
    run("2 brokers, in order, a new topic", "in_order=on recreations=1", 128_706, 33, version="repaired"),
    # The repaired texts
    run("2 brokers, a new topic", "recreations=1", 132_912, 33, version="repaired", profile=Profile.QUICK),
    run(
        "2 brokers, a new topic, hints of any token",
        "recreations=1 hints_by_token=off",
        136_155,
        33,
        "accepted 12, never-back 12",
        version="repaired",
    ),
    run(
        "2 brokers, a new topic, no epochs compared",
        "recreations=1 metadata_epoch_check=off hint_epoch_check=off",
        163_426,
        33,
        version="repaired",
    ),
    run(
        "2 brokers, a new topic, replicas behind their caches",
        "recreations=1 replica_lags=on",
        781_106,
        39,
        version="repaired",
    ),
    run("2 brokers, a new topic, an old broker", "recreations=1 old_brokers=1", 179_083, 29, version="repaired"),
    run("3 brokers", "brokers=3", 1_015_520, 34, version="repaired", profile=Profile.FULL),
    run("3 brokers, a new topic", "brokers=3 recreations=1", 4_353_262, 34, version="repaired", profile=Profile.FULL),
    # In the end
    run("2 brokers, in the end", "", 87_350, 35, version="draft-check-first", only="found"),
    run(
        "2 brokers, a new topic, to offset 2, in the end",
        "recreations=1 changes=2",
        56_832,
        28,
        "found 29",
        version="draft-check-first",
        only="found",
        trace="found deleted-topic-lasso",
    ),
    run("2 brokers, a new topic, in the end", "recreations=1", 132_912, 33, version="repaired", only="found"),
)

cases = casebook(RUNS, PROPERTY)

EVIDENCE: tuple[Evidence, ...] = (
    Evidence(
        "Q53",
        cases("""
            draft 2 brokers: asked-after
            draft-check-first 2 brokers: asked-after, delivered-after, accepted, never-back
            draft-check-first 2 brokers, hints without tokens: asked-after
            draft-check-first 2 brokers, an old broker: asked-after
            draft-check-first 2 brokers, replicas behind their caches: asked-after
            draft-check-first 2 brokers, late metadata dropped: delivered-after
            draft-check-first 2 brokers, one image, late metadata dropped: asked-after, delivered-after
            draft-check-first 2 brokers, epochs of metadata not compared: never-back
            draft-check-first 2 brokers, a new topic, to offset 2: accepted, never-back
            draft-check-first 2 brokers, a new topic, hints by token, to offset 2: accepted
            draft-check-first 2 brokers, in order: asked-after, delivered-after, accepted, never-back
            draft-check-first 2 brokers, in order, hints without tokens: asked-after
            draft-check-first 2 brokers, in order, a new topic, to offset 2: accepted, never-back
            repaired 2 brokers, in order, a new topic: asked-after, delivered-after, accepted, never-back
            repaired 2 brokers, a new topic, hints of any token: accepted, never-back
            repaired 2 brokers, a new topic: asked-after, delivered-after, accepted, never-back
            repaired 2 brokers, a new topic, no epochs compared: asked-after, delivered-after, accepted, never-back
            repaired 2 brokers, a new topic, replicas behind their caches: never-back
            repaired 2 brokers, a new topic, an old broker: asked-after, never-back
            draft-check-first 2 brokers, in the end: found
            draft-check-first 2 brokers, a new topic, to offset 2, in the end: found
            repaired 2 brokers, a new topic, in the end: found
        """),
        answer="Both halves in one machine say the same, and two things more. Metadata that was asked for before the hint and arrives after it "
        "may be older; the leader stays because epochs are compared. And where a topic is created again epochs do not order the leaders, and "
        "tokens do: if they are exact (one image), a client that takes neither metadata nor a hint from an answer whose token is below its "
        "store's never goes back to an earlier leader, with or without comparing epochs. Connections that keep an order change none of this, "
        "since hint and metadata come from two brokers.",
    ),
)

__all__ = ["EVIDENCE", "RUNS"]
