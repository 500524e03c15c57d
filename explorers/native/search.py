"""Breadth-first search in compiled code, partitioned by owner, with the same result for any number of workers.
`expansion.py` processes the states. This module determines the order of work, and the limits and results of a search.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fencepost.explorers import verdict
from fencepost.explorers.native.compile import Kernels, Source, as_forced, begin, forced, generate
from fencepost.explorers.native.expansion import Expansion, processors
from fencepost.explorers.native.store import Progress, TooManyStates
from fencepost.explorers.native.tiers import Tiers
from fencepost.explorers.running.interrupts import Signals, Stoppable
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError, UnkeptError
from fencepost.model.language.machine import Machine


class Search(Stoppable, Expansion):
    def __init__(
        self,
        machine: Machine,
        constants: Constants,
        properties: tuple[Property, ...],
        options: verdict.Options,
        *,
        kernels: Kernels | None = None,
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        kernels = kernels or begin(
            generate(machine, constants, properties, normalize=options.normalize, symmetry=options.symmetry)
        )
        kernels = as_forced(kernels, constants)
        kernels.must_judge(properties)
        super().__init__(machine, constants, properties, options, kernels, kernels.under(constants))
        self.tell = tell
        self.tiers = Tiers(kernels, constants, forced())
        self.sure: dict[str, int] = {}
        """Findings from before the current level."""
        self.pause_at: int | None = None
        """Size of the level at which the search pauses to let another engine continue; None means never."""
        self.paused = False
        self.advanced = not options.resume
        """Whether the time limit applies. A resumed search first completes one round, to make progress."""

    # -- the search

    def run(self) -> verdict.Result:
        if self.options.resume:
            from fencepost.explorers.native.checkpoint import load

            load(self)
        began = time.perf_counter()  # loading and verifying a checkpoint does not count towards the budget
        earlier = self.position.seconds
        why = ""
        with self.pool, Signals(self.ask):
            if self.position.levels:
                self.count_bounds(self.position.counting)
            else:
                self.begin()
                self.open_level()
                self.judge()
            try:
                why = self._levels(began)
            except TooManyStates as error:
                why = str(error)
            except DomainError as error:
                self.position.found, self.position.seconds = self.sure, earlier + time.perf_counter() - began
                if not self._violated():
                    raise
                return replace(
                    self._result(verdict.LEFT),
                    distinct=sum(self.position.levels),
                    depth=self.position.depth,
                    problems=(verdict.model_error(error),),
                )
            self.position.seconds = earlier + time.perf_counter() - began
        result = self._result(why)
        return self.keep(result) if why else result

    def keep(self, result: verdict.Result) -> verdict.Result:
        if not self.options.checkpoint:
            return result
        from fencepost.explorers.native.checkpoint import save

        try:
            save(self)
        except UnkeptError as error:
            return replace(result, problems=(verdict.not_kept(error),))
        return replace(result, kept=True)

    def _levels(self, began: float) -> str:
        while True:
            self.sure = dict(self.position.found)
            if self.options.stop_on_violation and self._is_enough():
                return verdict.VIOLATED
            if self.options.max_depth is not None and self.position.depth >= self.options.max_depth:
                return verdict.deep_enough(self.options.max_depth)
            if self.pause_at is not None and self.position.levels[-1] >= self.pause_at:
                self.paused = True
                return f"a level has {self.position.levels[-1]:,} states"
            why = self._expand_level(began)
            if why:
                return why
            grown = self.distinct - sum(self.position.levels)
            if not grown:
                return ""
            self.position.levels.append(grown)
            self.position.depth += 1
            self.open_level()

    def _expand_level(self, began: float) -> str:
        rounds = self.rounds()
        for number in range(self.position.next_round, len(rounds)):
            why = self.limit(time.perf_counter() - began if self.advanced else 0.0, self.distinct)
            if why:
                self.before_judging = (list(self.position.judged), dict(self.position.found))
                self.judge()
                return why
            self._change_over()
            self.round(rounds[number])
            self.position.next_round, self.advanced = number + 1, True
            if self.tell is not None:
                self.tell(self.progress(time.perf_counter() - began, (number + 1) / len(rounds)))
        self.judge()
        return ""

    def _change_over(self) -> None:
        """Switch to optimized code once it exists. Leave one processor free while code is compiled."""
        self.change_to(self.tiers.after(self.position.levels))
        self.pool.resting = int(self.tiers.waits and 1 < self.workers >= processors())

    # -- limits

    def _violated(self) -> bool:
        bad = {item.name for item in self.properties if item.kind is not Kind.SOMETIMES}
        return bool(bad & set(self.position.found))

    def _is_enough(self) -> bool:
        return self._violated()

    def limit(self, seconds: float, distinct: int) -> str:
        is_limited = self.options.memory is not None  # adding up the memory takes as long as expanding a small round
        memory = self.store_bytes - self.spilled_bytes + self.slack if is_limited else 0
        return self.stop_asked or self.options.limit(seconds, distinct, memory)

    # -- findings

    @property
    def compiled(self) -> tuple[verdict.Compiled, ...]:
        return tuple(verdict.Compiled(item.tier, item.seconds, item.memory) for item in self.tiers.used)

    def _result(self, why: str) -> verdict.Result:
        complete = not why
        deadlock = None
        if self.options.deadlock and self.position.deadlock >= 0:
            deadlock = self.way_to(self.position.deadlock)
        fired, refused = self.fired(), self.refused()
        return self.answer(
            why,
            fired,
            refused,
            engine="native",
            workers=self.workers,
            distinct=self.distinct,
            generated=self.generated,
            depth=self.position.depth
            if complete or not self.distinct > sum(self.position.levels)
            else self.position.depth + 1,
            seconds=self.position.seconds,
            properties=tuple(self._judged(item, complete=complete) for item in self.properties),
            deadlocks=self.deadlocks(),
            deadlock=deadlock,
            store_bytes=self.store_bytes,
            spilled_bytes=self.spilled_bytes,
            compiled=self.compiled,
            levels=tuple(self.position.levels),
            symmetry=self.plain.alike,
            omission=min(1.0, self.distinct**2 / 2.0**65) if self.options.compact else 0.0,
        )

    def answer(self, why: str, fired: Sequence[int], refused: Sequence[int], **found: Any) -> verdict.Result:
        source = self.kernels.source
        return verdict.Result(
            protocol=self.machine.name,
            constants=self.constants.shown,
            complete=not why,
            why_stopped=why,
            fired={item.label: count for item, count in zip(self.machine.actions, fired, strict=True)},
            guards=tuple(
                verdict.GuardCount(action.replace("_", "-"), text, count)
                for (action, text), count in zip(source.guards, refused, strict=False)
            ),
            bounds=bounds_reached(source, self.constants, refused),
            **found,
        )

    def _judged(self, item: Property, *, complete: bool) -> verdict.PropertyResult:
        state = self.position.found.get(item.name)
        return verdict.judged(item, None if state is None else self.way_to(state, item), complete=complete)


def bounds_reached(source: Source, constants: Constants, counters: Sequence[int]) -> tuple[verdict.BoundCount, ...]:
    first, many = len(source.guards), len(source.bounds)
    states = dict(zip(source.bounds, counters[first : first + many], strict=True))
    together = {name for name, count in zip(source.bounds, counters[first + many :], strict=True) if count}
    return verdict.counted_bounds(constants, source.bounds, states, together)
