"""Two-phase commit: a coordinator decides for all resource managers once every one of them is prepared.

This is Lamport's `TwoPhase`; Stateright also gives its number of states. Sent messages are kept and may be received
repeatedly, so sets and flags represent them, and loss need not be modelled. Receiving a message again is a step that
changes nothing; it is counted, as in TLC.
"""

from enum import IntEnum
from typing import Annotated

from fencepost.model.language import (
    Array,
    BitSet,
    Cast,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    always,
    bits,
    require,
    shape,
    sometimes,
    switch,
)


class C(Constants):
    managers = shape(3, low=1, high=6, meaning="resource managers")
    waits_for_all = switch(default=True, meaning="the coordinator commits only if every manager is prepared")


Manager = Annotated[int, Index(C.managers)]
Managers = Annotated[int, BitSet(C.managers)]


class Phase(IntEnum):
    WORKING = 0
    PREPARED = 1
    COMMITTED = 2
    ABORTED = 3


class Decision(IntEnum):
    OPEN = 0
    COMMIT = 1
    ABORT = 2


class State(Record):
    phase: Annotated[Array[Phase], Per(Manager)]
    decision: Decision
    known_prepared: Managers
    prepared_sent: Managers
    commit_sent: bool
    abort_sent: bool


@action()
def initial(s: State, c: C) -> None:
    """Every manager is working, and no message has been sent."""


@action(manager=Manager)
def prepare(s: State, c: C, manager: int) -> None:
    """A manager prepares, and reports this to the coordinator."""
    require(s.phase[manager] == Phase.WORKING)
    s.phase[manager] = Phase.PREPARED
    s.prepared_sent = bits.with_member(s.prepared_sent, manager)


@action(manager=Manager)
def choose_to_abort(s: State, c: C, manager: int) -> None:
    """A manager that is not prepared aborts without sending a message."""
    require(s.phase[manager] == Phase.WORKING)
    s.phase[manager] = Phase.ABORTED


@action(manager=Manager)
def hear_of_prepared(s: State, c: C, manager: int) -> None:
    """The coordinator learns that a manager is prepared."""
    require(s.decision == Decision.OPEN)
    require(bits.contains(s.prepared_sent, manager))
    s.known_prepared = bits.with_member(s.known_prepared, manager)


@action()
def decide_to_commit(s: State, c: C) -> None:
    """The coordinator commits once every manager is prepared."""
    require(s.decision == Decision.OPEN)
    require(s.known_prepared == bits.everyone(c.managers) or not c.waits_for_all)
    s.decision = Decision.COMMIT
    s.commit_sent = True


@action()
def decide_to_abort(s: State, c: C) -> None:
    """The coordinator aborts for any reason."""
    require(s.decision == Decision.OPEN)
    s.decision = Decision.ABORT
    s.abort_sent = True


@action(manager=Manager)
def commit(s: State, c: C, manager: int) -> None:
    """A manager receives the decision to commit, and commits."""
    require(s.commit_sent)
    s.phase[manager] = Phase.COMMITTED


@action(manager=Manager)
def abort(s: State, c: C, manager: int) -> None:
    """A manager receives the decision to abort, and aborts."""
    require(s.abort_sent)
    s.phase[manager] = Phase.ABORTED


@always
def decisions_agree(s: State, c: C) -> bool:
    """If one manager commits, no manager aborts; violated if `waits_for_all` is off."""
    return not (any(phase == Phase.ABORTED for phase in s.phase) and any(phase == Phase.COMMITTED for phase in s.phase))


@sometimes
def all_commit(s: State, c: C) -> bool:
    """Every manager commits."""
    return all(phase == Phase.COMMITTED for phase in s.phase)


@sometimes
def all_abort(s: State, c: C) -> bool:
    """Every manager aborts although all were prepared."""
    return all(phase == Phase.ABORTED for phase in s.phase) and s.prepared_sent == bits.everyone(c.managers)


MACHINE = Machine(
    "two-phase-commit",
    "A coordinator that decides for all resource managers",
    State,
    C,
    initial,
    (prepare, choose_to_abort, hear_of_prepared, decide_to_commit, decide_to_abort, commit, abort),
    cast=Cast(
        parties={"coordinator": None, "manager": Manager},
        fields={"decision": "coordinator", "known_prepared": "coordinator"},
        actors=dict.fromkeys(("hear_of_prepared", "decide_to_commit", "decide_to_abort"), "coordinator"),
    ),
)
PROPERTIES = (decisions_agree, all_commit, all_abort)
