"""What a leader comes to in the end after a refusal, across a fail-over: on request, as it takes the whole graph. G-L5, B15."""

from fencepost.model.controllers.brokers import broker_applies_metadata
from fencepost.model.controllers.constants import C
from fencepost.model.controllers.quorum import voter_fetches
from fencepost.model.controllers.state import Broker, Reply, State, Status
from fencepost.model.language import leads_to, weak


def is_refused(s: State, c: C, leader: int) -> bool:
    """Say whether a leader was told that its epochs are old, and waits for metadata."""
    request = s.broker[leader].request
    return request.status == Status.ANSWERED and request.reply == Reply.REFUSED


def is_not_refused(s: State, c: C, leader: int) -> bool:
    """Say whether a leader waits for no metadata, or has got some."""
    return not is_refused(s, c, leader)


refused_leaders_hear_of_it = leads_to(
    "refused-leaders-hear-of-it",
    "G-L5, B15: a leader whose AlterPartition is refused for its epochs gets newer metadata in the end, if voters and brokers fetch.",
    when=is_refused,
    then=is_not_refused,
    fair=(
        weak(voter_fetches, each=("follower", "leader")),
        weak(broker_applies_metadata, each="broker"),
    ),
    leader=Broker,
)

PROPERTIES = (refused_leaders_hear_of_it,)
