"""A barrier: processes wait for each other, and continue together.

This is `Barrier` from the TLA+ examples. The last action changes all processes in one step; in this model, it is a
loop.
"""

from typing import Annotated

from fencepost.model.language import (
    Array,
    Constants,
    Index,
    Machine,
    Per,
    Record,
    action,
    require,
    shape,
    sometimes,
    step,
)


class C(Constants):
    processes = shape(6, low=1, high=12, meaning="processes")


Process = Annotated[int, Index(C.processes)]


class State(Record):
    waits: Annotated[Array[bool], Per(Process)]


@action()
def initial(s: State, c: C) -> None:
    """No process waits."""


@action(process=Process)
def arrive(s: State, c: C, process: int) -> None:
    """A process arrives at the barrier."""
    require(not s.waits[process])
    s.waits[process] = True


@action()
def go_on(s: State, c: C) -> None:
    """All processes leave once all have arrived."""
    require(all(s.waits))
    for process in range(c.processes):
        s.waits[process] = False


@step()
def nobody_leaves_early(before: State, after: State, c: C) -> bool:
    """No process leaves before all have arrived."""
    return all(before.waits) or all(after.waits[process] for process in range(c.processes) if before.waits[process])


@sometimes
def all_wait(s: State, c: C) -> bool:
    """All processes are at the barrier."""
    return all(s.waits)


MACHINE = Machine("barrier", "Processes that wait for each other", State, C, initial, (arrive, go_on))
PROPERTIES = (nobody_leaves_early, all_wait)
