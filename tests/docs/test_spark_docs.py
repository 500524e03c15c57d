"""What the page on Spark says was measured, and follows from it."""

from __future__ import annotations

from fencepost.invariants.catalogue import runs
from fencepost.site.figures import EXECUTORS, LEVELS, STATES, fixed, measured_spark, predicted


def test_the_searches_that_were_measured_found_what_the_catalogue_pins() -> None:
    pinned = {run.name: run for run in runs()}
    search = measured_spark()["search"]
    assert (search["spark"]["distinct"], search["spark"]["depth"]) == (
        pinned[search["run"]].distinct,
        pinned[search["run"]].depth,
    )
    executors = measured_spark()["executors"]
    assert executors["one"]["distinct"] == executors["two"]["distinct"] == pinned[executors["run"]].distinct


def test_what_is_shuffled_follows_what_moves_and_not_what_was_visited() -> None:
    levels = [item for item in measured_spark()["search"]["spark"]["levels"] if item["received"] > 100_000]
    each = [item["shuffle_written"] / item["received"] for item in levels]
    assert len(levels) > 5
    assert max(each) < 1.5 * min(each)


def test_more_executors_are_faster_until_the_fixed_time_of_a_level_outweighs_the_work() -> None:
    for states in STATES:
        assert all(predicted(states, count) > LEVELS * fixed(count) > 0 for count in EXECUTORS)
    assert predicted(STATES[-1], 1000) < predicted(STATES[-1], 100) < predicted(STATES[-1], 10)
    assert fixed(1000) > fixed(10)
