"""Transaction commit: the decisions that resource managers may make, without a protocol for agreement.

This is Lamport's `TCommit`. The action "decide" of `TCommit` is a disjunction, which becomes two actions in this model;
TLC also counts the two halves as separate steps, so all counts are equal.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    require,
    shape,
    sometimes,
)


class C(Constants):
    managers = shape(3, low=1, high=6, meaning="resource managers")


Manager = Annotated[int, Index(C.managers)]


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class State(Record):
    phase: Annotated[Array[Phase], Per(Manager)]


@action()
def initial(s: State, c: C) -> None:
    """Every manager is working."""


@action(manager=Manager)
def prepare(s: State, c: C, manager: int) -> None:
    """A manager prepares to commit."""
    require(s.phase[manager] == Phase.WORKING)
    s.phase[manager] = Phase.PREPARED


@action(manager=Manager)
def commit(s: State, c: C, manager: int) -> None:
    """A manager commits once all managers are prepared or have committed."""
    require(s.phase[manager] == Phase.PREPARED)
    require(all(phase in (Phase.PREPARED, Phase.COMMITTED) for phase in s.phase))
    s.phase[manager] = Phase.COMMITTED


@action(manager=Manager)
def abort(s: State, c: C, manager: int) -> None:
    """A manager aborts while no manager has committed."""
    require(s.phase[manager] in (Phase.WORKING, Phase.PREPARED))
    require(all(phase != Phase.COMMITTED for phase in s.phase))
    s.phase[manager] = Phase.ABORTED


@always
def decisions_agree(s: State, c: C) -> bool:
    """If one manager commits, no manager aborts."""
    return not (any(phase == Phase.ABORTED for phase in s.phase) and any(phase == Phase.COMMITTED for phase in s.phase))


@sometimes
def all_commit(s: State, c: C) -> bool:
    """Every manager commits."""
    return all(phase == Phase.COMMITTED for phase in s.phase)


MACHINE = Machine(
    "transaction-commit", "Managers that commit or abort together", State, C, initial, (prepare, commit, abort)
)
PROPERTIES = (decisions_agree, all_commit)
