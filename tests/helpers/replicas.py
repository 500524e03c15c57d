"""A Kafka partition played at random, with copies of its logs and the truth about what was committed."""

import random
from dataclasses import dataclass, field
from typing import Any, Literal

from fencepost.kafka.audit.logs import Compared, Copy, Run
from fencepost.kafka.audit.records import Partition

Harm = Literal["", "unclean", "disk"]
Record = tuple[int, int]
"""A record: its epoch, and a number of its own."""


@dataclass
class Replica:
    """A broker; `known` is the high watermark on its disk."""

    log: list[Record] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    high_watermark: int = 0
    known: int = 0
    up: bool = True
    stopped: bool = False
    follows: int = -1

    def truncate(self, end: int) -> None:
        del self.log[end:]
        self.epochs = [(epoch, start) for epoch, start in self.epochs if start < end]
        self.high_watermark = min(self.high_watermark, end)
        self.known = min(self.known, end)  # Kafka writes it within five seconds, and copies are taken later

    def end_of(self, epoch: int) -> tuple[int, int]:
        newest = max((mine for mine, _ in self.epochs if mine <= epoch), default=-1)
        return newest, min((start for mine, start in self.epochs if mine > newest), default=len(self.log))

    def agree(self, leader: "Replica") -> None:
        """Truncate as a follower of a new leader does (KIP-279)."""
        while self.epochs:
            epoch, end = leader.end_of(self.epochs[-1][0])
            mine, own = self.end_of(epoch)
            self.truncate(min(end, own) if mine == epoch else own if mine >= 0 else 0)
            if mine == epoch:
                return
        self.truncate(0)


class Played:
    """A partition of three brokers. `harm`: elections may be unclean, or a disk may be empty after a restart."""

    def __init__(self, seed: str, harm: Harm) -> None:
        self.chance, self.harm = random.Random(seed), harm  # noqa: S311 (no secret)
        self.brokers = {number: Replica() for number in (1, 2, 3)}
        self.leader, self.epoch, self.isr = 1, 0, [1, 2, 3]
        self.fetched: dict[int, int] = {}
        self.history: list[dict[str, Any]] = []
        self.committed: set[Record] = set()
        self.copies: list[tuple[int, list[Record], Copy]] = []
        self.brokers[1].epochs = [(0, 0)]
        self.note("created")
        for _ in range(self.chance.randrange(20, 160)):
            self.step()
        for number in self.brokers:
            if number == self.leader or self.chance.random() < 0.7:
                self.copy(number)

    def note(self, election: str = "") -> None:
        row = {"leader": self.leader, "leader_epoch": self.epoch, "isr": list(self.isr), "elr": [], "time": 0}
        self.history.append({**row, "offset": len(self.history), "election": election})

    def elect(self, among: list[int], election: str) -> None:
        able = [number for number in among if self.brokers[number].up]
        if not able and self.leader == -1:
            return
        self.leader, self.epoch = self.chance.choice(able) if able else -1, self.epoch + 1
        if able:
            leader = self.brokers[self.leader]
            leader.epochs.append((self.epoch, len(leader.log)))
            self.isr = [self.leader] if election == "unclean" else self.isr
        self.fetched = {}
        self.note(election if able else "")

    def step(self) -> None:
        leader, what = self.brokers.get(self.leader), self.chance.random()
        if what < 0.66 and leader is not None:
            if what < 0.3:
                leader.log.append((self.epoch, self.chance.randrange(1 << 60)))
            elif what < 0.62:
                self.fetch(self.chance.choice([number for number in self.brokers if number != self.leader]), leader)
            elif out := [number for number in self.isr if number != self.leader]:
                self.isr.remove(self.chance.choice(out))
                self.note()
            self.commit(leader)
        elif 0.66 <= what < 0.86:
            self.restart(self.chance.choice(list(self.brokers)))
        elif what < 0.93:
            for broker in self.brokers.values():
                broker.known = broker.high_watermark if broker.up else broker.known
        elif what < 0.96 and leader is not None:
            self.elect(self.isr, "isr")
        elif what < 0.98 and self.harm == "unclean":
            self.elect(list(self.brokers), "unclean")
        else:
            self.copy(self.chance.choice(list(self.brokers)))

    def fetch(self, number: int, leader: Replica) -> None:
        """Let a follower copy some records, and join the ISR if it has everything committed."""
        follower = self.brokers[number]
        if not follower.up:
            return
        if follower.follows != self.epoch:
            follower.agree(leader)
            follower.follows = self.epoch
        for record in leader.log[len(follower.log) : len(follower.log) + self.chance.randrange(4)]:
            if not follower.epochs or follower.epochs[-1][0] < record[0]:
                follower.epochs.append((record[0], len(follower.log)))
            follower.log.append(record)
        self.fetched[number] = end = len(follower.log)
        follower.high_watermark = max(follower.high_watermark, min(leader.high_watermark, end))
        self.commit(leader)
        if number not in self.isr and end >= max(leader.high_watermark, dict(leader.epochs)[self.epoch]):
            self.isr = sorted([*self.isr, number])
            self.note()

    def commit(self, leader: Replica) -> None:
        ends = [len(leader.log) if number == self.leader else self.fetched.get(number, 0) for number in self.isr]
        if len(ends) > 1:
            leader.high_watermark = max(leader.high_watermark, min(ends))
            self.committed |= set(leader.log[: leader.high_watermark])

    def restart(self, number: int) -> None:
        """Stop or crash a running broker, and start one that is down."""
        broker = self.brokers[number]
        if broker.up:
            broker.up, broker.stopped = False, self.chance.random() < 0.6
            broker.known = broker.high_watermark if broker.stopped else broker.known
            if number in self.isr and len(self.isr) > 1:
                self.isr.remove(number)
            self.elect(self.isr, "isr") if number == self.leader else self.note()
            return
        if self.chance.random() < 0.7:
            self.copy(number)
        broker.up, broker.stopped, broker.follows = True, False, -1
        broker.high_watermark = min(broker.known, len(broker.log))
        if self.harm == "disk" and self.chance.random() < 0.3:
            self.brokers[number] = Replica()
        if self.leader == -1:
            self.elect(self.isr, "isr")

    def copy(self, number: int) -> None:
        broker, path = self.brokers[number], f"/{len(self.copies)}"
        made = Copy(path, number, "t", 0, "", "T", broker.known, 0, broker.stopped, tuple(broker.epochs), (), 0, ())
        self.copies.append((number, list(broker.log), made))

    def partition(self) -> Partition:
        """Return the copies side by side, offset by offset."""
        runs: list[Run] = []
        logs = [log for _, log, _ in self.copies]
        for at in range(max(map(len, logs), default=0)):
            here = [log[at] if at < len(log) else None for log in logs]
            same = [here.index(record) if record else -1 for record in here]
            epochs = [record[0] if record else -1 for record in here]
            if runs and (runs[-1].epochs, runs[-1].same) == (epochs, same):
                runs[-1] = runs[-1]._replace(last=at)
            else:
                runs.append(Run(at, at, 0, 0, epochs, same))
        return Partition(Compared([copy for *_, copy in self.copies], False, runs), self.history, [])
