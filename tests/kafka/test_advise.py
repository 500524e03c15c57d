"""The settings of a topic, read from brokers of Kafka that run on this machine."""

from pathlib import Path

import pytest

from tests.helpers.commands import data_of, fencepost
from tests.helpers.ports import first_of_free_ports
from tests.kafka.kafkas import on_kafka

admin = pytest.importorskip("confluent_kafka.admin", reason="pip install 'fencepost[advise]'")


@pytest.mark.long
@on_kafka
@pytest.mark.parametrize("release", ["4.1.2", "4.4.0"])
def test_advice_is_for_the_settings_that_a_broker_has(release: str, tmp_path: Path) -> None:
    from fencepost.kafka.clusters.cluster import Cluster, Shape
    from fencepost.kafka.clusters.kit import kit

    with Cluster(kit(release), Shape((0, 1, 2)), tmp_path, first_of_free_ports()) as cluster:
        cluster.begin()
        operator = admin.AdminClient({"bootstrap.servers": cluster.servers})
        config = {"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
        orders = admin.NewTopic("orders", 2, 3, config=config)
        plain = admin.NewTopic("plain", 2, replica_assignment=[[0, 1], [1, 2]])
        for answer in operator.create_topics([orders, plain]).values():
            answer.result(30)
        asked = ("advise", "--bootstrap-server", cluster.servers, "--kafka", release, "--json", "--topic")
        found = [data_of(fencepost(*asked, topic)) for topic in ("orders", "plain")]
        missing = fencepost(*asked, "missing")
    shown = [[item["settings"][name] for name in ("replicas", "min_isr", "unclean_election")] for item in found]
    assert shown == [[3, 2, True], [2, 1, False]]
    assert [item["crashes"]["least"] for item in found] == [0, 1]
    assert (missing.exit_code, "has no topic 'missing'" in missing.stderr) == (2, True)
