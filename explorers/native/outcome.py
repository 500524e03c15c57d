"""What a search found, as a result: verdicts, and traces that the plain semantics has confirmed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from fencepost.explorers.memory import peak_memory
from fencepost.explorers.native.compile import NO_PARENT, bounds_reached
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.paths import Found, confirm, with_late_faults
from fencepost.explorers.verdict import GuardCount, PropertyResult, Result, Verdict
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.layout import Layout
    from fencepost.explorers.native.store import Buffers, Partition, Position
    from fencepost.explorers.verdict import Compiled, Options
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.interpreter import Interpreter, Path
    from fencepost.model.language.machine import Machine
    from fencepost.model.language.records import Key


class Explored(Protocol):
    """What explores a machine in compiled code: all that it takes to ask the plain semantics about a state."""

    machine: Machine
    constants: Constants
    properties: tuple[Property, ...]
    layout: Layout
    plain: Interpreter
    module: Any


class Searched(Explored, Protocol):
    """A search, as those know it who tell of it, keep it in a checkpoint, or go on with its states."""

    options: Options
    kernels: Kernels
    owners: int
    partitions: list[Partition]
    position: Position
    before_judging: tuple[list[int], dict[str, int]] | None
    workers: int
    _buffers: Buffers

    @property
    def distinct(self) -> int:
        """States reached."""
        ...

    @property
    def generated(self) -> int:
        """Initial states plus successors computed, with repetition."""
        ...

    @property
    def compiled(self) -> tuple[Compiled, ...]:
        """The code that was used, in this order."""
        ...

    @property
    def store_bytes(self) -> int:
        """Memory of all partitions."""
        ...

    def fired(self) -> list[int]:
        """How often each action happened."""
        ...

    def refused(self) -> list[int]:
        """How often each guard refused first."""
        ...

    def deadlocks(self) -> int:
        """How many states have no successor."""
        ...

    def settle(self) -> Position:
        """Move the workers' counts into the position and return it, for a checkpoint."""
        ...


def explain(search: Explored, row: Any, way: Callable[[], Path] | None = None) -> None:
    """A check failed natively: let the plain semantics say what is wrong, and tell the `way` to the state if it is known."""
    key = search.layout.decode(row, search.constants)
    try:
        _go_through(search, key)
    except DomainError as error:
        path = way() if way is not None else None
        error.states, error.steps = (path.states, path.steps) if path is not None else ((key,), ())
        raise


def _go_through(search: Explored, key: Key) -> None:
    """Take every step out of a state and ask every property about them and it, for the error that one of these raises."""
    for transition in search.plain.transitions(key):
        for prop in search.properties:
            if prop.over_steps:
                search.plain.holds_step(prop, key, transition)
    for prop in search.properties:
        if not prop.over_steps:
            search.plain.holds(prop, key)


def blame(search: Explored, code: int) -> None:
    """Raise the error that a check noted and the plain semantics does not see: its numbers have no end, ours have."""
    if code == checks.NUMBER:
        raise DomainError(
            f"protocol {search.machine.name!r}: a shift or a product does not fit 64 bits, which is all "
            "that a compiled number has. Keep numbers small: shift by less, or multiply less."
        )
    if code == checks.SUM:
        raise DomainError(
            f"protocol {search.machine.name!r}: a sum or a difference does not fit 64 bits, which is all that a compiled number has. "
            "Keep numbers small: add less."
        )
    raise MismatchError(
        f"the native engine found a value out of its domain in protocol {search.machine.name!r}, the plain semantics did not. "
        "This is a defect of Fencepost: please report it with the model."
    )


def result_of(search: Searched, why: str) -> Result:
    """Return what a search found, and why it stopped, if it did."""
    complete = not why
    deadlock = None
    if search.options.deadlock and search.position.deadlock >= 0:
        deadlock = way_to(search, search.position.deadlock)
    levels = list(search.position.levels)
    fired = search.fired()
    return Result(
        protocol=search.machine.name,
        constants=search.constants.shown(),
        engine="native",
        workers=search.workers,
        complete=complete,
        why_stopped=why,
        distinct=search.distinct,
        generated=search.generated,
        depth=search.position.depth
        if complete or not search.distinct > sum(search.position.levels)
        else search.position.depth + 1,
        seconds=search.position.seconds,
        properties=tuple(_property_result(search, item, complete=complete) for item in search.properties),
        fired={item.label: count for item, count in zip(search.machine.actions, fired, strict=True)},
        guards=tuple(
            GuardCount(action.replace("_", "-"), text, count)
            for (action, text), count in zip(search.kernels.source.guards, search.refused(), strict=False)
        ),
        bounds=bounds_reached(search.kernels.source, search.constants, search.refused()),
        deadlocks=search.deadlocks(),
        deadlock=deadlock,
        store_bytes=search.store_bytes,
        peak_memory_bytes=peak_memory(),
        compiled=search.compiled,
        levels=tuple(levels),
        omission=min(1.0, search.distinct**2 / 2.0**65) if search.options.compact else 0.0,
    )


def _property_result(search: Searched, item: Property, *, complete: bool) -> PropertyResult:
    state = search.position.found.get(item.name)
    if state is None:
        if item.kind is Kind.SOMETIMES:
            return PropertyResult(item.name, item.kind, Verdict.UNREACHED if complete else Verdict.UNDETERMINED)
        return PropertyResult(item.name, item.kind, Verdict.HOLDS if complete else Verdict.UNDETERMINED)
    path = with_late_faults(search.plain, confirm(search.plain, trail(search, state), Found(item)), item)
    verdict = Verdict.HOLDS if item.kind is Kind.SOMETIMES else Verdict.VIOLATED
    return PropertyResult(item.name, item.kind, verdict, path)


def way_to(search: Searched, state: int) -> Path:
    """Return the way to a state of a search, as the plain semantics goes it."""
    return confirm(search.plain, trail(search, state), Found(None))


def trail(search: Searched, state: int) -> Iterator[Callable[[Key], bool]]:
    """Return, from the initial state on, how to recognise each state on the way to `state`."""
    chain: list[int] = []
    while state != NO_PARENT:
        chain.append(state)
        if len(chain) > search.position.depth + 1:
            raise MismatchError("the parents of a state go round in a circle.")
        state = int(search.partitions[state % search.owners].parents[state // search.owners])
    return (_recogniser(search, item) for item in reversed(chain))


def _recogniser(search: Searched, state: int) -> Callable[[Key], bool]:
    owner, number = state % search.owners, state // search.owners
    part = search.partitions[owner]
    if not search.options.compact:
        key = search.layout.decode(part.rows[number], search.constants)
        return lambda candidate: candidate == key
    wanted = part.hashes[number]
    return lambda candidate: bool(hash_of(search, candidate) == wanted)


def hash_of(search: Searched, key: Key) -> Any:
    """Return the fingerprint of a state."""
    row = search.layout.encode([key], search.constants)
    hashes = np.empty(1, np.uint64)
    search.module.hash_rows(row.view(np.uint64).reshape(1, -1), hashes)
    return hashes[0]
