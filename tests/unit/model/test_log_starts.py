"""Parts of models against plain second implementations: the epoch cache, logs of the lineage, the store of tokens."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from fencepost.model.clients.tokens import store
from fencepost.model.clients.tokens.constants import C
from fencepost.model.clients.tokens.operations import LISTED, Operation
from fencepost.model.clients.tokens.state import State
from fencepost.model.cluster import log
from fencepost.model.language.records import Schema
from fencepost.model.lineage import base, kip101, kip279, kip320, kip320_first_try, truncate_to_hwm

from tests.helpers.search import explore

SIZE = 3
LEADS = 2
"""The leader epoch of the queried broker: later than that of any record."""


def replica(epochs: tuple[int, ...], start: int = 0) -> Any:
    """Return a log with a record of each of these epochs, of which those below `start` were deleted."""
    entries = [SimpleNamespace(record=n + 1, epoch=epoch) for n, epoch in enumerate(epochs)]
    entries += [SimpleNamespace(record=0, epoch=0) for _ in range(SIZE - len(epochs))]
    return SimpleNamespace(log=entries, end=len(epochs), start=start, high_watermark=start, checkpoint=0)


def cached(epochs: tuple[int, ...], start: int) -> dict[int, int]:
    """Return LeaderEpochFileCache after these appends, truncateFromStart and the start of a leader's epoch."""
    entries: dict[int, int] = {}
    for offset, epoch in enumerate(epochs):
        entries.setdefault(epoch, offset)
    below = [epoch for epoch, at in entries.items() if at <= start]
    kept = {epoch: at for epoch, at in entries.items() if at > start}
    if below:
        kept[max(below)] = start
    return {epoch: at for epoch, at in kept.items() if at < len(epochs)} | {LEADS: len(epochs)}


def end_offset_for(entries: dict[int, int], asked: int, end: int) -> tuple[int, int]:
    """Return the answer of LeaderEpochFileCache.endOffsetFor."""
    if asked == max(entries):
        return asked, end
    higher = min(epoch for epoch in entries if epoch > asked)
    return max((epoch for epoch in entries if epoch <= asked), default=asked), entries[higher]


def test_epochs_above_a_log_start_end_where_kafka_says() -> None:
    compared = 0
    for epochs in product((0, 1), repeat=SIZE):
        for start in range(SIZE + 1):
            if list(epochs) == sorted(epochs):
                r = replica(epochs, start)
                for asked in (0, 1, LEADS):
                    answer = log.end_offset_epoch(r, LEADS, asked), log.start_above(r, asked)
                    assert answer == end_offset_for(cached(epochs, start), asked, SIZE), (epochs, start, asked)
                    compared += 1
    assert compared == 4 * 4 * 3


def test_a_log_that_was_cut_or_made_anew_starts_there_and_only_one_whose_records_were_deleted_names_an_epoch() -> None:
    cut, deleted = replica((0, 0, 1), 2), replica((0, 1), 2)
    log.truncate(cut, 1)
    assert (cut.start, cut.end, cut.high_watermark) == (1, 1, 1)
    assert log.latest_epoch(deleted) == 1
    log.restart_at(deleted, 2)
    assert (log.latest_epoch(deleted), deleted.start, deleted.end, log.first_in_files(deleted)) == (-1, 2, 2, 2)


@pytest.mark.parametrize(("checkpoint", "start", "end"), [(0, 0, 2), (1, 1, 2), (3, 3, 3)])
def test_a_log_starts_by_its_checkpoint_or_where_its_files_do(checkpoint: int, start: int, end: int) -> None:
    r = replica((0, 0), 2)
    log.recover(r, checkpoint)
    assert (r.start, r.end, r.high_watermark) == (start, end, max(2, start))


MODELS = {module.MACHINE.name: module.MACHINE for module in (truncate_to_hwm, kip101, kip279, kip320_first_try, kip320)}


def sizes(*values: int) -> dict[str, int]:
    """Return the constants in the order in which TLC's table writes them."""
    return dict(zip(("replicas", "log_size", "max_records", "max_leader_epoch"), values, strict=True))


# Counted by a transcription of the specification into sets and tuples, action by action, from every state.
EDGES = {
    "one replica": (sizes(1, 1, 3, 2), (23, 23, 23, 23, 23)),
    "one epoch": (sizes(2, 2, 5, 0), (95, 95, 95, 95, 93)),
    "no records": (sizes(2, 2, 0, 1), (85, 85, 85, 85, 65)),
    "one slot, more records": (sizes(2, 1, 3, 1), (401, 389, 389, 397, 325)),
    "three replicas, one epoch": (sizes(3, 1, 2, 0), (280, 280, 280, 280, 271)),
}


@pytest.mark.parametrize(("constants", "counts"), EDGES.values(), ids=EDGES)
def test_odd_sizes_give_the_states_of_the_specification(constants: dict[str, int], counts: tuple[int, ...]) -> None:
    assert tuple(explore(machine, constants).distinct for machine in MODELS.values()) == counts


Log = tuple[tuple[int, int], ...]
"""Records as (id, epoch)."""


def all_logs(longest: int) -> list[Log]:
    """Return every log of two record ids and three epochs that is at most this long."""
    records = list(product(range(2), range(3)))
    return [log for length in range(longest + 1) for log in product(records, repeat=length)]


SCHEMA = Schema(base.State, base.C(**sizes(2, 2, 2, 2)))


def two_replicas(leader: Log, follower: Log, high_watermark: int) -> tuple[Any, Any]:
    state = SCHEMA.new()
    for replica, records in zip(state.replica, (leader, follower), strict=True):
        for record, epoch in records:
            base.append(replica, record, epoch)
    state.replica[1].high_watermark = high_watermark
    return state.replica[0], state.replica[1]


def test_the_last_matching_end_is_that_of_kip279_for_all_logs() -> None:
    for leader, follower in product(all_logs(2), repeat=2):
        matching = {offset for offset, (a, b) in enumerate(zip(leader, follower, strict=False)) if a == b}
        expected = max(matching) + 1 if matching else 0
        assert base.last_matching_end(*two_replicas(leader, follower, 0)) == expected, (leader, follower)


def test_the_truncation_offset_is_that_of_kip101_for_all_logs() -> None:
    for leader, follower in product(all_logs(2), repeat=2):
        for high_watermark in range(len(follower) + 1):
            if not follower:
                expected = 0
            elif leader and leader[-1][1] == follower[-1][1]:
                expected = len(leader)
            else:
                later = {offset for offset, (_, epoch) in enumerate(leader) if epoch > follower[-1][1]}
                expected = min(later) if later else high_watermark
            l, f = two_replicas(leader, follower, high_watermark)
            assert kip101.truncation_offset(l, f) == expected, (leader, follower, high_watermark)


UNKNOWN = None
CONTEXTS = [UNKNOWN, *product(range(2), range(4))]
"""Contexts as users see them: unknown, or a cluster with an offset."""


class Store:
    """ConsistencyContextStore by its documentation."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def store_latest(self, context: Any) -> bool:
        """Keep the later context; throw if cluster ids do not match; return whether the store changed."""
        if context is not UNKNOWN and self.context is not UNKNOWN and context[0] != self.context[0]:
            raise ValueError
        if context is UNKNOWN or (self.context is not UNKNOWN and context[1] <= self.context[1]):
            return False
        self.context = context
        return True


def stored(context: Any) -> Any:
    latest = Schema(State, C()).new().store[0].latest
    latest.cluster, latest.token = (-1, -1) if context is UNKNOWN else context
    return latest


@pytest.mark.parametrize("before", CONTEXTS)
@pytest.mark.parametrize("given", CONTEXTS)
def test_store_latest_is_what_its_documentation_says(before: Any, given: Any) -> None:
    second, latest = Store(before), stored(before)
    cluster, token = (-1, -1) if given is UNKNOWN else given
    try:
        changed = second.store_latest(given)
        assert not store.clashes(cluster, latest.cluster)
        assert store.is_more_up_to_date(cluster, token, latest.cluster, latest.token) is changed
    except ValueError:
        assert store.clashes(cluster, latest.cluster)
    store.store_latest(latest, cluster, token)
    after = UNKNOWN if store.is_unknown(latest.cluster) else (latest.cluster, latest.token)
    assert after == second.context
    if UNKNOWN not in (before, given):
        assert store.later(before[1], given[1]) == max(before[1], given[1])


def test_the_operations_are_the_ten_of_the_draft() -> None:
    assert [item.key for item in LISTED] == [3, 29, 32, 35, 41, 48, 50, 60, 74, 75]
    assert {item.operation for item in LISTED} == {Operation.CACHE, Operation.COMPONENT}
