"""Before KIP-101: a new follower truncates to its high watermark, so it keeps only records that it knows to be
committed. A follower learns the high watermark one fetch late. `kip101` describes the consequences. Modelled on
hachikuji/kafka-specification, KafkaTruncateToHighWatermark.
"""

from fencepost.model.language import Machine, action, require
from fencepost.model.lineage import base, unfenced
from fencepost.model.lineage.base import C, Epoch, Replica, State


@action(leader=Replica, follower=Replica, epoch=Epoch)
def become_follower_and_truncate(s: State, c: C, leader: int, follower: int, epoch: int) -> None:
    """A replica learns of its leader and drops every record that it does not know to be committed."""
    f = s.replica[follower]
    offset = f.high_watermark
    require(base.is_news_of_leader(s, follower, leader, epoch))
    require(offset <= f.end)
    base.truncate(f, offset)
    base.follow(s, follower, epoch)


MACHINE = Machine(
    name="truncate-to-hwm",
    sentence="before KIP-101: a new follower truncates to its own high watermark",
    state=State,
    constants=C,
    initial=base.initial,
    actions=(
        base.controller_elect_leader,
        base.controller_shrink_isr,
        base.become_leader,
        unfenced.leader_expand_isr,
        unfenced.leader_shrink_isr,
        base.leader_write,
        unfenced.leader_increase_high_watermark,
        become_follower_and_truncate,
        unfenced.follower_fetch,
    ),
    source="hachikuji/kafka-specification",
    cast=base.CAST,
)
