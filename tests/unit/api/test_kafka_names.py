"""Constants can be set by Kafka's names for them, and are found by their meaning."""

import pytest
from fencepost.api.asking.constants import parse_setting
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import UsageError


@pytest.mark.parametrize(
    ("name", "setting", "found"),
    [
        ("replication", "min.insync.replicas=2", ("min_isr", 2)),
        ("replication", "unclean.leader.election.enable=true", ("unclean_election", 1)),
        ("replication", "replicas=2", ("brokers", 2)),
        ("replication", "replication.factor=3", ("brokers", 3)),
        ("kip320", "brokers=2", ("replicas", 2)),
        ("kip320", "replication-factor=2", ("replicas", 2)),
    ],
)
def test_a_setting_of_kafka_sets_the_constant_that_means_it(name: str, setting: str, found: tuple[str, int]) -> None:
    assert parse_setting(protocol(name).machine, "--set", setting) == found


def test_an_unknown_constant_is_told_by_its_meaning() -> None:
    with pytest.raises(UsageError) as caught:
        parse_setting(protocol("replication").machine, "--set", "controlled_shutdowns=1")
    assert str(caught.value).endswith("A constant of similar meaning is clean_stops.")
    with pytest.raises(UsageError) as none:
        parse_setting(protocol("kip320").machine, "--set", "xyzzy=1")
    assert "meaning" not in str(none.value)
