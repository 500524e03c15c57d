"""Records judged by copies of logs: the smallest case in which each rule applies, and one in which it does not."""

import random
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

pytest.importorskip("pyarrow")

from fencepost.kafka.audit.logs import Compared, Copy, Run
from fencepost.kafka.audit.records import UNKNOWN, Partition

ELECTIONS = {0: (1, "created"), 1: (2, "isr"), 2: (3, "isr")}
"""By epoch: who led it, and how it was elected, at ten times the epoch as offset."""


def copy(broker: int, epochs: tuple[tuple[int, int], ...], mark: int = -1, **more: Any) -> Copy:
    given = {"stopped": False, "mark": "", "topic_id": "T", "start": 0, **more}
    return Copy(f"/{broker}", broker, "t", 0, given.pop("mark"), given.pop("topic_id"), mark, given.pop("start"),
                given.pop("stopped"), epochs, (), 0, ())  # fmt: skip


def partition(
    copies: list[Copy],
    runs: list[Run],
    elections: dict[int, tuple[int, str]] = ELECTIONS,
    found: tuple[tuple[str, int, int], ...] = (),
    *,
    compacted: bool = False,
) -> Partition:
    same = {"time": 0, "isr": [3], "elr": []}
    history = [
        {**same, "offset": 10 * epoch, "leader": leader, "leader_epoch": epoch, "election": how}
        for epoch, (leader, how) in elections.items()
    ]
    said = [{"sort": sort, "offset": offset, "brokers": [broker]} for sort, offset, broker in found]
    return Partition(Compared(copies, compacted, runs), history, said)


def tail(epochs: list[int], same: list[int], first: int = 5) -> list[Run]:
    """Return runs with offsets 0 to 4 of epoch 0 everywhere, then five offsets in which the copies differ."""
    return [Run(0, first - 1, 0, 0, [0] * len(same), [0] * len(same)), Run(first, first + 4, 0, 0, epochs, same)]


LEADER = copy(3, ((0, 0), (2, 5)))
ONLY = tail([-1, 0], [-1, 1])
OTHER = tail([2, 0], [0, 1])


@pytest.mark.parametrize("runs", [ONLY, OTHER], ids=["nothing there", "later records there"])
@pytest.mark.parametrize(
    ("having", "more", "lost"),
    [
        pytest.param(copy(1, ((0, 0),)), {}, [], id="a clean election cut it off"),
        pytest.param(copy(1, ((0, 0),), 8), {}, [(5, 7, True)], id="a high watermark was above a part"),
        pytest.param(copy(1, ((0, 0),), 99), {}, [], id="the high watermark is that of a longer log"),
        pytest.param(copy(1, ((0, 0),)), {"elections": {**ELECTIONS, 2: (3, "unclean")}}, [(5, 9, False)],
            id="unclean"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("elr-without-replica", 10, 3),)}, [(5, 9, False)],
            id="a finding in between"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("unclean-election", 30, 3),)}, [], id="a finding afterwards"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("regained-leadership", 10, 1),)}, [(5, 9, False)],
            id="of who regained"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("regained-leadership", 20, 3),)}, [],
            id="of another that regained"),
        pytest.param(copy(2, ((0, 0),)), {"elections": {**ELECTIONS, 0: (3, "created")}}, [(5, 9, False)],
            id="it wrote them"),
        pytest.param(copy(1, ((0, 0),)), {"elections": {2: (3, "isr")}}, [], id="the log does not reach back"),
    ],
)  # fmt: skip
def test_what_the_leader_lacks_is_lost_only_for_a_reason(
    runs: list[Run], having: Copy, more: dict[str, Any], lost: list[tuple[int, int, bool]]
) -> None:
    made = partition([LEADER, having], runs, **more)
    assert [(one.first, one.last, one.acknowledged) for one in made.lost() if one.reported] == lost
    if more.get("elections") == {2: (3, "isr")}:
        assert (f"offsets 5 to 9 of epoch 0: {UNKNOWN}", True) in made.notes()


def test_what_is_no_loss_is_silent() -> None:
    newer = partition([LEADER, copy(1, ((0, 0), (2, 5)), 10)], tail([-1, 2], [-1, 1]))
    deleted = partition([copy(3, ((2, 10),), start=10), copy(1, ((0, 0),), 10)], ONLY)
    compacted = partition([LEADER, copy(1, ((0, 0),), 5)], tail([2, 0], [0, 1], 1), compacted=True)
    late = partition([copy(3, ((0, 0),)), copy(1, ((0, 0),), 10)], ONLY)
    assert [list(one.findings()) for one in (newer, deleted, compacted, late)] == [[], [], [], []]
    assert [one.reference for one in (newer, late)] == [0, -1]


# -- a partition played at random, with copies of its logs and the truth about what was committed


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


@pytest.mark.parametrize(("harm", "least"), [("", 1), ("unclean", 1), ("disk", 0.95)])
def test_random_histories_are_judged_rightly(harm: Harm, least: float) -> None:
    """A healthy history has no finding, lost records are found, and no other record is reported as acknowledged."""
    lost = found = 0
    for seed in range(400):
        played = Played(f"{harm} {seed}", harm)
        made = played.partition()
        if made.reference < 0 or made.now["leader"] < 0:
            continue
        logs = [log for _, log, _ in played.copies]
        gone = (played.committed & {record for log in logs for record in log}) - set(logs[made.reference])
        runs = [one for one in made.lost() if one.reported]
        reported = {logs[one.copies[0]][at]: one.acknowledged for one in runs for at in range(one.first, one.last + 1)}
        assert {record for record, sure in reported.items() if sure} <= gone, seed
        assert harm or not list(made.findings()), seed
        lost, found = lost + len(gone), found + len(gone & set(reported))
    assert found >= least * lost
    assert bool(lost) == bool(harm)
