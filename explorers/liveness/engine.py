"""Verdicts on leads-to and at-most properties after a native search."""

import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from fencepost.explorers.liveness import calls
from fencepost.explorers.liveness.behaviours import THEN, WHEN, WORD, Analysis, FairAnswer, Terms
from fencepost.explorers.liveness.calls import StepMeaning
from fencepost.explorers.liveness.generated import Compiled, Graph, compiled, family
from fencepost.explorers.liveness.kernels import MOST_COST
from fencepost.explorers.liveness.reference import BehaviourFinding, beside_error, summary, with_behaviours
from fencepost.explorers.liveness.shown import confirmed
from fencepost.explorers.native.blame import blame
from fencepost.explorers.native.expansion import Expansion
from fencepost.explorers.running.interrupts import Signals, Stoppable, Stopped
from fencepost.explorers.verdict import Cause, PropertyResult, Reach, Reason, Result, out_of_time, undetermined
from fencepost.model.language.actions import Kind, Property
from fencepost.model.language.errors import DomainError, MismatchError
from fencepost.model.language.interpreter import Path

Array = np.ndarray[Any, Any]
CHUNK = 1 << 16
"""Number of edges whose costs are computed together; this requires copies of the rows at both ends of each edge."""


class Engine(Stoppable):
    compiled: Compiled

    def __init__(self, search: Expansion, properties: tuple[Property, ...], began: float) -> None:
        self.search, self.properties, self.began = search, properties, began

    def judge(self, result: Result, order: tuple[Property, ...]) -> Result:
        """Add verdicts on properties of behaviours, in this `order`; those left when time runs out are undetermined."""
        if not result.complete:
            return with_behaviours(result, order, undetermined)
        found: dict[str, PropertyResult] = {}
        why = ""
        with Signals(self.ask):
            try:
                self._limit_memory()
                self.prepare()
                places = {prop.name: place for place, prop in enumerate(family(self.search.machine, self.properties))}
                for prop in self.properties:
                    found[prop.name] = self.one(places[prop.name], prop)
            except Stopped as error:
                why = error.why
            except DomainError as error:
                return beside_error(error, result, order, found)
        made = with_behaviours(result, order, lambda prop: found.get(prop.name) or undetermined(prop))
        seconds = time.perf_counter() - self.began
        return replace(
            made, complete=not why, why_stopped=why, seconds=max(result.seconds, seconds - self.compile_seconds)
        )

    @property
    def compile_seconds(self) -> float:
        return self.compiled.seconds if hasattr(self, "compiled") else 0.0

    def prepare(self) -> None:
        search = self.search
        options, seconds = search.options, search.position.seconds
        self.compiled = compiled(
            search.machine, search.constants, self.properties, normalize=options.normalize, searched=seconds
        )
        self.graph = Graph(search, self.compiled, self.pause)
        self.rows = self.graph.build()
        self.parents = self.graph.parents()
        self.depths = np.full(self.rows.states, -1, np.int32)
        self.c = self.compiled.predicates.constants(search.constants)
        self.transitions = [self.decoded(int(code)) for code in self.graph.codes]

    def decoded(self, code: int) -> StepMeaning:
        return self.compiled.codes.decoded(code)

    def one(self, number: int, prop: Property) -> PropertyResult:
        terms = self.terms(number, prop)
        findings = [self.finding(number, prop, terms, args) for args in self.search.plain.arguments(prop)]
        return summary(prop, self.search.constants, findings)

    def finding(self, number: int, prop: Property, terms: Terms, args: tuple[int, ...]) -> BehaviourFinding:
        self.pause()
        marks = self.marks(number, prop, args)
        whens = self.parents == -1 if prop.behaviour.when is None else marks & WHEN != 0
        begins = np.flatnonzero(whens & (marks & THEN == 0))
        analysis = Analysis(self.rows, terms, marks, begins, self.depth, self.pause)
        answer = analysis.run(partial(self.refuse, number, prop))
        if MOST_COST in (answer.worst, answer.best):
            raise DomainError(
                f"property {prop.name!r}: a path costs 2**63 - 1 or more, which the native engine cannot add up in 64 "
                "bits. Keep costs small, or use `engine='plain'`."
            )
        path = self.path(prop, args, answer) if answer.begin >= 0 else None
        return BehaviourFinding(args, answer.reach, answer.worst, answer.best, path, not whens.any(), answer.near)

    def predicate(self, name: str) -> tuple[Any, Array]:
        kernels = self.compiled.predicates
        return getattr(kernels.module, name), kernels.checks(self.search.constants)

    def marks(self, number: int, prop: Property, args: tuple[int, ...]) -> Array:
        mark, checks = self.predicate(f"mark_{number}")
        found = np.zeros(self.rows.states, np.uint8)
        values = np.array(args or (0,), np.int64)
        for owner, part in enumerate(self.search.partitions):
            base = int(self.graph.bases[owner])
            mark(checks, part.read(), 0, part.count, self.c, values, found[base : base + part.count])
            if checks[0]:
                self.explain(prop, self.search.layout.decode(part.row(int(checks[1]))), args)
                blame(self.search, int(checks[0]))
        return found

    def explain(self, prop: Property, key: Any, args: tuple[int, ...]) -> None:
        self.search.plain.says(prop, prop.behaviour.when, key, args)
        self.search.plain.says(prop, prop.behaviour.then, key, args)

    def depth(self, wanted: Array) -> Array:
        calls.depths(self.parents, wanted, self.depths)
        return self.depths

    # -- questions

    def terms(self, number: int, prop: Property) -> Terms:
        about, plain = prop.behaviour, self.search.plain
        gone = {item.name for item in about.without}
        numbers: dict[tuple[int, tuple[Any, ...]], int] = {}
        bits: list[list[int]] = []
        for step in self.transitions:
            own = []
            for place, fair in enumerate(about.fair):
                if step.action in gone or step.action not in [item.name for item in fair.actions]:
                    continue
                values = tuple(value for name in fair.each for value in step.of(name))
                own.append(numbers.setdefault((place, values), len(numbers)))
            bits.append(own)
        words = max(1, -(-len(numbers) // WORD))
        masks, strong = np.zeros((len(bits), words), np.uint64), np.zeros(words, np.uint64)
        for row, own in enumerate(bits):
            for bit in own:
                masks[row, bit // WORD] |= np.uint64(1 << bit % WORD)
        for (place, _), bit in numbers.items():
            if about.fair[place].strong:
                strong[bit // WORD] |= np.uint64(1 << bit % WORD)
        allowed = np.array([step.action not in gone for step in self.transitions] or [True])
        if prop.kind is Kind.LEADS_TO:
            return Terms(masks, strong, allowed)
        if callable(about.costs):
            return Terms(masks, strong, allowed, np.zeros(len(bits), np.int64), self.costs(number))
        paid = {name: cost.value(plain.constants.values) for name, cost in about.costs or ()}
        by_class = [max(-1, min(paid.get(step.action, 0), MOST_COST)) for step in self.transitions]
        return Terms(masks, strong, allowed, np.array(by_class, np.int64))

    def costs(self, number: int) -> Array:
        """Return each edge's cost. A cost of -1 causes an error if the edge lies between `when` and `then`."""
        cost, checks = self.predicate(f"cost_{number}")
        found = np.empty(len(self.rows.targets), np.int64)
        first = 0
        while first < len(found):
            self.pause()
            edges = np.arange(first, min(first + CHUNK, len(found)))
            cost(checks, *self.both_sides(edges), len(edges), self.c, found[first : first + len(edges)])
            first += len(edges)
            if checks[0]:
                first = int(edges[int(checks[1])]) + 1
                found[first - 1] = -1
                cost, checks = self.predicate(f"cost_{number}")
        return found

    def both_sides(self, edges: Array) -> tuple[Array, Array]:
        before = self.graph.gather(np.searchsorted(self.rows.offsets, edges, side="right") - 1)
        return before, self.graph.gather(self.rows.targets[edges].astype(np.int64))

    def check_failed(self, number: int, edge: int) -> int:
        cost, checks = self.predicate(f"cost_{number}")
        cost(checks, *self.both_sides(np.array([edge])), 1, self.c, np.empty(1, np.int64))
        return int(checks[0])

    def refuse(self, number: int, prop: Property, edge: int) -> None:
        key = self.graph.state(self.rows.source(edge))
        gone = {item.name for item in prop.behaviour.without}
        for transition in self.search.plain.transitions(key):
            if transition.step.action.name not in gone:
                self.search.plain.cost(prop, key, transition)
        blame(self.search, self.check_failed(number, edge) if callable(prop.behaviour.costs) else 0)

    # -- displayed paths

    def path(self, prop: Property, args: tuple[int, ...], answer: FairAnswer) -> Path:
        prefix = self.search.way_to(self.graph.in_search(answer.begin))
        steps, states = list(prefix.steps), list(prefix.states)
        for edge in (*answer.stem, *answer.loop):
            wanted = self.graph.state(int(self.rows.targets[edge]))
            code = int(self.graph.codes[self.rows.classes[edge]])
            codes = self.compiled.codes
            for transition in self.search.plain.transitions(states[-1]):
                if transition.after == wanted and codes.of(transition.step) == code:
                    steps.append(transition.step)
                    states.append(wanted)
                    break
            else:
                raise MismatchError(
                    f"property {prop.name!r}: the plain semantics cannot take step {len(states)} of a path that the "
                    "engine found. The engines disagree: please report this."
                )
        loop = None if answer.reach is Reach.BOUNDED else len(states) - 1 - len(answer.loop)
        made = Path(prefix.start, tuple(steps), tuple(states), loop)
        return confirmed(self.search.plain, prop, args, made, answer.reach, answer.worst)

    # -- limits

    def pause(self) -> None:
        if self.stop_asked:
            raise Stopped(self.stop_asked)
        budget = self.search.options.budget
        if budget is not None and time.perf_counter() - self.began - self.compile_seconds > budget:
            raise Stopped(out_of_time(budget))

    def _limit_memory(self) -> None:
        search = self.search
        edges = search.generated - search.position.initial
        needed = search.store_bytes + PER_EDGE * edges + PER_STATE * search.distinct
        limit = search.options.memory
        if limit is not None and needed > limit:
            why = (
                f"the memory limit of {limit / 2**20:,.0f} MiB is too small for the graph of {search.distinct:,} "
                f"states and {edges:,} steps, which needs about {needed / 2**20:,.0f} MiB"
            )
            raise Stopped(Reason(why, Cause.MEMORY))


PER_EDGE, PER_STATE = 8, 120
"""Maximum memory of the graph and its analysis, in bytes per step and per state, with up to 64 fairness constraints."""
