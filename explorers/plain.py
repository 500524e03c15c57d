"""The reference search: breadth-first, under the plain semantics, and short enough to review in full. Tests compare the
counts, depths, verdicts and coverage of the fast engines with those of this search.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from fencepost.explorers import verdict
from fencepost.explorers.liveness.reference import judge, with_behaviours
from fencepost.explorers.paths import with_late_faults, with_way
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.explorers.running.interrupts import Signals, Stoppable, peak_memory
from fencepost.explorers.verdict import ENOUGH
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.bounds import DROPPED
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Path, Transition
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key
from fencepost.model.language.symmetry import Symmetry


class PlainSearch(Stoppable):
    def __init__(
        self, machine: Machine, constants: Constants, properties: tuple[Property, ...], options: verdict.Options
    ) -> None:
        self.machine, self.properties, self.options = machine, properties, options
        symmetry = Symmetry(machine, constants) if options.symmetry else None
        self.plain = Interpreter(machine, constants, normalize=options.normalize, symmetry=symmetry)
        self.constants = constants
        if options.symmetry:
            from fencepost.explorers.program.ir.interchange import require_interchangeable

            require_interchangeable(translate(machine, properties), constants)
        self.guards = guards_of(check(machine, properties))
        self.parents: dict[Key, Key | None] = {}
        self.decided: dict[str, tuple[Key, Transition | None]] = {}
        self.sure: dict[str, tuple[Key, Transition | None]] = {}
        """The decisions made before the current level was expanded."""
        self.fired: Counter[str] = Counter({item.label: 0 for item in machine.actions})
        self.refused: Counter[tuple[str, int]] = Counter()
        self.reached: Counter[str] = Counter()
        self.counting: set[str] = set()
        self.together: set[str] = set()
        self.generated = 0
        self.steps = dict.fromkeys(self.fired, 0)
        """For each action, the sum of the hashes of its steps."""
        self.ends: list[Key] = []
        self.levels: list[int] = []
        self.at: Key | None = None
        self.graph: dict[Key, list[Transition]] | None = None

    def run(self) -> verdict.Result:
        began = time.perf_counter()
        try:
            with Signals(self.ask):
                why = self.levels_from(self.plain.initial_states(), began)
        except DomainError as raised:
            error = raised
            if self.at is not None:
                left = [item for item in self.properties if item.name not in self.decided]
                error = with_way(self.plain, left, self.path(self.at, None), raised)
            self.decided = self.sure
            if not self.violated():
                raise error from error.__cause__  # the cause contains the line of the model
            return replace(
                self.result(verdict.LEFT, time.perf_counter() - began), problems=(verdict.model_error(error),)
            )
        return self.result(why, time.perf_counter() - began)

    def levels_from(self, level: list[Key], began: float) -> str:
        self.generated = len(level)
        self.parents = dict.fromkeys(level)
        why = ""
        while level and not why:
            self.levels.append(len(level))
            for state in level:
                self.judge(state)
            self.sure = dict(self.decided)
            if self.options.stop_on_violation and self.violated():
                why = verdict.VIOLATED
            elif self.options.max_depth is not None and len(self.levels) >= self.options.max_depth:
                why = verdict.deep_enough(self.options.max_depth)
            else:
                level, why = self.expand(level, began)
                if why:
                    for state in level:
                        self.judge(state)
                    self.levels += [len(level)] if level else []
        return why

    def expand(self, level: list[Key], began: float) -> tuple[list[Key], str]:
        reached: list[Key] = []
        self.counting = {name for name in self.guards.declared if self.reached[name] < ENOUGH}
        for number, state in enumerate(level):
            why = self.limit(time.perf_counter() - began, 0 if number % 100 else peak_memory())
            if why:
                return reached, why
            alive = False
            for transition in self.transitions(state):
                alive = True
                self.generated += 1
                self.fired[transition.step.action.label] += 1
                self.judge_step(state, transition)
                self.steps[transition.step.action.label] += hash((state, transition.step.args, transition.after))
                if transition.after not in self.parents:
                    self.parents[transition.after] = state
                    reached.append(transition.after)
            if not alive:
                self.ends.append(state)
        return reached, ""

    def transitions(self, state: Key) -> Iterator[Transition]:
        self.at = state
        reached: set[str] = set()
        for item in self.machine.actions:
            for step in self.plain.steps(item, state):
                DROPPED.clear()
                try:
                    transition = self.plain.apply(state, step)
                    reached |= DROPPED
                    yield transition
                except DisabledError as error:
                    number = self.guards.refused(item, error)
                    self.refused[item.name, number] += 1
                    if self.guards.bounds[item.name][number] is not None:
                        refusing = self.plain.refusing(state, step, len(self.guards.bounds[item.name]))
                        (reached if len(refusing) == 1 else self.together).update(refusing)
        self.reached.update(reached & self.counting)

    def judge(self, state: Key) -> None:
        self.at = state
        for item in self.properties:
            undecided = not item.over_steps and item.name not in self.decided
            if undecided and self.plain.holds(item, state) is (item.kind is Kind.SOMETIMES):
                self.decided[item.name] = (state, None)

    def judge_step(self, before: Key, transition: Transition) -> None:
        for item in self.properties:
            if item.over_steps and item.name not in self.decided:
                applies = item.on is None or item.on.name == transition.step.action.name
                if applies and self.plain.holds_step(item, before, transition) is (item.kind is Kind.SOMETIMES):
                    self.decided[item.name] = (before, transition)

    def violated(self) -> bool:
        return any(item.name in self.decided and item.kind is not Kind.SOMETIMES for item in self.properties)

    def limit(self, seconds: float, memory: int) -> str:
        return self.stop_asked or self.options.limit(seconds, len(self.parents), memory)

    def path(self, state: Key, prop: Property | None) -> Path:
        chain: list[Key] = []
        at: Key | None = state
        while at is not None:
            chain.append(at)
            at = self.parents[at]
        chain.reverse()
        path = self.plain.retrace(chain)
        return path if prop is None else with_late_faults(self.plain.exact, self.plain.decided(path, prop), prop)

    def behaviour(self, prop: Property) -> verdict.PropertyResult:
        if self.graph is None:
            self.graph = {key: list(self.plain.transitions(key)) for key in self.parents}
        return judge(self.plain, self.graph, self.plain.initial_states(), prop)

    def result(self, why: str, seconds: float) -> verdict.Result:
        return verdict.Result(
            protocol=self.machine.name,
            constants=self.constants.shown,
            engine="plain",
            workers=1,
            complete=not why,
            why_stopped=why,
            distinct=len(self.parents),
            generated=self.generated,
            depth=len(self.levels),
            seconds=seconds,
            properties=tuple(self.property_result(item, complete=not why) for item in self.properties),
            fired=dict(self.fired),
            guards=tuple(
                verdict.GuardCount(item.label, text, self.refused[item.name, number])
                for item in self.machine.actions
                for number, text in enumerate(self.guards.texts(item))
            ),
            bounds=verdict.counted_bounds(self.constants, self.guards.declared, self.reached, self.together),
            deadlocks=len(self.ends),
            deadlock=self.path(self.ends[0], None) if self.options.deadlock and self.ends else None,
            levels=tuple(self.levels),
            symmetry=self.plain.alike,
        )

    def with_digest(self, result: verdict.Result, summed: verdict.Summed | None) -> verdict.Result:
        names = summed(result) if summed and result.complete else None
        if names is None:
            return result
        sums = (self.steps[self.machine.action(name).label] for name in names)
        return replace(result, digest=hash((frozenset(self.parents), *sums)))

    def property_result(self, item: Property, *, complete: bool) -> verdict.PropertyResult:
        found = self.decided.get(item.name)
        return verdict.judged(item, None if found is None else self.path(found[0], item), complete=complete)


def search(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...] = (),
    options: verdict.Options | None = None,
    summed: verdict.Summed | None = None,
) -> verdict.Result:
    """Explore every reachable state and check properties. `explorers.search` explains `summed`."""
    verdict.refuse_symmetric_behaviours(properties, options or verdict.Options())
    verdict.refuse_negative_limits(properties, constants)
    of_states = tuple(item for item in properties if not item.kind.over_behaviours)
    if of_states != properties:
        check(machine, properties)
    made = PlainSearch(machine, constants, of_states, options or verdict.Options())
    return with_behaviours(made.with_digest(made.run(), summed), properties, made.behaviour)
