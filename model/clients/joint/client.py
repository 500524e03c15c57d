"""The client's steps: it sends requests with its store's token, and learns leaders from hints and from metadata."""

from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata
from fencepost.model.clients.joint.constants import C
from fencepost.model.clients.joint.state import Broker, Call, First, Stage, State, clear
from fencepost.model.clients.tokens.store import is_accepted, later
from fencepost.model.language import NONE, action, require


def send(s: State, call: Call, broker: int, told: int) -> None:
    """Send a request with the token that the store currently holds."""
    call.stage = Stage.SENT
    call.broker = broker
    call.sent = s.token
    call.token = NONE
    call.ghost_told = told


def are_at_one_broker(s: State) -> bool:
    """Return whether both requests, or their responses, use the same broker's connection."""
    return Stage.NONE not in (s.request.stage, s.refresh.stage) and s.request.broker == s.refresh.broker


@action()
def client_sends_request(s: State, c: C) -> None:
    """The client sends its pending produce or fetch request to the leader that it knows."""
    require(s.request.stage == Stage.NONE)
    send(s, s.request, s.known.leader, s.ghost_read)
    if c.in_order and are_at_one_broker(s):
        s.first = First.REFRESH


@action(broker=Broker)
def client_refreshes(s: State, c: C, broker: int) -> None:
    """The client requests metadata from any broker, after an error or because its metadata is old."""
    require(s.refresh.stage == Stage.NONE)
    send(s, s.refresh, broker, s.ghost_hinted)
    if c.in_order and are_at_one_broker(s):
        s.first = First.REQUEST


def follow(s: State, topic: int, leader: int, epoch: int, offset: int) -> None:
    """Adopt a leader."""
    s.known.topic = topic
    s.known.leader = leader
    s.known.epoch = epoch
    s.known.ghost_offset = offset


def is_hint_accepted(s: State, c: C) -> bool:
    """Return whether the client adopts the leader: its epoch is newer and, if tokens matter, its token is not older."""
    request, told = s.request, s.log[s.request.body]
    is_newer = accepts_hint(Accepts.NEWER, s.known.epoch, s.known.leader, told.epoch, told.leader)
    return (
        request.names_leader
        and (is_newer or not c.hint_epoch_check)
        and (not c.hints_by_token or (request.token != NONE and request.token >= s.token))
    )


@action()
def client_receives_response(s: State, c: C) -> None:
    """The client adopts the hint if it is acceptable (KIP-951), and stores the header's token."""
    request, told = s.request, s.log[s.request.body]
    require(request.stage == Stage.ANSWERED)
    require(s.first != First.REFRESH)
    if is_hint_accepted(s, c):
        follow(s, s.known.topic, told.leader, told.epoch, request.body)
        s.ghost_hinted = max(s.ghost_hinted, request.body)
    s.token = later(s.token, request.token)
    s.first = First.NEITHER
    clear(request)


@action()
def client_applies_metadata(s: State, c: C) -> None:
    """The client adopts the leader unless its epoch is older (Metadata.updateLatestMetadata), and stores the token."""
    refresh, told = s.refresh, s.log[s.refresh.body]
    is_other_topic = 1 if told.topic != s.known.topic else 0
    is_newer = accepts_metadata(s.known.epoch, told.epoch, is_other_topic)
    require(refresh.stage == Stage.ANSWERED)
    require(s.first != First.REQUEST)
    require(is_accepted(refresh.token, s.token, c.rejects_late, c.refuses_untokened))
    if is_newer or not c.metadata_epoch_check:
        follow(s, told.topic, told.leader, told.epoch, refresh.body)
    s.ghost_read = max(s.ghost_read, refresh.body)
    s.token = later(s.token, refresh.token)
    s.first = First.NEITHER
    clear(refresh)


@action()
def client_drops_metadata(s: State, c: C) -> None:
    """The client rejects metadata that is older than its store, or of unknown age, and requests metadata again."""
    refresh = s.refresh
    require(refresh.stage == Stage.ANSWERED)
    require(s.first != First.REQUEST)
    require(not is_accepted(refresh.token, s.token, c.rejects_late, c.refuses_untokened))
    s.first = First.NEITHER
    clear(refresh)
