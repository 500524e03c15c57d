"""What answers to fetches of the metadata log say: claims of KIP-1166 about today's protocol, checked where they are named."""

from fencepost.model.language import step
from fencepost.model.quorum.constants import C
from fencepost.model.quorum.state import Phase, State


@step()
def answers_show_the_latest_high_watermark(before: State, after: State, c: C) -> bool:
    """SEED-1166-3: every answer that a leader sends carries the high watermark that it knows then."""
    return all(
        before.node[node].fetch.phase == Phase.ANSWERED
        or after.node[node].fetch.phase != Phase.ANSWERED
        or after.node[node].fetch.high_watermark == after.node[max(after.node[node].leader, 0)].high_watermark
        for node in range(c.nodes)
    )


PROPERTIES = (answers_show_the_latest_high_watermark,)
