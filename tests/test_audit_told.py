"""What the report of the audit tells an operator who has never seen Fencepost."""

from __future__ import annotations

from fencepost.audit.findings import SORTS

from tests.audits import findings
from tests.test_audit import Log


def said(log: Log, sort: str) -> list[tuple[int, int, tuple[int, ...], str]]:
    """Return what was found of a sort: from where to where, about whom, and the text."""
    return [(item.offset, item.end, item.brokers, item.text) for item in findings(log.rows()) if item.sort == sort]


def test_the_last_replica_is_another_one_when_the_isr_has_another_member() -> None:
    log = Log(replicas=(1, 2))
    one = log.change(isr=[1], eligibleLeaderReplicas=[2])
    other = log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1])
    both = log.change(isr=[1, 2], eligibleLeaderReplicas=[])
    assert [item[:3] for item in said(log, "last-replica")] == [(one, other, (1,)), (other, both, (2,))]


def test_a_partition_that_nobody_leads_is_offline_and_has_no_last_replica() -> None:
    log = Log(replicas=(1, 2))
    alone = log.change(isr=[1], eligibleLeaderReplicas=[2])
    gone = log.change(isr=[], leader=-1, eligibleLeaderReplicas=[2, 1], lastKnownElr=[1])
    back = log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1], lastKnownElr=[])
    both = log.change(isr=[1, 2], eligibleLeaderReplicas=[])
    assert said(log, "offline") == [(gone, back, (), "nobody led for 2.0 s")]
    assert [item[:3] for item in said(log, "last-replica")] == [(alone, gone, (1,)), (back, both, (2,))]
    assert [item[:2] for item in said(log, "under-min-isr")] == [(alone, gone), (back, both)]
    assert SORTS["offline"].severity == "medium"


def test_what_one_disk_alone_has_depends_on_min_isr() -> None:
    refused, taken = Log(), Log(elr=False)
    taken.set("min.insync.replicas", "1")
    for log in (refused, taken):
        log.change(isr=[1], **({"eligibleLeaderReplicas": [2, 3]} if log is refused else {}))
    assert "min ISR 2, so acks=all was refused" in said(refused, "last-replica")[0][3]
    assert "min ISR 1: what was acknowledged meanwhile, with acks=all too" in said(taken, "last-replica")[0][3]


def why(log: Log) -> str:
    """Return why brokers left the ISR with the newest change."""
    return [row.why for row in log.rows() if row.election != "end"][-1]


def test_why_a_broker_left_the_isr_is_told_as_far_as_the_log_has_it() -> None:
    fenced, stopped, slow, moved, restarted = (Log() for _ in range(5))
    fenced.change(isr=[1, 2])
    fenced.time -= 2000  # in the batch of that change
    fenced.fence(3)
    stopped.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=3, brokerEpoch=1, inControlledShutdown=1)
    stopped.change(isr=[1, 2])
    slow.change(isr=[1, 2])
    moved.change(replicas=[1, 2], isr=[1, 2], leader=1)
    restarted.change(isr=[1, 2])
    restarted.time -= 2000
    restarted.event("REGISTER_BROKER_RECORD", brokerId=3, brokerEpoch=99, fenced=True)
    assert [why(log) for log in (fenced, stopped, slow, moved, restarted)] == [
        "3: it was fenced: its heartbeats had stopped",
        "3: it was shutting down",
        "3: it was active: its leader found that it lagged",
        "3: it is no replica any more",
        "3: it had restarted",
    ]


def test_an_unclean_election_says_what_allowed_it_and_what_prevents_it() -> None:
    for allowed in (True, False):
        log = Log(replicas=(1, 2))
        if allowed:
            log.set("unclean.leader.election.enable", "true")
        since = len(log.events) + len(log.changes) - 2
        log.change(isr=[], leader=-1, eligibleLeaderReplicas=[1, 2], lastKnownElr=[1])
        log.change(isr=[2], leader=2, eligibleLeaderReplicas=[], lastKnownElr=[], leaderRecoveryState=1)
        ((*_, text),) = said(log, "unclean-election")
        told = (
            f"=true of the topic since offset {since}, 1970-01-01 00:00:" if allowed else "=true: server.properties allows it"
        )
        assert f"unclean.leader.election.enable{told}" in text
    assert "unclean.leader.election.enable=false" in SORTS["unclean-election"].look
    assert SORTS["unclean-election"].page == "docs/losing-data.md"
