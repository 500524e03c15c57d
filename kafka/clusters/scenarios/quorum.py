"""A quorum of controllers whose voters change (KIP-853): HYP-35.

HYP-35: a controller that truncated its log resumes reading control records at its old log end, because
KRaftControlRecordStateMachine.truncateNewEntries does not lower nextOffset. It misses voters added below that offset.
"""

import signal
from functools import partial
from typing import Any

from fencepost.kafka.clusters.proxy import FETCH, Flow
from fencepost.kafka.clusters.scenario import Cause, Scenario
from fencepost.kafka.clusters.stage import NotReached, Stage

VOTERS, JOINING = (100, 101, 102), (103, 104)
LOG = "__cluster_metadata"
RECORDS = 1_500
"""Number of records that only the old leader has. Without no-op records, the other voters write fewer than ten."""
PATIENCE_SECONDS = 35
"""Seconds for the minority to elect a leader: several times the sum of the fetch and election timeouts."""


def missed_voters(stage: Stage) -> None:
    """The old leader does not learn of the new voters. After a failure, only one of the other four voters elects it."""
    old = leader_among(stage, VOTERS)
    others = [node for node in VOTERS if node != old]
    if not stage.change("first"):
        raise NotReached("not acknowledged: first")
    new = replace_leader(stage, old, others)
    rest = next(node for node in others if node != new)
    stage.start(*JOINING)
    add_voters(stage)
    sizes = stage.cluster.bytes_of
    stage.wait_for(lambda: sizes(new, LOG) == sizes(old, LOG) == sizes(rest, LOG), "the voters have the same log")
    stage.note(f"the logs of controllers {old} and {rest} are complete, and name five voters")
    for node in (new, *JOINING):
        stage.kill(node)
    if stage.change("LOST", PATIENCE_SECONDS):
        leader_among(stage, (old, rest))
    for node in (old, rest):
        stage.kill(node)
    stage.start(new, *JOINING)
    leader_among(stage, (new, *JOINING))


def replace_leader(stage: Stage, old: int, others: list[int]) -> int:
    """Cut the leader off, let the other voters elect another one, and let the old leader follow it."""
    logs = [stage.cluster.log(node) for node in others]
    stage.tell(f"Controller {old} is cut off: the fetches of the other voters are delayed.")
    for node in others:
        stage.hold(Flow(old, f"raft-client-{node}", FETCH))
    if not stage.control:
        before = stage.cluster.bytes_of(old, LOG) or 0
        stage.story.tell(f"set {RECORDS:,} other defaults in one request", "operator")
        settings = {f"unused-{number}": "yes" for number in range(RECORDS)}
        # the timeout is short, because the client would send the request to the next leader too
        stage.client.ask("set-defaults", settings=settings, milliseconds=2_000)
        stage.wait_for(lambda: (stage.cluster.bytes_of(old, LOG) or 0) > before + RECORDS, f"{old} has appended")
        stage.note(f"controller {old} has appended them, but cannot commit them")
    stage.tell(f"Controller {old} pauses (SIGSTOP) until another controller leads.")
    stage.cluster.signal(old, signal.SIGSTOP)
    # the client would wait for the paused controller
    stage.wait_for(lambda: any(log.lines("Completed transition to Leader") for log in logs), "another leader")
    log = stage.cluster.log(old)
    stage.cluster.signal(old, signal.SIGCONT)
    stage.tell(f"Controller {old} continues.")
    if not stage.control:
        stage.wait_log(old, log, "Truncated to offset")
    stage.wait_log(old, log, "Completed transition to FollowerState")
    stage.cluster.proxy.release_all()
    return leader_among(stage, others)


def leader_among(stage: Stage, nodes: tuple[int, ...] | list[int]) -> int:
    answer: dict[str, Any] = {}

    def leads() -> bool:
        answer.update(stage.client.ask("quorum"))
        return answer.get("leader") in nodes

    stage.wait_for(leads, f"a leader among {nodes}")
    stage.note(f"controller {answer['leader']} leads the voters {answer['voters']}")
    return int(answer["leader"])


def add_voters(stage: Stage) -> None:
    def added(node: int) -> bool:
        directory, port = stage.cluster.directory(node), stage.cluster.port(node)
        stage.client.ask("add-voter", voter=node, directory=directory, port=port)
        return node in stage.client.ask("quorum").get("voters", [])

    for node in JOINING:
        stage.story.tell(f"add voter {node} (kafka-metadata-quorum add-controller)", "operator")
        stage.wait_for(partial(added, node), f"{node} is a voter")


SCENARIOS = (
    Scenario(name="hyp-35", play=missed_voters, brokers=(), voters=VOTERS, joining=JOINING,
             title="a controller that truncated its log misses new voters, and leads with a minority",
             control="the leader that is cut off appends no records that the others lack",
             causes=(Cause("hyp-35", since=(3, 9)),), since=(3, 9),
             settings=(("controller.quorum.fetch.timeout.ms", "6000"),
                       ("controller.quorum.election.timeout.ms", "3000"), ("metadata.max.idle.interval.ms", "0"))),
)  # fmt: skip
