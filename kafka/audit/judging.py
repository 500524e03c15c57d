"""A recorded change of a partition, judged by the model: its own predicates and rules run on what the log has.

The predicates of `invariants.replication` that speak of the controller's image, and the rules of
`model.cluster.partition_change`, read a state by its attributes. `Held` has those of the controller; brokers are
numbered by their place in the replica list, which is the order in which the controller elects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fencepost.invariants.replication import eligible_leaders_have_replicas, isr_is_sane, isr_members_are_current
from fencepost.kafka.audit.partition import (
    NO_LEADER,
    RECOVERING,
    SAME_LEADER,
    Brokers,
    Core,
    PartitionChange,
    merge_change,
)
from fencepost.model.cluster.machine import MACHINE
from fencepost.model.cluster.partition_change import change_partition, elected, elr_target, may_elect_last_known
from fencepost.model.language import NONE, bits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.model.cluster.constants import C
    from fencepost.model.cluster.state import State


class Rules(NamedTuple):
    """Rules in force when a record is written: min ISR, eligible leader replicas or not, what opens an epoch."""

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
    """The numbers that brokers have in the model: their places in the replica list, then those of others."""

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
        """Return a set of brokers."""
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
    """Return the constants that a recorded change is judged by. They may be larger than those of a search."""
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
    """Return which invariants a partition breaks by itself, whatever its brokers do."""
    names = _names(core)
    state, c = (
        model_state(core, names),
        constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False),
    )
    broken = [] if isr_is_sane(state, c) else ["isr-not-sane"]
    return (*broken, *([] if eligible_leaders_have_replicas(state, c) else ["elr-without-replica"]))


@lru_cache(maxsize=1 << 16)
def with_inactive(core: Core, rules: Rules, fenced: Brokers) -> bool:
    """Return whether a partition is as it should be while these brokers are fenced or shutting down."""
    names = _names(core, fenced)
    c = constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False)
    return isr_is_sane(model_state(core, names, fenced), c) or not isr_is_sane(model_state(core, names), c)


@lru_cache(maxsize=1 << 16)
def with_stale(core: Core, rules: Rules, broker: int) -> bool:
    """Return whether a partition is as it should be once this member of its ISR has registered again and stayed."""
    exempt = len(core.isr) == 1 and not rules.elr
    names = _names(core)
    c = constants(len(names.order), rules.min_isr, rules.elr, rules.opens_on_shrink, False)
    return exempt or isr_members_are_current(model_state(core, names, stale=(broker,)), c)


@lru_cache(maxsize=1 << 16)
def electable(core: Core, rules: Rules, active: Brokers) -> int:
    """Return the clean leader of a partition that has none, with these brokers active; NO_LEADER without one."""
    names = _names(core, active)
    state = model_state(core, names)
    c = constants(len(names.order), _effective(core, rules), rules.elr, rules.opens_on_shrink, False)
    missing = state.image[0].missing
    leader = elected(
        state, c, names.mask(core.isr), names.mask(core.elr), missing, names.mask(active), names.mask(core.removing)
    )
    return NO_LEADER if leader == NONE else names.order[leader]


class JudgedChange(NamedTuple):
    """A judged change: the partition, the rise of its leader epoch, how its leader was elected, and what is broken."""

    core: Core
    opens: int
    election: str
    broken: tuple[str, ...]


@lru_cache(maxsize=1 << 17)
def judge_change(core: Core, change: PartitionChange, rules: Rules, unclean: Brokers = ()) -> JudgedChange:
    """Judge a recorded change. `unclean` are brokers that registered with it, and may have lost records."""
    after = merge_change(core, change)
    opens = 0 if change.leader == SAME_LEADER else 1
    election = _election(core, after, rules)
    found = list(standing(after, rules))
    if election == "none-of-them":
        found.append("not-electable")
    found += _by_the_rules(core, after, rules, opens, election, unclean)
    return JudgedChange(after, opens, election, tuple(dict.fromkeys(found)))


def _election(core: Core, after: Core, rules: Rules) -> str:
    """Return by what a new leader was elected; empty without one."""
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
    ended = leader in core.adding and not after.adding  # by an ISR with who was added, which its end has cut down
    return "isr" if leader in after.isr and (ended or len(after.isr) > 1) else "none-of-them"


def _by_the_rules(core: Core, after: Core, rules: Rules, opens: int, election: str, unclean: Brokers) -> list[str]:
    """Return where a change differs from what the model's controller makes of the same request."""
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
