"""Deviations as stories: what the cluster did, what the client did and should have done, and what harm that causes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fencepost.kafka.clients.duties import RULES
from fencepost.kafka.clients.events import NOBODY, Event, Play, name_of
from fencepost.kafka.clients.history import APPLICATION, BESIDES, CODES, ERROR_NAMES, ERRORS, FOLLOWERS, PRODUCERS
from fencepost.kafka.clients.rules import BrokenRule

SHOWN = 4
"""A story shows at most this many events on each side: the last ones."""
UNTIL_THE_END = ("recovers", "finds-a-new-topic", "acknowledged-records-are-written")
"""Violations of these rules are at a missing record or at the record's last request, so stories show later events."""
MOVES = {
    "controller_elects_leader": "broker {1} becomes the leader of partition {0}",
    "topic_is_recreated": "the topic of partition {0} is recreated, and broker {1} is its leader",
    "broker_stops": "broker {0} stops",
    "broker_starts": "broker {0} starts at another address",
    "replicas_follow": "the replicas on broker {0} follow its metadata",
    "lost": "the log of partition {event.partition} is truncated to offset {event.offset}",
    "settled": "from now on, every partition has a leader that all brokers know",
}
OTHERS = BESIDES | ERRORS | FOLLOWERS | PRODUCERS


@dataclass(frozen=True)
class Telling:
    cluster: tuple[str, ...]
    client: tuple[str, ...]
    """The last event violates the rule."""
    source: str
    sentence: str
    cost: str

    def lines(self) -> Iterator[str]:
        yield f"the cluster: {'; '.join(self.cluster) or 'nothing changes'}"
        yield f"the client: {'; '.join(self.client)}"
        yield f"{self.source}: {self.sentence}"
        yield f"cost: {self.cost}"


def as_story(play: Play, verdict: BrokenRule) -> Telling:
    rule = next(item for item in RULES if item.name == verdict.rule)
    events = play.events
    if verdict.rule not in UNTIL_THE_END and verdict.event in events:
        events = events[: events.index(verdict.event) + 1]
    about = verdict.event.partition
    ours = [item for item in events if NOBODY in (about, item.partition) or item.partition == about]
    did = list(_in_cluster(ours, about))
    did = [text for text in did if len(did) <= SHOWN or not text.startswith("change")]
    heard = [happening for item in ours if (happening := _at_client(item))]
    if verdict.rule not in UNTIL_THE_END and heard and _at_client(verdict.event) == heard[-1]:
        heard.pop()
    return Telling(_last(did), (*_last(heard), verdict.why), rule.source, rule.sentence, rule.cost)


def _last(happenings: Iterable[str]) -> tuple[str, ...]:
    found: list[tuple[str, int]] = []
    for text in happenings:
        places = (place for place, item in enumerate(found) if item[0] == text and place > len(found) - SHOWN)
        known = next(places, None)
        if known is None:
            found.append((text, 1))
        else:
            found[known] = (text, found[known][1] + 1)
    return tuple(text if times == 1 else f"{text} ({times} times)" for text, times in found[-SHOWN:])


def _in_cluster(events: list[Event], about: int) -> Iterator[str]:
    """Describe the cluster's changes to this partition. Brokers that learn of a change together share a line."""
    learning: dict[str, list[str]] = {}
    for event in events:
        name, *args = event.value.replace("-", "_").split() if event.kind == "moved" else [event.kind]
        if name == "broker_learns":
            learning.setdefault(args[1], []).append(args[0])
            continue
        is_of_brokers = name.startswith(("broker", "replicas", "connection", "answers", "producers", "client"))
        is_of_other = event.kind == "moved" and not is_of_brokers and about not in (NOBODY, int((*args, about)[0]))
        if is_of_other or name not in MOVES | OTHERS:
            continue
        yield from _learned(learning)
        learning = {}
        error = f" ({ERROR_NAMES.get(args[-1], f'error {args[-1]}')})" if name in CODES else ""
        yield MOVES[name].format(*args, event=event) if name in MOVES else OTHERS[name] + error
    yield from _learned(learning)


def _learned(learning: dict[str, list[str]]) -> Iterator[str]:
    for change, brokers in learning.items():
        learn = f"learn{'s' * (len(brokers) == 1)} of metadata change {change}"
        yield f"broker{'s' * (len(brokers) > 1)} {', '.join(brokers)} {learn}"


def _at_client(event: Event) -> str:
    where, of = f"broker {event.broker}", "" if event.epoch == NOBODY else f" in epoch {event.epoch}"
    numbers = f" ({event.value}, producer {event.producer}, sequence {event.sequence})" if event.producer else ""
    if event.kind in ("metadata", "hint"):
        leader = name_of(event.leader)
        error = f" (error {ERROR_NAMES.get(event.error, event.error)})" if event.error else ""
        by = "metadata" if event.kind == "metadata" else "a hint"
        return f"learns from {where}, through {by}, that {leader} is the leader{of}{error}"
    if event.kind == "answer" and event.error:
        return f"is refused by {where} ({ERROR_NAMES.get(event.error, event.error)})"
    if event.kind == "moved" and (name := event.value.split()[0].replace("-", "_")) in APPLICATION:
        return APPLICATION[name]
    words = {
        "request": f"sends {event.api} to {where}{of}{numbers}" if event.api != "metadata" else "",
        "preferred": f"learns that broker {event.leader} is the preferred replica",
        "delivered": f"delivers offset {event.offset}",
        "failed": f"fails {event.value}",
        "acked": f"reports {event.value} as written",
        "reported": f"reports an error ({event.error[:60]})",
        "truncated": "reports a truncation",
    }
    return words.get(event.kind, "")
