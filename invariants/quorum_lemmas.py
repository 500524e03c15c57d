"""KIP-1166's parking rule for arbitrary numbers: how a leader in any state, even an unreachable one, interprets the
HighWatermark field. Offsets and high watermarks are any numbers up to 2**63 - 2, the greatest offset of a log. A
missing field counts as a greater number: 2**63 - 1 if logs can be that long.
"""

from fencepost.model.language import NONE, always
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.fetch import absent, reported_high_watermark, sends_field, speaks_version_18
from fencepost.model.quorum.leader import has_records, is_behind, is_consumer
from fencepost.model.quorum.state import State

LAST = (1 << 63) - 1
"""The largest value of a 64-bit field, which on the wire means that HighWatermark is missing."""
HALF = LAST // 2
"""The model's integers have 62 bits, so the model uses `2 * HALF + 1` instead of `LAST`."""


def has_offsets_of_a_log(s: State) -> bool:
    """Return whether every high watermark is a possible offset, that is, below the value of a missing field."""
    return all(n.high_watermark < absent(s) for n in s.node)


@always
def without_field_nothing_is_new(s: State, c: C) -> bool:
    """A fetch without HighWatermark, or to a leader that does not support version 18, is parked as before KIP-1166."""
    return not has_offsets_of_a_log(s) or not any(
        is_behind(s, c, leader, follower)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if not sends_field(s, c, follower) or not speaks_version_18(c, leader)
    )


@always
def stale_replicas_are_answered(s: State, c: C) -> bool:
    """The leader answers immediately if a replica reports a lower high watermark than the leader's."""
    return all(
        is_behind(s, c, leader, follower)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if speaks_version_18(c, leader)
        and sends_field(s, c, follower)
        and s.node[follower].high_watermark < s.node[leader].high_watermark
    )


@always
def current_replicas_are_parked(s: State, c: C) -> bool:
    """A replica that reports at least the leader's high watermark is not behind the leader."""
    return not any(
        is_behind(s, c, leader, follower)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if sends_field(s, c, follower) and s.node[follower].high_watermark >= s.node[leader].high_watermark
    )


@always
def unknown_is_behind_everything_known(s: State, c: C) -> bool:
    """A replica that reports -1 is behind any leader that knows its high watermark, and not behind any other leader."""
    return all(
        is_behind(s, c, leader, follower) == (s.node[leader].high_watermark >= 0)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if speaks_version_18(c, leader) and sends_field(s, c, follower) and s.node[follower].high_watermark == NONE
    )


@always
def both_statements_of_the_rule_agree(s: State, c: C) -> bool:
    """KIP-1166's conditions "local high watermark <= remote" and "remote high watermark >= leader's" are equivalent."""
    return all(
        (not is_behind(s, c, leader, follower))
        == (s.node[leader].high_watermark <= reported_high_watermark(s, c, follower))
        == (reported_high_watermark(s, c, follower) >= s.node[leader].high_watermark)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if speaks_version_18(c, leader)
    )


@always
def old_versions_get_no_early_answer(s: State, c: C) -> bool:
    """A non-diverging fetch without HighWatermark is answered immediately only if there are records."""
    return not has_offsets_of_a_log(s) or all(
        (has_records(s, c, leader, follower) or is_behind(s, c, leader, follower))
        == (s.node[follower].end < s.node[leader].end)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if not is_consumer(c, follower) and not sends_field(s, c, follower)
    )


@always
def ends_of_64_bits_are_told_apart(s: State, c: C) -> bool:
    """A leader at the last offset, 2**63 - 2, parks only fetches that report this offset or lack the field.

    A missing field counts as 2**63 - 1.
    """
    return absent(s) != 2 * HALF + 1 or all(
        is_behind(s, c, leader, follower)
        == (sends_field(s, c, follower) and reported_high_watermark(s, c, follower) < 2 * HALF)
        for leader in range(c.nodes)
        for follower in range(c.nodes)
        if speaks_version_18(c, leader) and s.node[leader].high_watermark == 2 * HALF
    )


LEMMAS = (
    without_field_nothing_is_new,
    old_versions_get_no_early_answer,
    stale_replicas_are_answered,
    current_replicas_are_parked,
    unknown_is_behind_everything_known,
    both_statements_of_the_rule_agree,
    ends_of_64_bits_are_told_apart,
)
