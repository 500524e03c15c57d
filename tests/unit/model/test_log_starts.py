"""Logs that start above 0: epochs as in Kafka's cache, and the remaining log after loading."""

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from fencepost.model.cluster import log

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


def test_a_log_that_was_cut_below_its_start_starts_at_the_cut() -> None:
    r = replica((0, 0, 1), 2)
    log.truncate(r, 1)
    assert (r.start, r.end, r.high_watermark) == (1, 1, 1)


def test_a_log_that_was_made_anew_names_no_epoch_and_one_whose_records_were_deleted_names_the_last() -> None:
    r = replica((0, 1), 2)
    assert log.latest_epoch(r) == 1
    log.restart_at(r, 2)
    assert (log.latest_epoch(r), r.start, r.end, log.first_in_files(r)) == (-1, 2, 2, 2)


@pytest.mark.parametrize(("checkpoint", "start", "end"), [(0, 0, 2), (1, 1, 2), (3, 3, 3)])
def test_a_log_starts_by_its_checkpoint_or_where_its_files_do(checkpoint: int, start: int, end: int) -> None:
    r = replica((0, 0), 2)
    log.recover(r, checkpoint)
    assert (r.start, r.end, r.high_watermark) == (start, end, max(2, start))
