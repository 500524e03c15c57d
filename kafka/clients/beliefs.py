"""What a client that keeps the rules knows of a partition's leader, from what it was told: the model's own functions decide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fencepost.kafka.clients.events import NOBODY
from fencepost.model.clients.discovery.constants import Accepts
from fencepost.model.clients.discovery.leadership import accepts_hint, accepts_metadata

if TYPE_CHECKING:
    from fencepost.kafka.clients.events import Event, Play

SLACK = 0.05
"""Seconds that a client may take to pass news on among its threads."""


class Belief(NamedTuple):
    """A leader with its epoch, since when, and by which event it became known."""

    topic: int
    leader: int
    epoch: int
    at: float
    by: Event | None


@dataclass
class Beliefs:
    """The beliefs about one partition, in order, what was told and is to be ignored, and what may be believed or not.

    A belief is certain some time after it was told, or once the client has acted on it.
    """

    trail: list[Belief] = field(default_factory=list)
    ignored: list[Event] = field(default_factory=list)
    optional: list[Belief] = field(default_factory=list)
    acted: list[tuple[float, int]] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        """Take what the client was told."""
        now = self.trail[-1] if self.trail else None
        heard = Belief(event.topic, event.leader, event.epoch, event.at, event)
        is_of_other_topic = now is not None and event.kind == "hint" and event.topic != now.topic
        if is_of_other_topic and event.leader != NOBODY:
            self.optional.append(heard)  # a hint does not say which topic it is about, and a client may find out or not
        elif _is_accepted(now, event):
            (self.trail if event.kind == "metadata" or event.named else self.optional).append(heard)
        elif now is not None and (event.epoch < now.epoch or (event.kind == "hint" and event.leader != now.leader)):
            self.ignored.append(event)

    def act(self, request: Event) -> None:
        """Take a request for data, which shows what the client believes."""
        for place in range(len(self.trail) - 1, 0, -1):
            item, before = self.trail[place], self.trail[place - 1]
            is_its = item.leader == request.broker and request.epoch in (NOBODY, item.epoch)
            if (
                item.at <= request.at
                and is_its
                and (item.leader != before.leader or request.epoch not in (NOBODY, before.epoch))
            ):
                self.acted.append((request.at, place))
                return

    def possible(self, request: Event) -> list[Belief]:
        """Return what the client may believe when it sends a request: what it knew before, and all that it was told since."""
        known = [place for place, item in enumerate(self.trail) if item.at <= request.since - SLACK]
        known += [place for at, place in self.acted if at <= request.since]
        found = [item for item in self.trail[max(known, default=0) :] if item.at <= request.at]
        may = [item for item in self.optional if item.at <= request.at]
        return found + [
            item for item in may if found and (item.epoch >= found[0].epoch or item.topic != found[0].topic)
        ]


def _is_accepted(now: Belief | None, event: Event) -> bool:
    """Say whether news is to be believed, or may be: of a hint without an endpoint the client may know where the leader is."""
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


def beliefs(play: Play) -> dict[int, Beliefs]:
    """Return what a client that keeps the rules believes of each partition."""
    found = {partition: Beliefs() for partition in range(play.partitions)}
    for event in play.events:
        if event.kind in ("hint", "metadata"):
            found[event.partition].hear(event)
        elif event.kind == "request" and event.api in ("produce", "fetch"):
            found[event.partition].act(event)
    return found
