"""A partition built from records as in Kafka's PartitionRegistration, with each change judged by the model's rules.

The predicates of `invariants.replication` about the controller's image, and the rules of
`model.cluster.partition_change`, read a state's attributes. `Held` provides those of the controller. Brokers are
numbered by their position in the replica list, the order in which the controller elects.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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
SAME_LEADER = -2
"""The value of `leader` in a change that keeps the leader and its epoch."""
RECOVERING = 1
Brokers = tuple[int, ...]


class Core(NamedTuple):
    """A partition without its epochs."""

    replicas: Brokers
    isr: Brokers
    removing: Brokers
    adding: Brokers
    leader: int
    recovering: int
    elr: Brokers
    last_known: Brokers


class PartitionChange(NamedTuple):
    """Changes in a record; None for unchanged fields. `leader` is SAME_LEADER if unchanged."""

    replicas: Brokers | None
    isr: Brokers | None
    removing: Brokers | None
    adding: Brokers | None
    leader: int
    recovering: int | None
    elr: Brokers | None
    last_known: Brokers | None
    assigns: bool = False
    """Whether it names directories: a broker has assigned its replica to a directory."""


CLEARED = PartitionChange(None, None, None, None, SAME_LEADER, None, (), ())
"""The effect of a ClearElrRecord on a partition with an ELR or a last known leader
(ReplicationControlManager.removeTopicElrs)."""


def brokers(found: Any) -> Brokers | None:
    """Return the brokers in a record's list."""
    return None if found is None else tuple(found)


@lru_cache(maxsize=1 << 17)
def change_of(text: str) -> PartitionChange:
    """Return the changes of a PartitionChangeRecord, by its fields without the partition's name."""
    found = json.loads(text)
    recovering = found.get("leaderRecoveryState", -1)
    return PartitionChange(
        brokers(found.get("replicas")),
        brokers(found.get("isr")),
        brokers(found.get("removingReplicas")),
        brokers(found.get("addingReplicas")),
        found.get("leader", SAME_LEADER),
        None if recovering == -1 else recovering,
        brokers(found.get("eligibleLeaderReplicas")),
        brokers(found.get("lastKnownElr")),
        found.get("directories") is not None,
    )


def read_partition(text: str) -> tuple[Core, int, int]:
    """Return the partition in a PartitionRecord, with its leader epoch and its partition epoch."""
    found = json.loads(text)
    core = Core(
        tuple(found["replicas"]),
        tuple(found["isr"]),
        tuple(found.get("removingReplicas") or ()),
        tuple(found.get("addingReplicas") or ()),
        found["leader"],
        found.get("leaderRecoveryState", 0),
        tuple(found.get("eligibleLeaderReplicas") or ()),
        tuple(found.get("lastKnownElr") or ()),
    )
    return core, found["leaderEpoch"], found["partitionEpoch"]


def merge_change(core: Core, change: PartitionChange) -> Core:
    """Return a partition after a change (PartitionRegistration.merge); naming a leader starts a leader epoch."""
    return Core(
        core.replicas if change.replicas is None else change.replicas,
        core.isr if change.isr is None else change.isr,
        core.removing if change.removing is None else change.removing,
        core.adding if change.adding is None else change.adding,
        core.leader if change.leader == SAME_LEADER else change.leader,
        core.recovering if change.recovering is None else change.recovering,
        core.elr if change.elr is None else change.elr,
        core.last_known if change.last_known is None else change.last_known,
    )


LONG = 60_000
"""Milliseconds below min ISR that are longer than a restart."""


class Condition(NamedTuple):
    """A condition that holds: its first offset, the ISR, and the min ISR."""

    offset: int
    time: int
    isr: Brokers
    min_isr: int


class Conditions:
    """Conditions of one partition. A partition without a leader acknowledges nothing, so only that is reported."""

    def __init__(self) -> None:
        self._open: dict[str, Condition] = {}

    def watch(self, core: Core, min_isr: int, offset: int, time: int) -> Iterator[Found]:
        """Yield the conditions that end with a change, and record those that start."""
        now = _going_on(core, min_isr)
        for sort, spell in tuple(self._open.items()):
            if sort not in now or (sort == "last-replica" and spell.isr != core.isr):
                yield self._end(sort, offset, time, "")
        for sort in now:
            self._open.setdefault(sort, Condition(offset, time, core.isr, min_isr))

    def close(self, offset: int, time: int, why: str) -> Iterator[Found]:
        """Yield all conditions that hold at the end of the history."""
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
        return f"the ISR had {len(spell.isr)} of min ISR {spell.min_isr} at first, and too few for {lasted}"
    told = f"{show_brokers(spell.isr)} alone was in sync for {lasted}; min ISR {spell.min_isr}"
    if spell.min_isr > 1:
        return f"{told}, so acks=all was refused: only its disk has what acks=0 or 1 wrote then"
    return f"{told}: what was acknowledged meanwhile, with acks=all too, is on its disk alone"


class Rules(NamedTuple):
    """Rules in force when a record is written: min ISR, ELR on or off, the changes that open an epoch."""

    min_isr: int
    elr: bool
    opens_on_shrink: bool = False


@dataclass
class HeldImage:
    """The newest image of the controller."""

    leader: int
    isr: int
    missing: int
    fenced: int = 0
    stopping: int = 0
    raised: int = 0
    leader_epoch: int = 0
    partition_epoch: int = 0


@dataclass
class HeldState:
    """The controller's part of a state of `replication`."""

    image: list[HeldImage]
    elr: int
    last_known_leader: int
    adding: int
    removing: int
    newest: int = 0
    ghost_stale: int = 0
    elr_disabled: int = 0
    offline: int = 0
    replica: list[Any] = field(default_factory=list)


class Names:
    """Model numbers of brokers: their positions in the replica list, then other brokers."""

    def __init__(self, first: Brokers, *others: Iterable[int]) -> None:
        order = dict.fromkeys(
            (*first, *sorted({broker for group in others for broker in group if broker != NO_LEADER}))
        )
        self.order = tuple(order)
        self._number = {broker: number for number, broker in enumerate(self.order)}

    def number(self, broker: int) -> int:
        """Return the number of a broker, NONE for none."""
        return self._number.get(broker, NONE)

    def mask(self, group: Iterable[int]) -> int:
        """Return a set of brokers as bits."""
        return sum(1 << self._number[broker] for broker in set(group))

    def brokers(self, mask: int) -> Brokers:
        """Return the brokers of a set."""
        return tuple(broker for number, broker in enumerate(self.order) if mask >> number & 1)


@cache
def _constants() -> dict[str, int]:
    version = next(item for item in MACHINE.versions if item.name == "kafka-4.1")
    return {**MACHINE.constants(**version.values).values, "reassignments": 1}


@lru_cache(maxsize=4096)
def constants(brokers: int, min_isr: int, elr: bool, shrink: bool, within: bool) -> C:  # noqa: FBT001 (keys of a cache)
    """Return the constants for judging a recorded change. They may be larger than those of a search."""
    more = {"brokers": brokers, "min_isr": min_isr, "elr": int(elr), "bump_leader_epoch_on_shrink": int(shrink)}
    return cast("C", SimpleNamespace(**{**_constants(), **more, "elr_within_replicas": int(within)}))


def model_state(core: Core, names: Names, fenced: Brokers = (), stale: Brokers = ()) -> State:
    """Return a recorded partition as the state that the model's functions read."""
    missing = bits.everyone(len(names.order)) & ~names.mask(core.replicas)
    image = HeldImage(names.number(core.leader), names.mask(core.isr), missing, names.mask(fenced))
    last = names.number(core.last_known[0]) if len(core.last_known) == 1 else NONE
    made = HeldState([image], names.mask(core.elr), last, names.mask(core.adding), names.mask(core.removing))
    made.ghost_stale = names.mask(stale)
    return cast("State", made)


def _names(core: Core, *more: Iterable[int]) -> Names:
    return Names(core.replicas, core.isr, core.elr, core.last_known, [core.leader], *more)


def _effective(core: Core, rules: Rules) -> int:
    return min(rules.min_isr, len(core.replicas))


@lru_cache(maxsize=1 << 16)
def standing(core: Core, rules: Rules) -> tuple[str, ...]:
    """Return the invariants that a partition violates whatever the state of its brokers."""
    names = _names(core)
    state, c = (
        model_state(core, names),
        constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False),
    )
    broken = [] if isr_is_sane(state, c) else ["isr-not-sane"]
    return (*broken, *([] if eligible_leaders_have_replicas(state, c) else ["elr-without-replica"]))


@lru_cache(maxsize=1 << 16)
def with_inactive(core: Core, rules: Rules, fenced: Brokers) -> bool:
    """Return whether a partition is valid if these brokers are fenced or shutting down."""
    names = _names(core, fenced)
    c = constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False)
    return isr_is_sane(model_state(core, names, fenced), c) or not isr_is_sane(model_state(core, names), c)


@lru_cache(maxsize=1 << 16)
def with_stale(core: Core, rules: Rules, broker: int) -> bool:
    """Return whether a partition is valid after this member of its ISR has registered again and kept its membership."""
    exempt = len(core.isr) == 1 and not rules.elr
    names = _names(core)
    c = constants(len(names.order), rules.min_isr, rules.elr, rules.opens_on_shrink, False)
    return exempt or isr_members_are_current(model_state(core, names, stale=(broker,)), c)


@lru_cache(maxsize=1 << 16)
def electable(core: Core, rules: Rules, active: Brokers) -> int:
    """Return the clean leader that a leaderless partition can elect among these active brokers, or NO_LEADER."""
    names = _names(core, active)
    state = model_state(core, names)
    c = constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False)
    missing = state.image[0].missing
    leader = elected(
        state, c, names.mask(core.isr), names.mask(core.elr), missing, names.mask(active), names.mask(core.removing)
    )
    return NO_LEADER if leader == NONE else names.order[leader]


class JudgedChange(NamedTuple):
    """A judged change: the partition, the rise of its leader epoch, the kind of election, the violated invariants."""

    core: Core
    opens: int
    election: str
    broken: tuple[str, ...]


@lru_cache(maxsize=1 << 17)
def judge_change(core: Core, change: PartitionChange, rules: Rules, unclean: Brokers = ()) -> JudgedChange:
    """Judge a recorded change. `unclean` are brokers that registered in it and may have lost records."""
    after = merge_change(core, change)
    opens = 0 if change.leader == SAME_LEADER else 1
    election = _election(core, after, rules)
    found = list(standing(after, rules))
    if election == "none-of-them":
        found.append("not-electable")
    found += _by_the_rules(core, after, rules, opens, election, unclean)
    return JudgedChange(after, opens, election, tuple(dict.fromkeys(found)))


def _election(core: Core, after: Core, rules: Rules) -> str:
    """Return how a new leader was elected; empty without an election."""
    leader = after.leader
    if leader in (NO_LEADER, core.leader):
        return ""
    if after.recovering == RECOVERING and not (core.recovering == RECOVERING and leader in (*core.isr, *core.elr)):
        names = _names(core, after.replicas, [leader])
        c = constants(len(names.order), rules.min_isr, rules.elr, rules.opens_on_shrink, False)
        state = model_state(core, names)
        able = names.mask([leader])
        last_known = may_elect_last_known(state, c, names.mask(core.isr), names.mask(core.elr), able)
        return "last-known" if last_known and names.number(leader) == state.last_known_leader else "unclean"
    if leader in core.isr:
        return "isr"
    if leader in core.elr:
        return "elr"
    ended = leader in core.adding and not after.adding  # the reassignment ended by an ISR that included added replicas
    return "isr" if leader in after.isr and (ended or len(after.isr) > 1) else "none-of-them"


def _by_the_rules(core: Core, after: Core, rules: Rules, opens: int, election: str, unclean: Brokers) -> list[str]:
    """Return where a change differs from the result of the model's controller for the same request."""
    groups = (core.replicas, core.isr, core.elr, after.isr, after.elr, after.last_known, core.last_known)
    names = Names(after.replicas, *groups, [core.leader, after.leader])
    missing = bits.everyone(len(names.order)) & ~names.mask(after.replicas)
    asked = 0 if rules.elr and election in ("elr", "last-known", "unclean") else names.mask(after.isr)
    possible = set()
    for within in (False, True):
        c = constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, within)
        state = model_state(core, names)
        elr = elr_target(state, c, asked, missing, names.mask(b for b in unclean if b in names.order))
        change_partition(
            state,
            c,
            asked,
            elr,
            names.number(after.leader),
            missing,
            names.mask(after.adding),
            names.mask(after.removing),
        )
        possible.add((state.image[0].isr, state.elr, state.image[0].leader_epoch))
    found = []
    if rules.elr and names.mask(after.elr) not in {elr for _, elr, _ in possible}:
        found.append("elr-not-by-rule")
    wanted = {epoch for _, _, epoch in possible}
    if opens not in wanted:
        found.append("epoch-without-reason" if opens else "epoch-not-opened")
    return found
