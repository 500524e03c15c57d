"""Partitions, rebuilt from records as in Kafka's PartitionRegistration. Changes are checked against the model's rules.

The predicates of `invariants.replication` and the rules of `model.cluster.partition_change` expect a model state. They
are given an object that has only the controller's attributes. A broker's number is its position in the replica list,
which is also the order in which the controller prefers leaders.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from fencepost.invariants.replication import eligible_leaders_have_replicas, isr_is_sane, isr_members_are_current
from fencepost.kafka.audit.findings import SORTS, Found, Severity
from fencepost.kafka.formatting import seconds, show_brokers
from fencepost.model.cluster.constants import C
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.partition_change import change_partition, elected, elr_target, may_elect_last_known
from fencepost.model.cluster.state import State
from fencepost.model.language import NONE, bits

NO_LEADER = -1
SAME_LEADER = None
"""The value of `leader` if a change keeps both the leader and its epoch."""
RECOVERING = 1
Brokers = tuple[int, ...]


class Core(NamedTuple):
    replicas: Brokers
    isr: Brokers
    removing: Brokers
    adding: Brokers
    leader: int
    recovering: int
    elr: Brokers
    last_known: Brokers


class PartitionChange(NamedTuple):
    """A change to a partition; None means unchanged."""

    replicas: Brokers | None
    isr: Brokers | None
    removing: Brokers | None
    adding: Brokers | None
    leader: int | None
    recovering: int | None
    elr: Brokers | None
    last_known: Brokers | None
    assigns: bool = False
    """Whether the record lists directories because a broker has assigned its replica to a directory."""


CLEARED = PartitionChange(None, None, None, None, SAME_LEADER, None, (), ())
"""Effect of a ClearElrRecord on a partition that has an ELR or a last known leader (see removeTopicElrs)."""


FIELDS = (
    *("replicas", "isr", "removingReplicas", "addingReplicas", "leader", "leaderRecoveryState"),
    *("eligibleLeaderReplicas", "lastKnownElr"),
)
"""The records' field names, in the order of Core's fields."""


DEFAULTS = {"leader": -2, "leaderRecoveryState": -1}
"""Field values that mean "unchanged" in a PartitionChangeRecord, as null does."""
NOTHING = Core((), (), (), (), NO_LEADER, 0, (), ())


@lru_cache(maxsize=1 << 17)
def change_of(text: str) -> PartitionChange:
    """Return the changes of a PartitionChangeRecord, given its fields as JSON."""
    return _change(json.loads(text))


def _change(found: dict[str, Any]) -> PartitionChange:
    named = (None if found.get(name) == DEFAULTS.get(name) else found.get(name) for name in FIELDS)
    values = (tuple(item) if isinstance(item, list) else item for item in named)
    return PartitionChange._make((*values, found.get("directories") is not None))


def read_partition(text: str) -> tuple[Core, int, int]:
    found = json.loads(text)
    return merge_change(NOTHING, _change(found)), found["leaderEpoch"], found["partitionEpoch"]


def merge_change(core: Core, change: PartitionChange) -> Core:
    """Return the partition after a change (PartitionRegistration.merge). A new leader starts a new leader epoch."""
    return Core._make(was if now is None else now for was, now in zip(core, change, strict=False))


LONG = 60_000
"""Being below min ISR for longer than this, in milliseconds, is a medium finding. A restart takes less time."""


class Condition(NamedTuple):
    offset: int
    time: int
    isr: Brokers
    min_isr: int


class Conditions:
    """Conditions of a partition that are worth reporting. If it has no leader, no other condition is reported."""

    def __init__(self) -> None:
        self._open: dict[str, Condition] = {}

    def watch(self, core: Core, min_isr: int, offset: int, time: int) -> Iterator[Found]:
        now = _going_on(core, min_isr)
        for sort, spell in tuple(self._open.items()):
            if sort not in now or (sort == "last-replica" and spell.isr != core.isr):
                yield self._end(sort, offset, time, "")
        for sort in now:
            self._open.setdefault(sort, Condition(offset, time, core.isr, min_isr))

    def close(self, offset: int, time: int, why: str) -> Iterator[Found]:
        for sort in tuple(self._open):
            yield self._end(sort, offset, time, f", {why}")

    def _end(self, sort: str, end: int, time: int, why: str) -> Found:
        spell = self._open.pop(sort)
        lasted = time - spell.time
        text = _told(sort, spell, f"{seconds(lasted)}{why}")
        long = sort == "under-min-isr" and lasted > LONG
        brokers = spell.isr if sort == "last-replica" else ()
        severity: Severity = "medium" if long else SORTS[sort].severity
        return Found(sort, severity, spell.offset, spell.time, max(end, spell.offset), lasted, brokers, text)


def _going_on(core: Core, min_isr: int) -> tuple[str, ...]:
    if core.leader == NO_LEADER:
        return ("offline",)
    alone = ("last-replica",) if len(core.replicas) > 1 and len(core.isr) == 1 else ()
    under = ("under-min-isr",) if len(core.isr) < min(min_isr, len(core.replicas)) else ()
    return (*alone, *under)


def _told(sort: str, spell: Condition, lasted: str) -> str:
    if sort == "offline":
        return f"no leader for {lasted}"
    if sort == "under-min-isr":
        return (
            f"the ISR had {len(spell.isr)} of {spell.min_isr} required brokers at first, and was below min ISR for "
            f"{lasted}"
        )
    told = f"only {show_brokers(spell.isr)} was in sync for {lasted}; min ISR {spell.min_isr}"
    if spell.min_isr > 1:
        return f"{told}, so acks=all writes were refused, and records written with acks=0 or 1 are only on its disk"
    return f"{told}: records acknowledged during that time, even with acks=all, are only on that broker's disk"


class Rules(NamedTuple):
    """Rules in force at an offset: min ISR, whether ELR is on, and whether an ISR shrink starts a leader epoch."""

    min_isr: int
    elr: bool
    opens_on_shrink: bool = False


class Names:
    """The model's numbers for brokers: the replicas come first, in the order of their list, then the other brokers."""

    def __init__(self, first: Brokers, *others: Iterable[int]) -> None:
        order = dict.fromkeys(
            (*first, *sorted({broker for group in others for broker in group if broker != NO_LEADER}))
        )
        self.order = tuple(order)
        self._number = {broker: number for number, broker in enumerate(self.order)}

    def number(self, broker: int) -> int:
        return self._number.get(broker, NONE)

    def mask(self, group: Iterable[int]) -> int:
        return sum(1 << self._number[broker] for broker in set(group))

    def brokers(self, mask: int) -> Brokers:
        return tuple(broker for number, broker in enumerate(self.order) if mask >> number & 1)


@cache
def _constants() -> dict[str, int]:
    version = next(item for item in MACHINE.versions if item.name == "kafka-4.1")
    return {**MACHINE.constants(**version.values).values, "reassignments": 1}


@lru_cache(maxsize=4096)
def constants(brokers: int, rules: Rules, within: bool = False) -> C:  # noqa: FBT001, FBT002 (keys of a cache)
    """Return the constants for checking a recorded change; they may exceed the limits of a search."""
    more = {"brokers": brokers, "min_isr": rules.min_isr, "elr": int(rules.elr)}
    more |= {"bump_leader_epoch_on_shrink": int(rules.opens_on_shrink), "elr_within_replicas": int(within)}
    return cast("C", SimpleNamespace(**{**_constants(), **more}))


def model_state(core: Core, names: Names, fenced: Brokers = (), stale: Brokers = ()) -> State:
    """Return an object with the attributes of a model state that the model's functions read."""
    last = names.number(core.last_known[0]) if len(core.last_known) == 1 else NONE
    missing = bits.everyone(len(names.order)) & ~names.mask(core.replicas)
    image = SimpleNamespace(leader=names.number(core.leader), isr=names.mask(core.isr), missing=missing)
    image.fenced, image.stopping, image.raised = names.mask(fenced), 0, 0
    image.leader_epoch = image.partition_epoch = 0
    made = SimpleNamespace(image=[image], newest=0, elr=names.mask(core.elr), last_known_leader=last, replica=[])
    made.adding, made.removing, made.ghost_stale = names.mask(core.adding), names.mask(core.removing), names.mask(stale)
    made.elr_disabled = made.offline = 0
    return cast("State", made)


def _names(core: Core, *more: Iterable[int]) -> Names:
    return Names(core.replicas, core.isr, core.elr, core.last_known, [core.leader], *more)


def _effective(core: Core, rules: Rules) -> Rules:
    return rules._replace(min_isr=min(rules.min_isr, len(core.replicas)))


@lru_cache(maxsize=1 << 16)
def standing(core: Core, rules: Rules) -> tuple[str, ...]:
    """Return the violated invariants that do not depend on broker states."""
    names = _names(core)
    state, c = model_state(core, names), constants(len(names.order), _effective(core, rules))
    broken = [] if isr_is_sane(state, c) else ["isr-not-sane"]
    return (*broken, *([] if eligible_leaders_have_replicas(state, c) else ["elr-without-replica"]))


@lru_cache(maxsize=1 << 16)
def with_inactive(core: Core, rules: Rules, fenced: Brokers) -> bool:
    """Return whether fenced brokers and brokers that are shutting down may stay in the ISR or lead."""
    names = _names(core, fenced)
    c = constants(len(names.order), _effective(core, rules))
    return isr_is_sane(model_state(core, names, fenced), c) or not isr_is_sane(model_state(core, names), c)


@lru_cache(maxsize=1 << 16)
def with_stale(core: Core, rules: Rules, broker: int) -> bool:
    """Return whether an ISR member that has re-registered may stay in the ISR."""
    exempt = len(core.isr) == 1 and not rules.elr
    names = _names(core)
    c = constants(len(names.order), rules)
    return exempt or isr_members_are_current(model_state(core, names, stale=(broker,)), c)


@lru_cache(maxsize=1 << 16)
def electable(core: Core, rules: Rules, active: Brokers) -> int:
    """Return the broker that a clean election would choose from the active brokers, or NO_LEADER."""
    names = _names(core, active)
    state = model_state(core, names)
    c = constants(len(names.order), _effective(core, rules))
    missing = state.image[0].missing
    leader = elected(
        state, c, names.mask(core.isr), names.mask(core.elr), missing, names.mask(active), names.mask(core.removing)
    )
    return NO_LEADER if leader == NONE else names.order[leader]


class JudgedChange(NamedTuple):
    """The verdict on a change: the changed partition, whether an epoch starts, the election, and the violated rules."""

    core: Core
    opens: int
    election: str
    broken: tuple[str, ...]


@lru_cache(maxsize=1 << 17)
def judge_change(core: Core, change: PartitionChange, rules: Rules, unclean: Brokers = ()) -> JudgedChange:
    """Judge a recorded change. Brokers in `unclean` registered at the same time and may have lost records."""
    after = merge_change(core, change)
    opens = 0 if change.leader == SAME_LEADER else 1
    election = _election(core, after, rules)
    found = list(standing(after, rules))
    if election == "none-of-them":
        found.append("not-electable")
    found += _by_the_rules(core, after, rules, opens, election, unclean)
    return JudgedChange(after, opens, election, tuple(dict.fromkeys(found)))


def _election(core: Core, after: Core, rules: Rules) -> str:
    leader = after.leader
    if leader in (NO_LEADER, core.leader):
        return ""
    if after.recovering == RECOVERING and not (core.recovering == RECOVERING and leader in (*core.isr, *core.elr)):
        names = _names(core, after.replicas, [leader])
        c = constants(len(names.order), rules)
        state = model_state(core, names)
        able = names.mask([leader])
        last_known = may_elect_last_known(state, c, names.mask(core.isr), names.mask(core.elr), able)
        return "last-known" if last_known and names.number(leader) == state.last_known_leader else "unclean"
    if leader in core.isr:
        return "isr"
    if leader in core.elr:
        return "elr"
    ended = leader in core.adding and not after.adding  # added replicas in the ISR completed the reassignment
    return "isr" if leader in after.isr and (ended or len(after.isr) > 1) else "none-of-them"


def _by_the_rules(core: Core, after: Core, rules: Rules, opens: int, election: str, unclean: Brokers) -> list[str]:
    groups = (core.replicas, core.isr, core.elr, after.isr, after.elr, after.last_known, core.last_known)
    names = Names(after.replicas, *groups, [core.leader, after.leader])
    missing = bits.everyone(len(names.order)) & ~names.mask(after.replicas)
    asked = 0 if rules.elr and election in ("elr", "last-known", "unclean") else names.mask(after.isr)
    possible = set()
    for within in (False, True):
        c = constants(len(names.order), _effective(core, rules), within)
        state = model_state(core, names)
        elr = elr_target(state, c, asked, missing, names.mask(b for b in unclean if b in names.order))
        moved = names.mask(after.adding), names.mask(after.removing)
        change_partition(state, c, asked, elr, names.number(after.leader), missing, *moved)
        possible.add((state.image[0].isr, state.elr, state.image[0].leader_epoch))
    found = []
    if rules.elr and names.mask(after.elr) not in {elr for _, elr, _ in possible}:
        found.append("elr-not-by-rule")
    wanted = {epoch for _, _, epoch in possible}
    if opens not in wanted:
        found.append("epoch-without-reason" if opens else "epoch-not-opened")
    return found
