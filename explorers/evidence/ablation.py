"""Ablation: one guard removed at a time, one constant set differently, and all properties checked.

A guard that is removed lets more happen and never less, so what the whole machine reaches is reached without the guard
too: if as many states are reached, they are the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock
from typing import TYPE_CHECKING

from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.masked import MaskedSearch, same_states
from fencepost.explorers.program.removal import Guard
from fencepost.explorers.verdict import Verdict, require_no_error
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.evidence.rows import Row, Setting
    from fencepost.explorers.native.compile import Kernels
    from fencepost.explorers.native.masked import Departure
    from fencepost.explorers.verdict import Options, Result
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


class Purpose(StrEnum):
    """Purpose of a guard or a setting, as far as a search at some constants can tell."""

    NEEDED = "needed"
    """Without it a property is violated that holds with it."""
    BOUND = "bound"
    """It keeps values in their domains, which would otherwise refuse the steps in its place: nothing else changes."""
    SAME = "same-states"
    """More steps can happen without it, all of them between states that are reached anyway."""
    IMPLIED = "implied"
    """It refuses only where another guard of the action refuses too."""
    IDLE = "not-exercised"
    """It never refuses: it is not needed, or the constants or the model never come to where it is."""
    DEAD = "never-fires"
    """Its action never happens at these constants, and does not without it either."""
    HARMLESS = "nothing-broke"
    """Without it other states are reached, and no property that was asked is violated in them."""
    REFUSED = "refused"
    """The machine refuses the setting together with the other constants."""
    UNDETERMINED = "undetermined"
    """The search ended without a decision."""


@dataclass(frozen=True)
class RowOutcome:
    """Result of a search without the guard, or with the setting.

    `refused` counts for how many steps the guard is the first to refuse in the whole machine, `alone` for how many it
    is the only one (None: unknown, but some, if other states are reached). `grown`: other states are reached.
    """

    row: Row
    purpose: Purpose
    result: Result | None = None
    broken: tuple[str, ...] = ()
    """The properties that hold in the whole machine and are violated here, the shortest trace first."""
    departure: Departure | None = None
    grown: bool | None = None
    refused: int = 0
    alone: int | None = None
    why: str = ""


class Ablation:
    """A machine explored as a whole, ready to be explored without each of its guards.

    Searches share compiled kernels with masks, so any number of them may run in threads.
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
        self.stop_asked = ""
        self.compiling = Lock()

    def explore_whole(self) -> Result:
        """Search the whole machine, which every row is compared with; its result must be complete."""
        options = replace(self.options, budget=None, max_states=None, stop_on_violation=False)
        self.whole = MaskedSearch(self.machine, self.constants, self.all_properties, options, kernels=self.kernels)
        self.base = require_no_error(self._run(self.whole))
        self.holding = tuple(item.name for item in self.base.properties if item.verdict is Verdict.HOLDS)
        return self.base

    def explore(self, row: Row) -> RowOutcome:
        """Search without a guard, or with a setting, by one worker."""
        if isinstance(row, Guard):
            return self._without(row)
        return self._with(row)

    def ask(self, why: str) -> bool:
        """Ask all searches to stop; return whether this is the first time."""
        first = not self.stop_asked
        self.stop_asked = self.stop_asked or why
        for search in self.running:
            search.stop_asked = search.stop_asked or why
        return first

    def _run(self, search: MaskedSearch) -> Result:
        self.running.append(search)
        search.stop_asked = self.stop_asked
        try:
            return search.run()
        finally:
            self.running.remove(search)

    def _options(self) -> Options:
        return replace(self.options, workers=1, stop_on_violation=True)

    def _broken(self, result: Result) -> tuple[str, ...]:
        found = [item for item in result.properties if item.verdict is Verdict.VIOLATED and item.name in self.holding]
        return tuple(item.name for item in sorted(found, key=lambda item: item.path.length if item.path else 0))

    def _without(self, guard: Guard) -> RowOutcome:
        search = MaskedSearch(
            self.machine, self.constants, self.properties, self._options(), kernels=self.kernels, guard=guard
        )
        try:
            result = self._run(search)
            return self._before_error(guard, result) or self._compared(guard, search, result)
        except DomainError as error:
            return RowOutcome(guard, Purpose.UNDETERMINED, None, (), why=str(error))

    def _before_error(self, row: Row, result: Result) -> RowOutcome | None:
        """Return the outcome of a row in which the model raised an error after a violation; None if it raised none."""
        if result.model_error is None:
            return None
        broken = self._broken(result)
        purpose = Purpose.NEEDED if broken else Purpose.UNDETERMINED
        return RowOutcome(row, purpose, result, broken, why=str(result.model_error))

    def _compared(self, guard: Guard, search: MaskedSearch, result: Result) -> RowOutcome:
        grown = True if result.distinct > self.base.distinct else None if not result.complete else False
        refused = 0 if guard.part else self.base.guards[search.numbers[guard.action, guard.number]].refused
        alone = None if grown is not False else result.generated - self.base.generated + search.left_steps
        broken = self._broken(result)
        purpose = self._purpose(broken, search, grown=grown, alone=alone, complete=result.complete)
        if purpose is Purpose.IMPLIED and not self.base.fired[guard.action]:
            purpose = Purpose.DEAD
        elif purpose is Purpose.IMPLIED and not refused and not guard.part and not self.whole.refusals([guard])[guard]:
            purpose = Purpose.IDLE
        return RowOutcome(guard, purpose, result, broken, search.departure(), grown, refused, alone, result.why_stopped)

    def _purpose(
        self, broken: tuple[str, ...], search: MaskedSearch, *, grown: bool | None, alone: int | None, complete: bool
    ) -> Purpose:
        if broken:
            return Purpose.NEEDED
        if not complete:
            return Purpose.UNDETERMINED
        if grown:
            return Purpose.HARMLESS
        if not alone:
            return Purpose.IMPLIED
        return Purpose.BOUND if search.left_steps == alone else Purpose.SAME

    def _kernels_for(self, constants: Constants) -> Kernels:
        """Return kernels that have room for these constants: the whole machine's, or others compiled now."""
        if self.kernels.serve(constants):
            return self.kernels
        source = self.kernels.source
        judged = source.state_properties + source.step_properties
        with self.compiling:
            return compiled(self.machine, constants, judged, normalize=self.options.normalize, masked=True)

    def _with(self, setting: Setting) -> RowOutcome:
        values = {**self.constants.values, setting.constant: setting.value}
        constants = self.machine.constants(**values)
        reason = self.machine.refuse(constants) if self.machine.refuse else None
        if reason:
            return RowOutcome(setting, Purpose.REFUSED, why=reason)
        search = MaskedSearch(
            self.machine, constants, self.properties, self._options(), kernels=self._kernels_for(constants)
        )
        try:
            result = self._run(search)
        except DomainError as error:
            return RowOutcome(setting, Purpose.UNDETERMINED, None, (), why=str(error))
        before = self._before_error(setting, result)
        if before is not None:
            return before
        grown = not same_states(search, self.whole) if result.complete else None
        broken = self._broken(result)
        purpose = (
            Purpose.NEEDED
            if broken
            else Purpose.UNDETERMINED
            if not result.complete
            else Purpose.HARMLESS
            if grown
            else Purpose.SAME
        )
        return RowOutcome(setting, purpose, result, broken, None, grown, why=result.why_stopped)


def explore_rows(ablation: Ablation, rows: tuple[Row, ...], workers: int, done: Callable[[RowOutcome], None]) -> None:
    """Explore rows side by side, each by one thread; `done` is called in this thread, in the order of finishing."""
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
