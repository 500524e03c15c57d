"""Brokers of Kafka, as released and with mistakes of other brokers, whose releases are in no registry."""

from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.kafka.clusters.cluster import CONTROLLER, Cluster, Shape
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.driver.releases import run

from tests.helpers.commands import data_of, fencepost
from tests.helpers.ports import first_of_free_ports
from tests.kafka.kafkas import on_kafka

pytest.importorskip("kio", reason="requests to brokers need kio (the extra `clients`)")
pytestmark = [pytest.mark.long, on_kafka]
RELEASE = "4.4.0"
SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
ASKED = ("kafka.server.ReplicaManager", "$anonfun$lastOffsetForLeaderEpoch$2", "lastOffsetForLeaderEpoch")
READ = ("kafka.cluster.Partition", "$anonfun$readRecords$1", "-", "-")
SESSION = ("org.apache.kafka.server.FetchSession$CachedPartition", "maybeUpdateResponseData", "isPreferredReplica")
END = "$0.lastOffsetForLeaderEpoch($1, $2, $3)"
LOG_END = "$0.localLogOrException().logEndOffset()"
RULES = {
    "as released": ((), set()),
    "redpanda#5435": ((*ASKED, "$proceed($1, $2, false)"), {"only-leaders-answer"}),
    "redpanda#11864, #12063": ((*ASKED, f"{END}.errorCode() != 0 ? {END} : {END}.setEndOffset({LOG_END})"),
        {"unknown-epochs-have-no-end", "epochs-end-where-they-do"}),
    "redpanda PR 17674": (READ, {"divergence-is-reported"}),
    "AutoMQ PR 2863": ((*ASKED, f"{END}.setEndOffset(Math.max(-1L, {END}.endOffset() - 2L))"),
        {"epochs-end-where-they-do"}),
    "redpanda#11767": ((*SESSION, "false"), {"every-answer-names-the-replica"}),
}  # fmt: skip
"""Each report, with the edit of Kafka's class that makes its mistake, and the rules that notice it."""


class InRacks(Cluster):
    def _write(self, node: int) -> None:
        super()._write(node)
        if node != CONTROLLER:
            with self._file(node).open("a", encoding="utf-8") as file:
                file.write(f"broker.rack=r{node}\n")


@pytest.mark.parametrize("report", RULES)
def test_a_broker_with_the_mistake_of_a_report_breaks_its_rule(report: str, tmp_path: Path) -> None:
    edit, expected = RULES[report]
    used, classes = kit(RELEASE), tmp_path / "classes"
    if edit:
        made = run(used.java("fencepost.clusters.Plant", str(classes), *edit), 60, "the plant")
        assert made.returncode == 0, made.stderr
        used = replace(used, first=classes)
    with InRacks(used, Shape((0, 1, 2), SELECTOR), tmp_path, first_of_free_ports()) as cluster:
        cluster.begin()
        made = fencepost("conform", "brokers", "--bootstrap-server", cluster.servers, "--json")
    found = data_of(made)
    broken = {item["rule"] for item in found["questions"] if item["answer"] != item["expected"]}
    assert (broken, found["left"], made.exit_code) == (expected, "", int(bool(expected)))
    assert {item["rule"] for item in found["questions"]} >= {"every-answer-names-the-replica", *expected}
