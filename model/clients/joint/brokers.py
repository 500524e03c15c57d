"""Leader changes, how brokers learn of them, and how brokers respond."""

from fencepost.model.clients.joint.constants import C
from fencepost.model.clients.joint.state import Broker, Call, First, Offset, Stage, State, clear
from fencepost.model.language import NONE, action, require


@action(leader=Broker)
def controller_elects_leader(s: State, c: C, leader: int) -> None:
    """The controller moves the leadership to another broker, in a new leader epoch."""
    require(s.newest < c.changes, bound=C.changes)
    require(s.log[s.newest].leader != leader)
    s.log[s.newest + 1] = s.log[s.newest]
    s.newest += 1
    now = s.log[s.newest]
    now.leader = leader
    now.epoch += 1


@action(leader=Broker)
def topic_is_recreated(s: State, c: C, leader: int) -> None:
    """The topic is recreated: it has a new id, and its leader epochs start again at 0."""
    require(s.newest < c.changes, bound=C.changes)
    require(s.recreations > 0, bound=C.recreations)
    s.log[s.newest + 1] = s.log[s.newest]
    s.newest += 1
    now = s.log[s.newest]
    now.topic += 1
    now.leader = leader
    now.epoch = 0
    s.recreations -= 1


@action(broker=Broker, offset=Offset)
def broker_learns(s: State, c: C, broker: int, offset: int) -> None:
    """A broker publishes a later image to its metadata cache. The replica adopts it immediately or later."""
    b = s.broker[broker]
    require(offset > b.cache)
    require(offset <= s.newest)
    b.cache = offset
    if not c.replica_lags:
        b.replica = offset


@action(broker=Broker)
def replica_follows(s: State, c: C, broker: int) -> None:
    """A broker's replica becomes leader or follower according to its metadata cache (ReplicaManager.applyDelta)."""
    b = s.broker[broker]
    require(b.replica < b.cache)
    b.replica = b.cache


def knows_tokens(c: C, broker: int) -> bool:
    """Return whether a broker checks tokens and returns them. An old broker neither checks nor returns tokens."""
    return broker < c.brokers - c.old_brokers


def is_behind(s: State, c: C, call: Call) -> bool:
    """Return whether the broker must answer with STALE_METADATA."""
    return knows_tokens(c, call.broker) and call.sent > s.broker[call.broker].cache


def is_behind_refresh(s: State) -> bool:
    """Return whether muting (SocketServer.Processor) makes the broker answer the metadata request first."""
    return s.first == First.REFRESH and s.refresh.stage == Stage.SENT


def is_behind_request(s: State) -> bool:
    """Return whether the broker must answer the produce or fetch request first."""
    return s.first == First.REQUEST and s.request.stage == Stage.SENT


@action()
def broker_handles_request(s: State, c: C) -> None:
    """A broker handles a produce or fetch request. If it does not lead, the response names its leader (KIP-951)."""
    request = s.request
    replica = s.broker[request.broker].replica
    is_led_here = s.log[replica].leader == request.broker
    require(request.stage == Stage.SENT)
    require(not request.is_handled)
    require(not is_behind_refresh(s))
    request.is_handled = True
    if not is_led_here:
        request.names_leader = True
        request.body = replica


@action()
def broker_answers_request(s: State, c: C) -> None:
    """A broker answers a produce or fetch request. In the draft, each header contains the broker's cache offset."""
    request = s.request
    b = s.broker[request.broker]
    require(request.stage == Stage.SENT)
    require(request.is_handled)
    if not c.hint_tokens or not knows_tokens(c, request.broker):
        request.token = NONE
    elif c.one_image and request.names_leader:
        request.token = request.body
    else:
        request.token = b.cache
    if not c.in_order:
        request.broker = 0
    request.is_handled = False
    request.sent = 0
    request.stage = Stage.ANSWERED


@action()
def broker_passes_refresh(s: State, c: C) -> None:
    """A broker checks that the token of a metadata request is not ahead of the broker's cache."""
    refresh = s.refresh
    require(refresh.stage == Stage.SENT)
    require(not refresh.is_checked)
    require(c.check_first or c.one_image or refresh.is_handled)
    require(not c.one_image or not knows_tokens(c, refresh.broker))
    require(not is_behind(s, c, refresh))
    require(not is_behind_request(s))
    refresh.is_checked = True
    refresh.sent = 0


@action()
def broker_refuses_refresh(s: State, c: C) -> None:
    """A broker whose cache is behind a metadata request's token returns STALE_METADATA; the client will retry."""
    refresh = s.refresh
    require(refresh.stage == Stage.SENT)
    require(not refresh.is_checked)
    require(c.check_first or c.one_image or refresh.is_handled)
    require(is_behind(s, c, refresh))
    require(not is_behind_request(s))
    s.first = First.NEITHER
    clear(refresh)


@action()
def broker_reads_metadata(s: State, c: C) -> None:
    """A broker builds the body of a metadata response from its cache."""
    refresh = s.refresh
    require(refresh.stage == Stage.SENT)
    require(not refresh.is_handled)
    require(refresh.is_checked or not c.check_first)
    require(not c.one_image or not knows_tokens(c, refresh.broker))
    require(not is_behind_request(s))
    refresh.body = s.broker[refresh.broker].cache
    refresh.is_handled = True


@action()
def broker_answers_refresh(s: State, c: C) -> None:
    """A broker sends a metadata response. The offset in the header is read from the cache after the body is built."""
    refresh = s.refresh
    require(refresh.stage == Stage.SENT)
    require(refresh.is_checked)
    require(refresh.is_handled)
    refresh.token = s.broker[refresh.broker].cache if knows_tokens(c, refresh.broker) else NONE
    finish(c, refresh)


@action()
def broker_answers_refresh_from_one_image(s: State, c: C) -> None:
    """A broker takes one image, checks the token against it, builds the body from it and returns its offset."""
    refresh = s.refresh
    b = s.broker[refresh.broker]
    require(refresh.stage == Stage.SENT)
    require(c.one_image)
    require(knows_tokens(c, refresh.broker))
    require(not is_behind(s, c, refresh))
    require(not is_behind_request(s))
    refresh.body = b.cache
    refresh.token = b.cache
    finish(c, refresh)


def finish(c: C, refresh: Call) -> None:
    """Send a metadata response, and clear the fields that only the broker needed."""
    refresh.names_leader = True
    if not c.in_order:
        refresh.broker = 0
    refresh.sent = 0
    refresh.is_checked = False
    refresh.is_handled = False
    refresh.stage = Stage.ANSWERED
