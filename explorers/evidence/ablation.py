"""Ablation: remove one guard or change one constant at a time, and recheck all properties.

Removing a guard only adds behaviours, so every state of the original machine stays reachable. Therefore, if the number
of reachable states does not change, neither does the set of reachable states.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from threading import Lock

from fencepost.explorers.native.compile import Kernels, compiled
from fencepost.explorers.native.masked import Departure, MaskedSearch, same_states
from fencepost.explorers.program.removal import Guard, guards
from fencepost.explorers.running.interrupts import Stoppable
from fencepost.explorers.verdict import Options, Result, Verdict, require_no_error
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError
from fencepost.model.language.machine import Machine


@dataclass(frozen=True)
class Setting:
    constant: str
    value: int
    condition: str
    sentence: str

    @property
    def name(self) -> str:
        return self.condition

    def values(self, constants: Constants) -> dict[str, int]:
        return {**constants.values, self.constant: self.value}


Row = Guard | Setting


def rows_of(machine: Machine, constants: Constants, more: Mapping[str, tuple[int, ...]]) -> tuple[Row, ...]:
    return (*guards(machine), *settings(constants, more))


def settings(constants: Constants, more: Mapping[str, tuple[int, ...]]) -> tuple[Setting, ...]:
    found = []
    for name, constant in constants.declared().items():
        values = list(more.get(name, ()))
        if constant.kind is bool or issubclass(constant.kind, IntEnum):
            values += range(int(constant.low), int(constant.high) + 1)
        for value in dict.fromkeys(values):
            if value != int(constants.values[name]):
                word = {True: "on", False: "off"}.get(value == 1) if constant.kind is bool else constant.show(value)
                found.append(Setting(name, value, f"{name}={str(word).replace('_', '-')}", constant.meaning))
    return tuple(found)


class Purpose(StrEnum):
    NEEDED = "needed"
    """A property that holds with the guard is violated without it."""
    BOUND = "bound"
    """The guard keeps values in their domains. Without it, domain checks block the same steps."""
    SAME = "same-states"
    """Without the guard, more steps are possible, but they lead only to states that are also reachable with the guard.
    """
    IMPLIED = "implied"
    """Another guard of the action blocks every step that this guard blocks."""
    IDLE = "not-exercised"
    """The guard never blocks a step: either it is unnecessary, or no state exercises it with these constants."""
    DEAD = "never-fires"
    """The guard's action is never enabled with these constants, whether or not the guard is removed."""
    HARMLESS = "nothing-broke"
    """Without the guard, more states are reached, but none of them violates a checked property."""
    REFUSED = "refused"
    """The machine does not accept the setting in combination with the other constants."""
    UNDETERMINED = "undetermined"


@dataclass(frozen=True)
class RowOutcome:
    """Result of a search with one guard removed or one setting changed.

    `refused` counts the steps of the original machine that the removed guard is the first to refuse. `alone` counts the
    steps that only this guard refuses. `grown` is true if the reached states differ; `alone` may then be None, because
    these steps were not counted.
    """

    row: Row
    purpose: Purpose
    result: Result | None = None
    broken: tuple[str, ...] = ()
    """Properties that hold in the original machine but are violated after the change, shortest trace first."""
    departure: Departure | None = None
    grown: bool | None = None
    refused: int = 0
    alone: int | None = None
    why: str = ""


class Ablation(Stoppable):
    """Searches of a machine, first with all of its guards and then with each guard removed in turn. All searches share
    the same compiled kernels and turn guards off with masks, so they may run in several threads.
    """

    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        options: Options,
        kernels: Kernels,
    ) -> None:
        self.machine, self.constants, self.kernels, self.options = machine, constants, kernels, options
        self.all_properties = tuple(item for item in properties if not item.kind.over_behaviours)
        self.properties = tuple(item for item in self.all_properties if item.kind is not Kind.SOMETIMES)
        self.running: list[MaskedSearch] = []
        self.compiling = Lock()

    def explore_whole(self) -> Result:
        options = replace(self.options, budget=None, max_states=None, stop_on_violation=False)
        self.whole = MaskedSearch(self.machine, self.constants, self.all_properties, options, kernels=self.kernels)
        self.base = require_no_error(self._run(self.whole))
        self.holding = tuple(item.name for item in self.base.properties if item.verdict is Verdict.HOLDS)
        return self.base

    def explore(self, row: Row) -> RowOutcome:
        guard = row if isinstance(row, Guard) else None
        constants, kernels = self.constants, self.kernels
        if not isinstance(row, Guard):
            constants = self.machine.constants(**row.values(constants))
            reason = self.machine.refuse(constants) if self.machine.refuse else None
            if reason:
                return RowOutcome(row, Purpose.REFUSED, why=reason)
            kernels = self._kernels_for(constants)
        options = replace(self.options, workers=1, stop_on_violation=True)
        search = MaskedSearch(self.machine, constants, self.properties, options, kernels=kernels, guard=guard)
        try:
            result = self._run(search)
            violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED]
            violated.sort(key=lambda item: item.path.length if item.path else 0)
            broken = tuple(item.name for item in violated if item.name in self.holding)
            if result.model_error is not None:
                purpose = Purpose.NEEDED if broken else Purpose.UNDETERMINED
                return RowOutcome(row, purpose, result, broken, why=str(result.model_error))
            if guard is not None:
                return self._compared(guard, search, result, broken)
        except DomainError as error:
            return RowOutcome(row, Purpose.UNDETERMINED, None, (), why=str(error))
        grown = not same_states(search, self.whole) if result.complete else None
        purpose = _purpose(broken, grown=grown, complete=result.complete) or Purpose.SAME
        return RowOutcome(row, purpose, result, broken, None, grown, why=result.why_stopped)

    def ask(self, why: str) -> bool:
        for search in self.running:
            search.ask(why)
        return super().ask(why)

    def _run(self, search: MaskedSearch) -> Result:
        self.running.append(search)
        search.stop_asked = self.stop_asked
        try:
            return search.run()
        finally:
            self.running.remove(search)

    def _compared(self, guard: Guard, search: MaskedSearch, result: Result, broken: tuple[str, ...]) -> RowOutcome:
        grown = True if result.distinct > self.base.distinct else None if not result.complete else False
        refused = 0 if guard.part else self.base.guards[search.numbers[guard.action, guard.number]].refused
        alone = None if grown is not False else result.generated - self.base.generated + search.left_steps
        purpose = _purpose(broken, grown=grown, complete=result.complete)
        if purpose is None and alone:
            purpose = Purpose.BOUND if search.left_steps == alone else Purpose.SAME
        elif purpose is None and not self.base.fired[guard.action]:
            purpose = Purpose.DEAD
        elif purpose is None:
            refuses = refused or guard.part or self.whole.refusals([guard])[guard]
            purpose = Purpose.IMPLIED if refuses else Purpose.IDLE
        return RowOutcome(guard, purpose, result, broken, search.departure(), grown, refused, alone, result.why_stopped)

    def _kernels_for(self, constants: Constants) -> Kernels:
        if self.kernels.serve(constants):
            return self.kernels
        source = self.kernels.source
        judged = source.state_properties + source.step_properties
        with self.compiling:
            return compiled(self.machine, constants, judged, normalize=self.options.normalize, masked=True)


def _purpose(broken: tuple[str, ...], *, grown: bool | None, complete: bool) -> Purpose | None:
    if broken:
        return Purpose.NEEDED
    if not complete:
        return Purpose.UNDETERMINED
    return Purpose.HARMLESS if grown else None


def explore_rows(ablation: Ablation, rows: tuple[Row, ...], workers: int, done: Callable[[RowOutcome], None]) -> None:
    """Explore the machine of each row in its own thread. Call `done` in the calling thread as each row completes."""
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    waiting = list(reversed(rows))
    with ThreadPoolExecutor(workers) as pool:
        pending = {pool.submit(ablation.explore, waiting.pop()) for _ in range(min(workers, len(waiting)))}
        while pending:
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                done(future.result())
                if waiting and not ablation.stop_asked:
                    pending.add(pool.submit(ablation.explore, waiting.pop()))
