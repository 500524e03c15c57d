"""A replay of a partition's records that finds violated invariants and states in which records may be lost."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from fencepost.kafka.audit.cluster_context import UNCLEAN, ClusterContext, Moment
from fencepost.kafka.audit.findings import SORTS, Found
from fencepost.kafka.audit.judging import (
    CLEARED,
    NO_LEADER,
    NOTHING,
    SAME_LEADER,
    Brokers,
    Conditions,
    Core,
    JudgedChange,
    change_of,
    electable,
    judge_change,
    read_partition,
    standing,
    with_inactive,
    with_stale,
)
from fencepost.kafka.formatting import show_brokers, when

SETTLES = 1000
"""Maximum time, in milliseconds, between batches that belong to one change to many partitions."""

OF_A_CHANGE = ("elr-not-by-rule", "not-electable")
"""Findings about a change rather than a partition's state; they are reported for every change."""
OF_BROKERS = ("inactive-member", "stale-member", "nobody-elected")
"""Findings about broker states between two records of a partition."""


class Row(NamedTuple):
    """A partition's state after a record: how its leader was elected, and `why` brokers left the ISR."""

    topic_id: str
    topic: str
    partition: int
    offset: int
    time: int
    epoch: int
    replicas: Brokers
    isr: Brokers
    removing: Brokers
    adding: Brokers
    leader: int
    leader_epoch: int
    partition_epoch: int
    recovering: int
    elr: Brokers
    last_known: Brokers
    min_isr: int
    unclean: bool
    election: str
    why: str
    findings: list[Found]


class Follower:
    """Replay of one partition's records. Changes are suspicious for `within` milliseconds after min ISR is raised or
    leadership is lost.
    """

    def __init__(
        self, around: ClusterContext, topic_id: str, partition: int, moments: list[Moment], within: int
    ) -> None:
        self._around, self._within = around, within
        self._topic_id, self._partition = topic_id, partition
        topic = around.topics.get(topic_id)
        self._topic = topic.name if topic else f"(unknown topic {topic_id})"
        self._moments = moments
        self._next = 1
        self._now = moments[0]
        self._core: Core | None = None
        self._leader_epoch = self._partition_epoch = 0
        self._offset, self._time, self._epoch = -1, -1, -1
        self._deleted = False
        self._found: list[Found] = []
        self._tainted: dict[int, str] = {}
        self._cleared: dict[int, int] = {}
        """Brokers that stayed in the controller's ELR index when the ELR was cleared, with that offset (HYP-13)."""
        self._emptied: tuple[int, Brokers] | None = None
        """Offset at which a directory assignment emptied the ELR, and its members until then (HYP-17)."""
        self._turned_off = -1
        self._lost: dict[int, tuple[int, int]] = {}
        self._raised: tuple[int, int, int] | None = None
        self._spells = Conditions()
        self._blamed: set[tuple[str, Brokers]] = set()
        """Reported findings that still apply, with their brokers."""

    def take(self, offset: int, time: int, epoch: int, text: str, *, creates: bool, snapshot: bool) -> Iterator[Row]:
        """Yield the rows for pending events, then a row for this record."""
        yield from self._pass(offset, time)
        self._epoch = epoch
        if creates and (snapshot or not self._around.may_lack_settings(offset)):
            yield self._create(offset, time, text, snapshot=snapshot)
            return
        if self._core is None:
            known = self._deleted or not self._around.is_unknown_between(-1, offset)
            if known:
                said = f"before this change, the partition {'was deleted' if self._deleted else 'did not exist'}"
                self._say("unknown-partition", offset, time, (), said)
            yield self._row(offset, time, *(("deleted",) if known else ("unjudged", _in_itself(text))))
            return
        yield self._change(offset, time, judge_change(self._core, change_of(text), self._now.rules), text)

    def finish(self) -> Iterator[Row]:
        yield from self._pass(self._around.end + 1, self._around.until)
        self._look_around(self._around.end + 1, self._around.until)
        self._close(self._around.end, self._around.until, "until the end of the log")
        if self._found and self._core is not None:
            yield self._row(self._around.end, self._around.until, "end")

    # events between records of the partition

    def _pass(self, offset: int, time: int) -> Iterator[Row]:
        while self._next < len(self._moments) and self._moments[self._next].offset < offset:
            moment = self._moments[self._next]
            self._next += 1
            before, self._now = self._now, moment
            if self._core is None or moment.offset < self._offset:
                continue
            if moment.rules.min_isr > before.rules.min_isr:
                self._raise(before, moment)
            if before.rules.elr and not moment.rules.elr and self._core.elr:
                self._leave_behind(self._core, moment)
            if moment.removed:
                self._look_around(moment.offset, moment.time)
                self._delete(self._core, moment)
                self._close(moment.offset, moment.time, "until the topic was deleted")
                if self._found:
                    yield self._row(moment.offset, moment.time, "deleted")
                self._core, self._deleted = None, True
            elif moment.clears and (self._core.elr or self._core.last_known):
                yield self._clear(moment)
        if self._core is not None:
            if self._around.gaps and self._around.is_unknown_between(self._offset, offset):
                self._close(self._offset, self._time, "or longer, because the later records are missing")
                if self._found:
                    yield self._row(self._offset, self._time, "end")
                self._core = None
            elif offset > self._offset:
                self._look_around(offset, time)

    def _raise(self, before: Moment, moment: Moment) -> None:
        assert self._core is not None
        self._raised = (moment.offset, moment.time, before.rules.min_isr)
        wanted = min(moment.rules.min_isr, len(self._core.replicas))
        if len(self._core.isr) < wanted:
            text = (
                f"min ISR was raised from {before.rules.min_isr} to {moment.rules.min_isr}, while the ISR was "
                f"{show_brokers(self._core.isr)}"
            )
            self._say("min-isr-above-isr", moment.offset, moment.time, self._core.isr, text)

    def _leave_behind(self, core: Core, moment: Moment) -> None:
        self._turned_off = moment.offset
        self._tainted.update(dict.fromkeys(core.elr, "stale-elr-elected"))
        text = f"{show_brokers(core.elr)} can still be elected; ISR {show_brokers(core.isr)}, leader {core.leader}"
        self._say("elr-left-behind", moment.offset, moment.time, core.elr, text)

    def _delete(self, core: Core, moment: Moment) -> None:
        left = {broker: at for broker, at in self._cleared.items() if broker not in core.elr}
        if left:
            text = (
                f"{show_brokers(tuple(left))} left the ELR that was cleared at offset {min(left.values())}, but "
                "stayed in the controller's index of ELR members"
            )
            self._say("cleared-then-deleted", moment.offset, moment.time, tuple(left), text)
        self._cleared.clear()

    def _clear(self, moment: Moment) -> Row:
        assert self._core is not None
        if self._core.leader == NO_LEADER:
            who = tuple(dict.fromkeys((*self._core.elr, *self._core.last_known)))
            able = f"there was no leader, but {show_brokers(who)} could have been elected"
            text = f"{able}; now, only an unclean election is possible"
            self._say("cleared-while-leaderless", moment.offset, moment.time, who, text)
        cleared = dict.fromkeys(self._core.elr, moment.offset)
        made = judge_change(self._core, CLEARED, moment.rules)
        row = self._change(
            moment.offset, moment.time, JudgedChange(made.core, 0, "", standing(made.core, moment.rules)), ""
        )
        self._cleared.update(cleared)
        return row

    def _look_around(self, end: int, time: int) -> None:
        core, rules = self._core, self._now.rules
        if core is None:
            return
        for broker in core.isr:
            presence = self._around.brokers.get(broker)
            if presence is None:
                continue
            for away in presence.away_within(self._offset, end):
                since = max(self._time, away.since)
                if min(time, away.until) - since > SETTLES and not with_inactive(core, rules, (broker,)):
                    text = (
                        f"broker {broker} is fenced, shutting down or not registered, but still in the ISR "
                        f"{show_brokers(core.isr)}; leader {core.leader}"
                    )
                    self._say_once("inactive-member", max(away.first, self._offset), since, broker, text)
            for offset, since in presence.registered_within(self._offset, end):
                if time - since > SETTLES and not with_stale(core, rules, broker):
                    text = (
                        f"broker {broker} re-registered at offset {offset} but stayed in the ISR "
                        f"{show_brokers(core.isr)}"
                    )
                    self._say_once("stale-member", offset, since, broker, text)
        if core.leader == NO_LEADER:
            self._look_for_leader(core, end, time)

    def _look_for_leader(self, core: Core, end: int, time: int) -> None:
        for broker in core.isr or core.elr:
            presence = self._around.brokers.get(broker)
            if presence is None or electable(core, self._now.rules, (broker,)) != broker:
                continue
            last = (self._offset, self._time)
            for away in (*presence.away_within(self._offset, end), None):
                until = (away.first, away.since) if away is not None else (end, time)
                if until[0] > last[0] and until[1] - last[1] > SETTLES:
                    text = (
                        f"broker {broker} is active and eligible (ISR {show_brokers(core.isr)}, ELR "
                        f"{show_brokers(core.elr)}), but there is no leader"
                    )
                    self._say_once("nobody-elected", last[0], last[1], broker, text)
                if away is not None:
                    last = (away.end, away.until)

    # The partition's own records

    def _create(self, offset: int, time: int, text: str, *, snapshot: bool) -> Row:
        core, leader_epoch, partition_epoch = read_partition(text)
        if self._core is not None and snapshot:
            here = (self._core, self._leader_epoch, self._partition_epoch)
            if here != (core, leader_epoch, partition_epoch):
                names = [name for name, one, other in zip(Core._fields, self._core, core, strict=True) if one != other]
                names += [] if here[1:] == (leader_epoch, partition_epoch) else ["epochs"]
                text = f"the snapshot after offset {offset} differs in: {', '.join(names)}"
                self._say("snapshot-differs", offset, time, (), text)
        elif self._core is not None:
            self._say("created-twice", offset, time, (), "a PartitionRecord creates a partition that already exists")
        broken = standing(core, self._now.rules)
        self._core, self._leader_epoch, self._partition_epoch = core, leader_epoch, partition_epoch
        self._deleted = False
        self._blame(broken, offset, time, core)
        self._watch(core, offset, time)
        return self._row(offset, time, "snapshot" if snapshot else "created")

    def _change(self, offset: int, time: int, made: JudgedChange, text: str) -> Row:
        before = self._core
        assert before is not None
        if "elr-not-by-rule" in made.broken:
            near = self._around.registered_near({*before.isr, *before.elr}, offset, time)
            if near:
                made = judge_change(before, change_of(text), self._now.rules, near)
        self._core = made.core
        self._leader_epoch += made.opens
        self._partition_epoch += 1
        if made.broken:
            self._blame(made.broken, offset, time, made.core)
        else:
            self._blamed.clear()
        if made.core.leader != before.leader:
            self._lead(before, made, offset, time)
        if made.core.elr or made.core.leader != NO_LEADER:
            self._emptied = None
        if before.elr and not made.core.elr and made.core.isr == before.isr and text and change_of(text).assigns:
            self._emptied = (offset, before.elr)
            led = "no leader" if before.leader == NO_LEADER else f"leader {before.leader}"
            stands = f"ISR {show_brokers(before.isr)}, {led}"
            said = f"a directory assignment emptied the ELR {show_brokers(before.elr)}; {stands}"
            self._say("elr-emptied", offset, time, before.elr, said)
        if self._cleared:
            for broker in set(before.elr) - set(made.core.elr):
                self._cleared.pop(broker, None)
        if made.core.isr != before.isr or made.core.elr != before.elr:
            self._shrink(before, made.core, offset, time)
        if made.core.elr:
            for broker in set(made.core.elr) - set(made.core.replicas):
                self._tainted[broker] = "removed-replica-elected"
        elif self._tainted:
            self._tainted.clear()
        self._watch(made.core, offset, time)
        why = "" if made.core.isr == before.isr else self._why_left(before, made.core, offset, time)
        return self._row(offset, time, made.election, why)

    def _why_left(self, before: Core, after: Core, offset: int, time: int) -> str:
        reasons: dict[str, Brokers] = {}
        for broker in before.isr:
            if broker in after.isr:
                continue
            presence = self._around.brokers.get(broker)
            told = presence.why_away(offset, time) if presence is not None else ""
            if broker not in after.replicas:
                told = "it is no longer a replica"
            elif not told and after.leader in before.isr and after.leader == before.leader:
                told = "the broker was active, but lagged according to the leader"
            reasons[told] = (*reasons.get(told, ()), broker)
        return "; ".join(f"{show_brokers(who)[1:-1]}: {told}" for told, who in reasons.items() if told)

    def _blame(self, broken: tuple[str, ...], offset: int, time: int, core: Core) -> None:
        told = (
            f"replicas {show_brokers(core.replicas)}, leader {core.leader}, ISR {show_brokers(core.isr)}, ELR "
            f"{show_brokers(core.elr)}, min ISR {self._now.rules.min_isr}"
        )
        outside = tuple(sorted(set(core.elr) - set(core.replicas)))
        now = [(sort, outside if sort == "elr-without-replica" else ()) for sort in broken]
        for sort, who in now:
            if (sort, who) not in self._blamed or sort in OF_A_CHANGE:
                self._say(sort, offset, time, who, told)
        self._blamed = {*now, *(item for item in self._blamed if item[0] in OF_BROKERS)}

    def _lead(self, before: Core, made: JudgedChange, offset: int, time: int) -> None:
        leader, election = made.core.leader, made.election
        if leader == NO_LEADER and len(before.isr) <= 1:
            text = f"broker {before.leader} was the last member of the ISR; now there is no leader"
            self._say("last-replica-down", offset, time, (before.leader,), text)
        if election in ("unclean", "last-known"):
            sort = "unclean-election" if election == "unclean" else "last-known-leader-elected"
            text = (
                f"broker {leader} was elected; before, the ISR was {show_brokers(before.isr)} and the ELR "
                f"{show_brokers(before.elr)}"
            )
            more = f"; {self._allowed()}" if election == "unclean" else ""
            if election == "last-known" and self._emptied:
                sort, (emptied, were) = "emptied-elr-elected", self._emptied
                more = f"; the ELR was {show_brokers(were)} until a directory was assigned at offset {emptied}"
            self._say(sort, offset, time, (leader,), f"{text}{more}")
        elif election == "elr" and leader in self._tainted and self._is_doubtful(leader, offset):
            text = (
                f"broker {leader} was elected from the ELR {show_brokers(before.elr)}; the previous leader was "
                f"{_last(before)}"
            )
            self._say(self._tainted.pop(leader), offset, time, (leader,), text)
        if leader in self._lost:
            lost, since = self._lost.pop(leader)
            presence = self._around.brokers.get(leader)
            again = presence is not None and presence.registered_within(lost, offset)
            if time - since <= self._within and not again and election == "isr":
                text = f"broker {leader} lost leadership at offset {lost} and regained it after {time - since:,} ms"
                self._say("regained-leadership", offset, time, (leader,), text)
        if before.leader != NO_LEADER:
            self._lost[before.leader] = (offset, time)

    def _allowed(self) -> str:
        now = self._now
        if now.unclean:
            return (
                f"{UNCLEAN}=true was set for the {now.whose} at offset {now.unclean_offset:,}, {when(now.unclean_time)}"
            )
        return (
            f"the log does not set {UNCLEAN}=true: either server.properties sets it, or kafka-leader-election.sh "
            "--election-type unclean was run"
        )

    def _is_doubtful(self, leader: int, offset: int) -> bool:
        presence = self._around.brokers.get(leader)
        stale = self._tainted[leader] == "stale-elr-elected"
        return not stale or (presence is not None and bool(presence.registered_within(self._turned_off, offset)))

    def _shrink(self, before: Core, after: Core, offset: int, time: int) -> None:
        if self._tainted:
            self._tainted = {broker: sort for broker, sort in self._tainted.items() if broker in after.elr}
        if self._raised and after.elr and after.leader == before.leader:
            joined = tuple(broker for broker in after.elr if broker not in before.elr)
            raised, since, was = self._raised
            wanted = min(self._now.rules.min_isr, len(after.replicas))
            if joined and time - since <= self._within and was <= len(after.isr) < wanted:
                text = (
                    f"min ISR was raised from {was} to {self._now.rules.min_isr} at offset {raised}; {time - since:,} "
                    f"ms later {show_brokers(joined)} moved from the ISR to the ELR; the ISR is now "
                    f"{show_brokers(after.isr)}"
                )
                self._say("late-min-isr", offset, time, joined, text)
                self._tainted.update(dict.fromkeys(joined, "late-min-isr-elected"))

    def _watch(self, core: Core, offset: int, time: int) -> None:
        self._found += self._spells.watch(core, self._now.rules.min_isr, offset, time)

    def _close(self, offset: int, time: int, why: str) -> None:
        self._found += self._spells.close(offset, time, why)

    # texts

    def _say_once(self, sort: str, offset: int, time: int, broker: int, text: str) -> None:
        if (sort, (broker,)) not in self._blamed:
            self._blamed.add((sort, (broker,)))
            self._say(sort, offset, time, (broker,), text)

    def _say(self, sort: str, offset: int, time: int, brokers: Brokers, text: str) -> None:
        self._found.append(Found(sort, SORTS[sort].severity, offset, time, offset, -1, brokers, text))

    def _row(self, offset: int, time: int, election: str, why: str = "") -> Row:
        found, self._found = self._found, []
        self._offset, self._time = offset, time
        core = self._core or NOTHING
        return Row(
            self._topic_id, self._topic, self._partition, offset, time, self._epoch, core.replicas, core.isr,
            core.removing, core.adding, core.leader, self._leader_epoch, self._partition_epoch, core.recovering,
            core.elr, core.last_known, self._now.rules.min_isr, self._now.unclean, election, why, found,
        )  # fmt: skip


def _in_itself(text: str) -> str:
    change = change_of(text)
    leader = (
        [] if change.leader == SAME_LEADER else [f"leader {'none' if change.leader == NO_LEADER else change.leader}"]
    )
    named = {"replicas": change.replicas, "ISR": change.isr, "ELR": change.elr}
    return ", ".join([*leader, *(f"{name} {show_brokers(who)}" for name, who in named.items() if who is not None)])


def _last(core: Core) -> str:
    return str(core.leader if core.leader != NO_LEADER else core.last_known[0] if core.last_known else "none")


def follow(around: ClusterContext, within: int, rows: Iterator[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield rows for records, which must be grouped by partition and in log order within each partition. A record is
    (topic id, partition, offset, time, epoch, creates, snapshot, fields).
    """
    key: tuple[str, int] | None = None
    follower: Follower | None = None
    moments: dict[str, list[Moment]] = {}
    for topic_id, partition, offset, time, epoch, creates, snapshot, text in rows:
        if key != (topic_id, partition):
            if follower is not None:
                yield from follower.finish()
            if key is None or key[0] != topic_id:
                moments = {topic_id: around.timeline(topic_id)}
            key = (topic_id, partition)
            follower = Follower(around, topic_id, partition, moments[topic_id], within)
        assert follower is not None
        yield from follower.take(offset, time, epoch, text, creates=creates, snapshot=snapshot)
    if follower is not None:
        yield from follower.finish()
