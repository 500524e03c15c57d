"""Names that are one on all calls: `only`, `property` and `prop`; a master for a cluster."""

import fencepost.api as f
import pytest
from fencepost.explorers.verdict import Verdict


@pytest.mark.parametrize("name", ["only", "property", "prop"])
def test_a_property_is_named_by_each_word_on_each_call(name: str) -> None:
    checked = f.check("kip320", replicas=2, **{name: "weak-isr"})
    assert {item.name for item in checked.properties} == {"weak-isr"}
    counted = f.faults("replication", brokers=2, crashes=0, fences=0, shrinks=0, **{name: "leader-has-acknowledged"})
    assert counted.prop == "leader-has-acknowledged"
    assert checked.verdict is Verdict.HOLDS


def test_two_names_of_one_argument_are_refused() -> None:
    with pytest.raises(f.UsageError, match="property= and only=, which are one"):
        f.check("kip320", replicas=2, only="weak-isr", property="strong-isr")


def test_a_cluster_is_a_master_or_a_cluster() -> None:
    with pytest.raises(f.UsageError, match=r"write a master such as \"local\[2\]\", or Cluster"):
        f.sweep("kip320", grid={"replicas": [2]}, cluster=3)
