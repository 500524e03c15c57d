"""Checks of clients against rules, mostly from KIPs, and the beliefs of a client that follows the rules. A belief says
which broker a client considers a partition's leader. Beliefs are derived with the model's functions.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

from fencepost.kafka.clients.events import NOBODY, Event, Play, name_of
from fencepost.kafka.clients.wire import FENCED_EPOCH, NOT_LEADER, OUT_OF_RANGE
from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata
from fencepost.model.consumers.fetching import target

TO_LEADERS = ("produce", "fetch", "validate", "list")
"""Requests that a client sends to the broker that it considers the leader."""


class Belief(NamedTuple):
    topic: int
    leader: int
    epoch: int
    at: float
    by: Event | None


@dataclass
class Beliefs:
    """A client's successive beliefs about one partition, beliefs that it may have, and information that it must ignore.
    A belief becomes certain some time after the information arrives, or as soon as the client acts on it.
    """

    known_at: Callable[[float], float] = float
    trail: list[Belief] = field(default_factory=list)
    ignored: list[Event] = field(default_factory=list)
    optional: list[Belief] = field(default_factory=list)
    acted: list[tuple[float, int]] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        now = self.trail[-1] if self.trail else None
        heard = Belief(event.topic, event.leader, event.epoch, event.at, event)
        is_of_other_topic = now is not None and event.kind == "hint" and event.topic != now.topic
        if is_of_other_topic and event.leader != NOBODY:
            self.optional.append(heard)  # a hint does not name its topic, and the client may not find it out
        elif event.error:
            self.ignored.append(event)
        elif now is not None and event.leader == event.epoch == NOBODY and event.topic != now.topic:
            self.trail.append(heard)  # a client may also not notice the new topic, and keep the old leader
            self.optional.append(now)
        elif now is not None and event.leader == NOBODY != event.epoch == now.epoch:
            self.optional.append(heard)  # the partition has an error in a known epoch
        elif _is_accepted(now, event):
            (self.trail if event.kind == "metadata" or event.named else self.optional).append(heard)
        elif now is not None and (event.epoch < now.epoch or (event.kind == "hint" and event.leader != now.leader)):
            self.ignored.append(event)

    def act(self, request: Event) -> None:
        for place in range(len(self.trail) - 1, 0, -1):
            item, before = self.trail[place], self.trail[place - 1]
            is_its = item.leader == request.broker and request.epoch in (NOBODY, item.epoch)
            is_new = item.leader != before.leader or request.epoch not in (NOBODY, before.epoch)
            if item.at <= request.at and is_its and is_new:
                self.acted.append((request.at, place))
                return

    def possible(self, request: Event) -> list[Belief]:
        known = [place for place, item in enumerate(self.trail) if item.at <= self.known_at(request.since)]
        known += [place for at, place in self.acted if at <= request.since]
        found = [item for item in self.trail[max(known, default=0) :] if item.at <= request.at]
        may = [item for item in self.optional if item.at <= request.at]
        since = found[0] if found else None
        return found + [item for item in may if since and (item.epoch >= since.epoch or item.topic != since.topic)]


def _is_accepted(now: Belief | None, event: Event) -> bool:
    """Return whether a client must accept this information. It must do so even if a hint lacks the leader's endpoint,
    because the client may know the address.
    """
    if event.kind == "hint":
        return (
            now is not None
            and NOBODY not in (event.leader, event.epoch)
            and accepts_hint(Accepts.NEWER, now.epoch, now.leader, event.epoch, event.leader)
        )
    if event.leader == NOBODY and event.epoch == NOBODY:
        return now is None
    return (
        now is None or event.epoch == NOBODY or accepts_metadata(now.epoch, event.epoch, int(event.topic != now.topic))
    )


def beliefs_of(play: Play) -> dict[int, Beliefs]:
    found = {partition: Beliefs(play.known_at) for partition in range(play.partitions)}
    for event in play.events:
        if event.kind in ("hint", "metadata"):
            found[event.partition].hear(event)
        elif event.kind == "request" and event.api in TO_LEADERS:
            found[event.partition].act(event)
    return found


NEVER = float("inf")
WITHOUT_ASKING = 3
"""Maximum number of requests that a client may send to the same broker between an error and its metadata request. They
may already have been in flight.
"""
REFUSED = (str(NOT_LEADER), str(FENCED_EPOCH))


@dataclass(frozen=True)
class BrokenRule:
    rule: str
    event: Event
    why: str


class Judge:
    """Judgement of one play: `exercised` counts opportunities to violate a rule, `broken` lists violations."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.beliefs = beliefs_of(play)
        self.exercised: Counter[str] = Counter()
        self.broken: list[BrokenRule] = []
        died = next((item for item in play.events if item.kind == "died"), None)
        self.count("stays-alive")
        if died is not None:
            self.breaks("stays-alive", died, died.error)
        for partition in range(0 if died else play.partitions):
            self.events = [item for item in play.events if item.partition in (partition, NOBODY)]
            self.sent = [item for item in self.events if item.kind == "request"]
            for look in AFTER_RESTARTS if play.restarts else LOOKS:
                look(self, partition)

    def count(self, rule: str, times: int = 1) -> None:
        self.exercised[rule] += times

    def breaks(self, rule: str, event: Event, why: str) -> None:
        if rule not in {item.rule for item in self.broken}:
            self.broken.append(BrokenRule(rule, event, why))
            self.exercised[rule] = max(1, self.exercised[rule])

    def data(self) -> Iterator[Event]:
        return (item for item in self.sent if item.api in ("produce", "fetch"))


def _brokers(judge: Judge, partition: int) -> None:
    known = judge.beliefs[partition]
    seen: set[int] = set()
    serving = {item.leader: item.at for item in reversed(judge.events) if item.kind == "preferred"}
    for request in judge.sent:
        possible = known.possible(request) if request.api in TO_LEADERS else []
        is_to_follower = request.api == "fetch" and request.at >= serving.get(request.broker, request.at + 1)
        if not possible or is_to_follower:
            continue
        judge.count("only-to-named-leaders")
        newest = possible[0]
        is_first = len(known.trail) == 1 or newest is known.trail[0]
        if newest.by is not None and not is_first and id(newest.by) not in seen:
            seen.add(id(newest.by))
            judge.count("no-leader-no-request" if newest.leader == NOBODY else f"newer-{newest.by.kind}-is-used")
        for event in _ignored(known, request):
            if id(event) not in seen and event.leader != newest.leader:
                seen.add(id(event))
                judge.count(_ignoring(event))
        if not any(item.leader == request.broker for item in possible):
            _blame(judge, known, request, newest)


def _ignoring(event: Event) -> str:
    return "errors-name-no-leader" if event.error else f"older-{event.kind}-is-ignored"


def _ignored(known: Beliefs, request: Event) -> list[Event]:
    newest = known.possible(request)[0]
    return [event for event in known.ignored if newest.at < event.at <= known.known_at(request.since)]


def _blame(judge: Judge, known: Beliefs, request: Event, newest: Belief) -> None:
    of = " of the recreated topic" if newest.topic > known.trail[0].topic else ""
    leader = name_of(newest.leader)
    shown = f"{request.api} goes to broker {request.broker}, but {leader} is the leader in epoch {newest.epoch}{of}"
    for event in reversed([item for item in known.ignored if newest.at < item.at <= request.at]):
        if event.leader == request.broker:
            known_then = [item for item in (*known.trail, *known.optional) if item.at <= event.at]
            then = max(known_then, key=lambda item: (item.topic, item.epoch, item.at))
            why = (
                f"{request.api} goes to broker {request.broker}, which {event.kind} named with epoch {event.epoch}, "
                f"although {name_of(then.leader)} is the leader in epoch {then.epoch}"
            )
            judge.breaks(_ignoring(event), request, why)
            return
    was_named = any(item.leader == request.broker for item in known.trail if item.at <= request.at)
    if newest.leader == NOBODY:
        judge.breaks("no-leader-no-request", request, shown)
    elif was_named and newest.by is not None:
        judge.breaks(f"newer-{newest.by.kind}-is-used", request, shown)
    else:
        judge.breaks("only-to-named-leaders", request, shown)


def _epochs(judge: Judge, partition: int) -> None:
    known = judge.beliefs[partition]
    used: list[Event] = []
    for request in judge.sent:
        if request.api not in ("fetch", "validate", "list"):
            continue
        possible = known.possible(request)
        if not possible:
            continue
        early = judge.play.known_at(request.since)
        before = [item for item in used if item.at <= early]
        newest = max((item.epoch for item in before), default=NOBODY)
        is_other = any(item.epoch == NOBODY or item.topic != possible[0].topic for item in known.trail)
        if not is_other and newest != NOBODY:
            if any(event.at < request.since for event in known.ignored):
                judge.count("epochs-never-fall")
            if NOBODY < request.epoch < newest:
                why = f"{request.api} uses epoch {request.epoch} after {newest}"
                judge.breaks("epochs-never-fall", request, why)
            told = [item for item in judge.events if item.kind == "metadata" and item.leader == item.epoch == NOBODY]
            if any(item.at <= early for item in told):
                judge.count("epoch-is-not-forgotten")
                if request.epoch == NOBODY:
                    why = f"{request.api} contains no epoch although the client knew epoch {newest}"
                    judge.breaks("epoch-is-not-forgotten", request, why)
        if request.epoch != NOBODY:
            used.append(request)


def _errors(judge: Judge, partition: int) -> None:
    known = judge.beliefs[partition]
    errors = [item for item in judge.events if item.kind == "answer" and item.error in REFUSED]
    for answer in (item for item in errors if item.api != "validate"):
        later = [item for item in judge.data() if item.since >= answer.at and item.at > answer.at]
        if not later:
            continue
        news = _news(judge, known, answer)
        _asks(judge, answer, later, bool(news))
        retry = later[0]
        if not set(retry.value.split()) & _last_values(judge, answer):
            continue  # the first attempt of another batch
        if answer.api == "produce" and judge.play.backoff and not any(item.at <= retry.at for item in news):
            judge.count("retry-waits-for-the-backoff")
            if retry.at - answer.at < judge.play.backoff / 2:
                after, backoff = (f"{1000 * time:.0f} ms" for time in (retry.at - answer.at, judge.play.backoff))
                why = f"retried {after} after the error, although the backoff is {backoff}"
                judge.breaks("retry-waits-for-the-backoff", retry, why)


def _news(judge: Judge, known: Beliefs, answer: Event) -> list[Belief]:
    """Return newer leaders that the client learned of after it had sent the rejected request."""
    refused = [item for item in judge.data() if item.broker == answer.broker and item.at <= answer.at]
    before = known.possible(refused[-1])[:1] if refused else []
    began = refused[-1].at if refused else answer.at
    old = {(one.topic, one.epoch) for one in before}
    news = (item for item in (*known.trail, *known.optional) if item.at >= began - judge.play.slack)
    return [item for item in news if (item.topic, item.epoch) not in old]


def _last_values(judge: Judge, answer: Event) -> set[str]:
    sent = [item for item in judge.data() if item.broker == answer.broker and item.at <= answer.at]
    return set(sent[-1].value.split()) if sent else set()


def _asks(judge: Judge, answer: Event, later: list[Event], is_news: bool) -> None:  # noqa: FBT001 (one of two cases)
    """Check that the client asks for metadata after an error that did not name a new leader."""
    asked = [item.at for item in judge.sent if item.api == "metadata" and item.at >= answer.at - judge.play.slack]
    again = [item for item in later if item.broker == answer.broker]
    if is_news or not again:
        return
    judge.count("error-asks-for-metadata")
    if len(again) > WITHOUT_ASKING and (not asked or asked[0] > again[WITHOUT_ASKING].at):
        why = f"{len(again)} more requests but none for metadata"
        judge.breaks("error-asks-for-metadata", again[WITHOUT_ASKING], why)


def _followers(judge: Judge, partition: int) -> None:  # noqa: ARG001 (as all looks)
    """Check that a consumer fetches from the model's `target` once it has switched or has had time to switch."""
    s: Any = SimpleNamespace(consumer=SimpleNamespace(preferred=NOBODY, epoch=NOBODY), leader={NOBODY: NOBODY})
    since, refusal, last, asked = 0.0, None, NOBODY, NOBODY
    slack, lease, ends = judge.play.slack, judge.play.lease or NEVER, NEVER
    moved: set[int] = set()
    latest = NEVER  # the latest end of the lease, which may begin with the first fetch
    for event in judge.events:
        if event.kind == "request" and event.api == "fetch":
            last = event.offset
            if event.broker == s.consumer.preferred:
                latest = min(latest, event.at + lease)
            if refusal is not None and event.since >= refusal.at:
                judge.count("errors-end-a-preference")
                if event.broker == refusal.broker != target(s) and event.offset == asked:
                    why = f"fetch goes to broker {event.broker} again, although offset {asked} is out of range there"
                    judge.breaks("errors-end-a-preference", event, why)
            elif s.consumer.preferred != NOBODY and event.since > latest + slack:
                former, s.consumer.preferred = s.consumer.preferred, NOBODY
                judge.count("preferred-replica-is-used")
                if event.broker == former != target(s):
                    why = f"fetch goes to broker {former}, but its lease ended {event.since - latest:.1f} s ago"
                    judge.breaks("preferred-replica-is-used", event, why)
            elif s.consumer.preferred != NOBODY and event.at < ends - slack:
                since = min(since, event.at) if event.broker == s.consumer.preferred else since
                judge.count("preferred-replica-is-used", event.at >= since)
                if event.at >= since and event.broker != target(s):
                    why = f"fetch goes to broker {event.broker}, not to the preferred replica {s.consumer.preferred}"
                    judge.breaks("preferred-replica-is-used", event, why)
        elif event.kind == "preferred" and event.leader in moved:
            s.consumer.preferred = NOBODY  # the client may know only the broker's former address
        elif event.kind == "preferred":
            ends, latest = event.at + lease, NEVER
            if event.leader != s.consumer.preferred or judge.play.lease:
                s.consumer.preferred, since, refusal = event.leader, event.at + slack, None
        elif event.kind == "answer" and event.error and event.broker == s.consumer.preferred:
            s.consumer.preferred, asked = NOBODY, last
            refusal = event if event.error == str(OUT_OF_RANGE) else None
        elif event.kind in ("metadata", "hint") and event.epoch > s.consumer.epoch:
            s.consumer.preferred, s.consumer.epoch, refusal = NOBODY, event.epoch, None
            s.leader[event.epoch] = event.leader
        elif event.kind == "moved" and event.value.startswith("broker-stops"):
            s.consumer.preferred = NOBODY
            moved.add(int(event.value.split()[1]))


def _validation(judge: Judge, partition: int) -> None:  # noqa: ARG001 (as all looks)
    """Check that the position is validated before records of a new epoch are delivered."""
    read: Event | None = None
    if judge.play.has_old_brokers:
        return
    for answer in judge.events:
        if answer.kind != "answer" or answer.api != "fetch" or answer.offset == NOBODY or answer.error:
            continue
        fetches = (item for item in judge.sent if item.api == "fetch" and item.broker == answer.broker)
        request = [item for item in fetches if item.at <= answer.at][-1]
        if read is not None and request.epoch > read.epoch != NOBODY and answer.topic == 0:
            judge.count("validates-before-delivering")
            asked = [item for item in judge.sent if item.api == "validate" and read.at < item.at <= answer.at]
            checked = [item for item in asked if not _failed(judge, item)]
            is_checked = request.fetched != NOBODY or any(item.epoch == request.epoch for item in checked)
            if not is_checked and not _reported(judge, answer.at):
                why = f"epoch {request.epoch} is read without asking where epoch {read.epoch} ends"
                judge.breaks("validates-before-delivering", request, why)
        read = request


def _failed(judge: Judge, question: Event) -> bool:
    later = (item for item in judge.events if item.kind == "answer" and item.api == "validate")
    found = next((item for item in later if item.broker == question.broker and item.at >= question.at), None)
    return found is not None and bool(found.error)


def _reported(judge: Judge, before: float) -> bool:
    return any(item.kind == "truncated" and item.happened and item.at <= before for item in judge.events)


def _reports(judge: Judge, partition: int) -> None:  # noqa: ARG001 (as all looks)
    """Check that reported truncations are real. If brokers do not support epochs, reports are not checked."""
    if judge.play.role != "consumer" or judge.play.has_old_brokers:
        return
    judge.count("reports-are-true")
    for item in judge.events:
        if item.kind == "truncated" and not item.happened:
            why = f"a truncation is reported, but the leader's log contains everything that was read ({item.error})"
            judge.breaks("reports-are-true", item, why)


def _repeated(events: list[Event]) -> Iterator[Event]:
    """Yield repeated deliveries. After a restart, records from the committed offset on may be delivered again."""
    read: dict[str, int] = {}
    committed = 0
    for event in events:
        if event.kind == "committing":
            committed = event.offset
        elif event.value == "client-restarts":
            read = {value: offset for value, offset in read.items() if offset < committed}
        elif event.kind == "delivered":
            if event.value in read:
                yield event
            read[event.value] = event.offset


def _records(judge: Judge, partition: int) -> None:
    """Check that each record of the log was delivered once, unless the client reported an error."""
    if judge.play.role != "consumer" or (partition, 0) not in judge.play.logs:
        return
    read = [item for item in judge.events if item.kind == "delivered"]
    log = judge.play.logs[partition, 0]
    twice = next(_repeated(judge.events), None)
    judge.count("no-record-is-delivered-twice", 0 if judge.play.resets else len(read))
    if twice is not None and not judge.play.resets and not _reported(judge, twice.at):
        judge.breaks("no-record-is-delivered-twice", twice, f"offset {twice.offset} had already been delivered")
    known = {item.value for item in read}
    last = max((place for place, value in enumerate(log) if value in known), default=NOBODY)
    missed = [place for place, value in enumerate(log[: last + 1]) if value not in known]
    gone = [item for item in read if item.value not in log]
    rule = "truncation-is-noticed" if gone else "no-record-is-skipped"
    judge.count("no-record-is-skipped", 0 if gone or judge.play.resets else len(read))
    if judge.play.resets or (gone and judge.play.has_old_brokers):
        return
    if gone:
        judge.count("truncation-is-noticed")
    if missed:
        after = next(item for item in read if item.value in log[missed[0] + 1 :])
        if not _reported(judge, after.at):
            why = f"offset {missed[0]} of the log was never delivered, and the client reported no error"
            judge.breaks(rule, after, why)


def _recovery(judge: Judge, partition: int) -> None:
    if judge.play.broken:
        return
    settled = next((item for item in judge.events if item.kind == "settled"), None)
    log = [value for (place, _), values in judge.play.logs.items() if place == partition for value in values]
    dropped = [item.at for item in judge.events if item.value.startswith("client-starts-over")]
    kinds = ("acked", "delivered", *(("failed",) if dropped else ()))
    done = {item.value for item in judge.events if item.kind in kinds}
    is_over = any(item.kind == "truncated" for item in judge.events) and judge.play.role == "consumer"
    is_producer = judge.play.role == "producer"
    wanted = [item for item in judge.events if item.kind == "written" and (is_producer or item.value in log)]
    if settled is None or is_over or not wanted:
        return
    is_new = any(topic for place, topic in judge.play.logs if place == partition)
    rule = "finds-a-new-topic" if is_new else "recovers"
    if rule == "finds-a-new-topic" and judge.play.role == "consumer":
        return  # an old offset may exist in the new topic, and no KIP defines what it means there
    judge.count(rule)
    stuck = next((item for item in (wanted if is_producer else wanted[-1:]) if item.value not in done), None)
    if stuck is not None:
        judge.breaks(rule, stuck, f"{stuck.value} was not {'acknowledged' if is_producer else 'delivered'}")


def _written(judge: Judge, partition: int) -> None:
    """Check that the log has an idempotent producer's records in order, each only once, and all acknowledged ones."""
    if not judge.play.is_idempotent or (partition, 0) not in judge.play.logs:
        return
    log = judge.play.logs[partition, 0]
    sent: dict[tuple[str, str], int] = {}
    for request in judge.sent:
        if request.producer:
            known = sent.setdefault((request.producer, request.value), request.sequence)
            judge.count("retries-keep-their-sequence")
            if known != request.sequence:
                first = f"{request.producer} sends {request.value} with sequence {request.sequence}"
                why = f"{first} after it had used {known}"
                judge.breaks("retries-keep-their-sequence", request, why)
    latest = NOBODY
    for item in judge.events:
        places = [offset for offset, value in enumerate(log) if value == item.value]
        last = next((one for one in reversed(judge.sent) if item.value in one.value.split()), item)
        if item.kind == "acked":
            judge.count("acknowledged-records-are-written")
            if not places:
                why = f"{item.value} is acknowledged but not in the log"
                judge.breaks("acknowledged-records-are-written", last, why)
        elif item.kind == "written" and places:
            judge.count("no-record-is-written-twice")
            judge.count("records-are-written-in-order")
            if len(places) > 1:
                why = f"{item.value} is at offsets {' and '.join(map(str, places))}"
                judge.breaks("no-record-is-written-twice", last, why)
            if places[0] < latest:
                why = f"{item.value} is at offset {places[0]}, but a record sent earlier is at {latest}"
                judge.breaks("records-are-written-in-order", last, why)
            latest = max(latest, places[0])


LOOKS: tuple[Callable[[Judge, int], None], ...] = (
    *(_brokers, _epochs, _errors, _followers, _validation, _records, _reports, _recovery, _written),
)
AFTER_RESTARTS = (_records, _reports, _recovery)
"""Checks for plays in which the consumer restarts. The new consumer's knowledge is not tracked."""
