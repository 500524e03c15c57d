"""Claims beside verdicts of random machines, each of which a search by the definition tries to refute.

The machines are small, and made for it: bounds that guards, effects, domains and properties read, budgets that are
asked for more than whether there is some, a switch, constants that are refused.
"""

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from fencepost import api
from fencepost.api.answers import growing, results
from fencepost.api.answers.growing import MANY_CELLS
from fencepost.api.answers.results import Base
from fencepost.api.asking.targets import ask as question_of
from fencepost.api.calls import base
from fencepost.api.calls.ablate import ablate
from fencepost.api.topics import claims, measured, version_notes
from fencepost.counterexamples.prevention import is_prevented
from fencepost.explorers import plain, verdict
from fencepost.explorers.evidence import ablation, faults
from fencepost.explorers.native import compile as compiling
from fencepost.explorers.native.llvm.objects import CHEAP
from fencepost.explorers.program.removal import Guard, find_guard, guards, without
from fencepost.explorers.verdict import BoundCount, Verdict
from fencepost.model.language import Kind, Machine, Property, Range
from fencepost.model.language.errors import DisabledError, DomainError, FencepostError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key

from tests.helpers.search import Found, Search
from tests.random_machines import evidence
from tests.random_machines.engines import load

Cell = Mapping[str, int]

HEADER = """
from typing import Annotated
from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, fits, require, smallest
from fencepost.model.language import sometimes, step, switch
"""
NATIVE = 12  # one of so many machines has its faults counted by compiled code
PLANTED = 60  # one of so many machines is asked with planted mistakes too
ARGUED = 1_000_000  # the number of the first machine whose actions have arguments
GRID = 24  # cells that are looked at to see whether a claim about some of them could have failed


def text_of(seed: int) -> str:
    return Draw(random.Random(seed), argued=seed >= ARGUED).text()  # noqa: S311 (no secret)


class Draw:
    def __init__(self, chosen: random.Random, *, argued: bool = False) -> None:
        self.chosen, self.argued = chosen, argued
        self.bounds = ["n", *(name for name, chance in (("m", 60), ("k", 45)) if self.chance(chance))]
        self.budgets = [name for name, chance in (("crashes", 65), ("fences", 45)) if self.chance(chance)]
        self.defaults: dict[str, int] = {}

    def chance(self, percent: int) -> bool:
        return self.chosen.randrange(100) < percent

    def number(self, strange: int = 18) -> str:
        if self.chance(strange):
            left = [f"s.budget.{name}" for name in self.budgets] if self.chance(50) else []
            return self.chosen.choice([*left, *(f"c.{name}" for name in self.bounds + self.budgets)])
        return self.chosen.choice(["s.x", "s.y", "s.z"])

    def condition(self, strange: int = 18) -> str:
        other = self.number(strange) if self.chance(25) else str(self.chosen.randrange(5))
        more = f" {self.chosen.choice(['and', 'or'])} {self.condition(strange)}" if self.chance(20) else ""
        return f"{self.number(strange)} {self.chosen.choice(['<', '<=', '>', '>=', '==', '!='])} {other}{more}"

    def compared(self) -> str:
        """Return a comparison of what happened with what may happen of something else."""
        constant = self.chosen.choice(self.bounds + self.budgets)
        number, sign = self.number(0), self.chosen.choice(["<=", "<=", ">=", "!="])
        return f"{number} {sign} c.{constant} + {self.chosen.choice('001')}"

    def elsewhere(self) -> str:
        """Return a comparison that does not hold in a cell beside those that growth searches first."""
        names = self.bounds + self.budgets
        low, *_, high = sorted(self.chosen.choices(names, k=2), key=names.index)
        return f"c.{low} != {self.defaults[low]} or c.{high} != {self.defaults[high] + 1}"

    def effect(self) -> str:
        name = self.chosen.choice("xyz")
        by = self.chosen.choice(["1", "1", "2", "1 + (1 if c.fast else 0)"])
        return self.chosen.choice([f"s.{name} = min(s.{name} + {by}, 6)"] * 3 + [f"s.{name} = 0", f"s.{name} += {by}"])

    def action(self, name: str, lines: list[str]) -> list[str]:
        guards = [f"require({self.condition(8)})"] if self.chance(35) else []
        guards += [f"require({self.condition(0)} or not c.fast)"] if self.chance(15) else []
        first = [line for line in lines if line.startswith("require")]
        domain, given = ("i=Range(0, 1)", ", i: int") if self.argued and self.chance(70) else ("", "")
        if given:
            guards += [f"require(i == {self.chosen.randrange(2)} or {self.condition(5)})"] if self.chance(40) else []
            by = self.chosen.choice(["i", "(1 - i)", "2 * i"])
            lines = [*lines[:-1], re.sub(r"\b[012]\b", by, lines[-1], count=1)]
        head = [f"@action({domain})", f"def {name}(s: State, c: C{given}) -> None:", '    "It acts."']
        rest = [*guards, *first, *(line for line in lines if line not in first)]
        return [*head, *(f"    {line}" for line in rest)]

    def bounded(self, name: str) -> list[str]:
        count = {"n": "s.x", "m": "s.y", "k": "s.z"}[name]
        if name == "k" and self.chance(40):
            return self.action("fill", [f"if fits({count} < c.k, bound=C.k):", f"    {count} += 1"])
        lines = [f"require({count} < c.{name}, bound=C.{name})", f"{count} += 1", self.effect()]
        return self.action(f"by_{name}", lines[: 2 + self.chance(20)])

    def spending(self, name: str) -> list[str]:
        left = f"s.budget.{name}"
        asked = self.chosen.choice([f"{left} > 0"] * 4 + [f"0 < {left}", f"{left} >= 1", f"{left} != 0", f"{left} > 1"])
        asked += f" and {self.condition(5)}" if self.chance(15) else ""
        return self.action(f"spend_{name}", [f"require({asked}, bound=C.{name})", f"{left} -= 1", self.effect()])

    def text(self) -> str:
        lines = ["class C(Constants):"]
        for name in self.bounds + self.budgets:
            high = self.chosen.choice([2, 2, 3])
            self.defaults[name] = self.chosen.choice([1, 1, 2, high] if name in self.budgets else [1, 1, 2])
            lines.append(f'    {name} = bound({self.defaults[name]}, low=0, high={high}, meaning="{name}")')
        lines.append('    fast = switch(default=False, meaning="faster")')
        if self.budgets:
            lines += ["class Budget(Record):"]
            lines += [f"    {name}: Annotated[int, Range(0, C.{name})]" for name in self.budgets]
        lines += ["class State(Record):", *["    budget: Budget"] * bool(self.budgets)]
        for name in "xyz":
            high = self.chosen.choice(["9"] * 8 + [f"C.{self.chosen.choice(self.bounds + self.budgets)} + 3"])
            lines.append(f"    {name}: Annotated[int, Range(0, {high})]")
        lines += ["@action()", "def initial(s: State, c: C) -> None:", '    "It starts."']
        lines += [f"    s.budget.{name} = c.{name}" for name in self.budgets]
        lines += [f"    s.z = min(c.{self.chosen.choice(self.bounds)}, 1)"] if self.chance(10) else []
        names = []
        made = [*map(self.bounded, self.bounds), *map(self.spending, self.budgets)]
        if self.chance(60):
            made.append(self.action("settle", [f"require({self.condition(40)})", self.effect()]))
        for item in made:
            lines += item
            names.append(item[1].split()[1].partition("(")[0])
        if self.chance(20):
            low = self.chosen.choice(self.bounds)
            other = self.chosen.choice(self.bounds + self.budgets)
            refused = f"c.{low} == {self.chosen.randrange(1, 4)} and c.{other} != {self.chosen.randrange(3)}"
            lines += ["def refuse(c):", f'    return "they do not go together" if {refused} else None']
        refuse = ", refuse=refuse" if "def refuse(c):" in lines else ""
        for number in range(2):
            value = self.compared() if self.chance(35) else self.condition()
            value += f" or {self.condition()}" if self.chance(50) else f" or {self.elsewhere()}"
            lines += judged_as("@always", f"always_{number}(s: State, c: C)", "It is so.", value)
        lines += judged_as("@sometimes", "witness(s: State, c: C)", "It happens.", self.condition())
        name, most = self.chosen.choice("xyz"), self.chosen.randrange(2, 6)
        value = f"after.{name} < {most} or before.x == after.x"
        lines += judged_as("@step()", "steps(before: State, after: State, c: C)", "It moves so.", value)
        lines += [f'MACHINE = Machine("m", "m", State, C, initial, ({", ".join(names)},){refuse})']
        lines += ["PROPERTIES = (always_0, always_1, witness, steps)"]
        return HEADER + "\n".join(lines) + "\n"


def judged_as(word: str, head: str, sentence: str, value: str) -> list[str]:
    return [word, f"def {head} -> bool:", f'    "{sentence}"', f"    return {value}"]


class Seen(NamedTuple):
    """What a search of a cell saw: which properties are as they must be, as far as that is decided, and its size."""

    good: dict[str, bool]
    size: tuple[int, int]
    wrong: bool = False  # whether the model raises an error, before which the others are not decided


@dataclass
class Drawn:
    machine: Machine
    properties: tuple[Property, ...]
    seed: int = 0
    found: dict[tuple[int, ...], Seen | None] = field(default_factory=dict)
    """By cell; None where the machine refuses it."""

    @cached_property
    def first(self) -> dict[str, int]:
        return {name: int(value) for name, value in self.machine.set_constants({}).values.items()}

    @cached_property
    def highs(self) -> dict[str, int]:
        return {name: int(item.high) for name, item in self.machine.constants.declared().items() if name != "fast"}

    def at(self, cell: Cell) -> Seen | None:
        values = {**self.first, **cell}
        key = tuple(values.values())
        if key not in self.found:
            self.found[key] = None
            with suppress(UsageError):
                self.found[key] = self.explored(values)
        return self.found[key]

    def explored(self, values: Cell) -> Seen:
        search = Search(self.machine, values, self.properties)
        wrong, found = ends_in_error(search), search.found
        return Seen(judged(found, self.properties, wrong=wrong), (found.distinct, found.generated), wrong)

    def differs(self, cell: Cell, prop: str, *, good: bool) -> bool:
        """Return whether a property has another verdict in a cell that the machine does not refuse."""
        found = self.at(cell)
        return found is not None and found.good.get(prop) is not good

    def grid(self) -> Iterator[dict[str, int]]:
        every = list(product(*(range(high + 1) for high in self.highs.values())))
        chosen = random.Random(self.seed).sample(every, min(GRID, len(every)))  # noqa: S311 (no secret)
        yield from (dict(zip(self.highs, values, strict=True)) for values in chosen)


class ByAnEngine(Drawn):
    """The same machine as the plain engine sees it: a second answer to whether a planted claim is false."""

    def explored(self, values: Cell) -> Seen:
        try:
            found = plain.search(self.machine, self.machine.set_constants(values), self.properties)
        except DomainError:
            return super().explored(values)  # an engine that ends in an error decides nothing
        known = [item for item in found.properties if item.verdict is not Verdict.UNDETERMINED]
        good = {item.name: item.verdict is Verdict.HOLDS for item in known}
        return Seen(good, (found.distinct, found.generated), not found.complete)


def ends_in_error(search: Search) -> bool:
    """Search to the end, and say whether the model raises an error before it."""
    try:
        for _ in search.levels():
            pass
    except DomainError:
        return True
    return False


def judged(found: Found, properties: tuple[Property, ...], *, wrong: bool) -> dict[str, bool]:
    """Return which properties are as they must be; before an error only what was met counts."""
    if wrong:
        return dict.fromkeys(found.violated, False) | {
            item.name: True for item in properties if item.kind is Kind.SOMETIMES and item.name in found.reached
        }
    return {
        item.name: item.name in found.reached if item.kind is Kind.SOMETIMES else item.name not in found.violated
        for item in properties
    }


@dataclass(frozen=True)
class Outcome:
    """A claim, how it is refuted (an empty string where it is not), and whether it could have been."""

    claim: Any
    refuted: str
    could_fail: bool


def stable(case: Drawn) -> Iterator[Outcome]:
    growth = api.check(case.machine, case.properties, engine="plain", grow=60).growth
    if growth is None or not growth.properties:
        return
    for claim in claims.stable_claims(growth):
        for item in growth.properties:
            named = claim.properties == "every verdict" or item.name in claim.properties.split(", ")
            if named and item.changes is None and (len(item.cells), item.box) == (len(claim.cells), claim.box):
                good = item.verdict == "holds"
                differs = any(case.differs(cell, item.name, good=good) for cell in case.grid())
                refuted = refute_stable(case, claim, item.name, good=good)
                yield Outcome(replace(claim, properties=item.name), refuted, differs)
    for item in growth.properties:
        if item.changes is not None:
            wrong = not case.differs(item.changes.cell, item.name, good=item.verdict == "holds")
            yield Outcome(item.changes, "the verdict does not change" if wrong else "", True)


def refute_stable(case: Drawn, claim: claims.Stable, prop: str, *, good: bool) -> str:
    cells = list(claim.cells)
    if claim.box:
        first, last = cells[0], cells[-1]
        ranges = [range(first[name], last[name] + 1) for name in first]
        cells = [dict(zip(first, values, strict=True)) for values in product(*ranges)]
        assert len(cells) <= MANY_CELLS
    return next((f"{prop} is another with {cell}" for cell in cells if case.differs(cell, prop, good=good)), "")


def tolerates(case: Drawn) -> Iterator[Outcome]:
    try:
        kinds = faults.choose_kinds(case.machine, case.machine.set_constants({}), ())
    except UsageError:
        return
    chosen = random.Random(case.seed)  # noqa: S311 (no secret)
    for prop in case.properties:
        if not prop.kind.must_hold or not kinds:
            continue
        costs = {kind: chosen.choice([0, 1, 1, 1, 3]) for kind in kinds}
        point = counted(case, prop, costs)
        if point is None or point["undetermined"]:
            continue
        claim = claims.Tolerates.of(point) or claims.Tolerates(-1, point["most"], point["least"])
        could_fail = any(broken(case, prop, {name: case.highs[name] for name in kinds}))
        yield Outcome(claim, refute_tolerates(case, prop, claim, point), could_fail)


def counted(case: Drawn, prop: Property, costs: dict[str, int]) -> Any:
    """Return what faults break a property, as JSON has it; None where the model goes wrong."""
    engine = "plain" if case.seed % NATIVE else "native"
    try:
        found = api.faults(case.machine, case.properties, prop=prop.name, costs=costs, engine=engine)
        return found.to_dict()["grid"][0]
    except DomainError:
        return None


def broken(case: Drawn, prop: Property, most: Cell) -> Iterator[dict[str, int]]:
    """Yield the faults up to `most` that break a property, whatever the machine refuses."""
    for values in product(*(range(count + 1) for count in most.values())):
        faults = dict(zip(most, values, strict=True))
        if violated_with(case, prop, faults):
            yield faults


def violated_with(case: Drawn, prop: Property, faults: Cell, *, bounded: bool = False) -> bool:
    """Return whether a property is violated before the model goes wrong, if it does."""
    constants = case.machine.set_constants({}).replace(**faults)
    if isinstance(case, ByAnEngine) and not bounded:
        try:
            return plain.search(case.machine, constants, (prop,)).of(prop.name).verdict is Verdict.VIOLATED
        except DomainError:
            return False
    search = Search(case.machine, case.first, (prop,))
    search.interpreter = Interpreter(case.machine, constants, bounded=bounded)
    ends_in_error(search)
    return prop.name in search.found.violated


def refute_tolerates(case: Drawn, prop: Property, claim: claims.Tolerates, point: Any) -> str:
    """Return the faults that refute a claim, or a front that is not that of all searches."""
    breaking = list(broken(case, prop, claim.most))
    for item in breaking:
        if claim.faults is None or sum(item.values()) <= claim.faults:
            return f"{item} break {prop.name}"
    costs = point["costs"]
    least = min((sum(count * costs[name] for name, count in item.items()) for item in breaking), default=None)
    if least != claim.least and claim.faults is not None:
        return f"the cheapest cost {least}"
    shown = [{name: item["faults"].get(name, 0) for name in claim.most} for item in point["front"]]
    minimal = [item for item in breaking if not any(is_covered(item, other) for other in breaking)]
    key = lambda item: sorted(item.items())  # noqa: E731 (an order)
    return "" if sorted(shown, key=key) == sorted(minimal, key=key) else f"all minimal ones are {minimal}"


def is_covered(item: Cell, other: Cell) -> bool:
    return other != item and all(other[name] <= item[name] for name in item)


def never_matters(case: Drawn) -> Iterator[Outcome]:
    """Ask which bounds add no state if they are larger, one of them or all."""
    found = api.check(case.machine, case.properties, engine="plain")
    if not found.complete:
        return
    names = [item.constant for item in found.bounds if not item.reached and item.constant in found.bounds_unshared]
    if names:
        claim = claims.NeverMatters(names)
        sizes = {seen.size for cell in case.grid() if (seen := case.at(cell))}
        yield Outcome(claim, refute_never_matters(case, claim), len(sizes) > 1)


def refute_never_matters(case: Drawn, claim: claims.NeverMatters) -> str:
    """Return larger values that add states, or make the model go wrong."""
    here = case.at({})
    for values in product(*(range(case.first[name], case.highs[name] + 1) for name in claim.bounds)):
        there = case.at(cell := dict(zip(claim.bounds, values, strict=True)))
        if there is not None and there != here:
            return f"{cell} gives {there} instead of {here}"
    return ""


def needed(case: Drawn) -> Iterator[Outcome]:
    must, found = without_each(case)
    rows = [row for row in found.data["rows"] if row["kind"] == "guard"]
    for claim in found.needed:
        could_fail = len(found.needed) < len(rows) or len(claim.properties) < len(must)
        yield Outcome(claim, refute_needed(case, claim), could_fail)


def without_each(case: Drawn) -> tuple[tuple[Property, ...], Any]:
    """Return the properties that must hold, and what the machine does without each guard."""
    must = tuple(item for item in case.properties if item.kind.must_hold)
    with patch.object(compiling, "load", partial(compiling.load, level=CHEAP)):  # it is as right, and sooner
        return must, ablate(case.machine, must, workers=1)


def not_needed(case: Drawn) -> Iterator[Outcome]:
    """Ask what each other guard is for: as far as properties and states go, nothing but what its purpose says."""
    _, found = without_each(case)
    for claim in found.unneeded:
        could_fail = bool(found.needed) or len({item["purpose"] for item in found.data["rows"]}) > 1
        yield Outcome(claim, refute_not_needed(case, claim.guard, claim.purpose), could_fail)


STEPS_OF = {
    "same-states": lambda more: more > 0, "bound": lambda more: more == 0, "implied": lambda more: more == 0,
    "not-exercised": lambda more: more == 0, "never-fires": lambda more: more == 0, "nothing-broke": None,
}  # fmt: skip
"""How many more steps there are without a guard of each purpose, where the states are the same ones."""


def refute_not_needed(case: Drawn, guard: str, purpose: str) -> str:
    """Return a property that is violated without the guard alone, or another number of states or steps."""
    constants, changed = case.machine.set_constants({}), without(case.machine, find_guard(case.machine, guard))
    whole, less = (Search(machine, case.first, case.properties) for machine in (case.machine, changed))
    less.interpreter = Interpreter(changed, constants, bounded=True)
    for search in (whole, less):
        ends_in_error(search)
    steps, one, other = STEPS_OF[purpose], whole.found, less.found
    if broken := other.violated.keys() - one.violated.keys():
        return f"{', '.join(broken)} is violated without {guard}"
    if steps is None or not one.violated.keys().isdisjoint(other.violated):  # a row ends where all are violated
        return ""
    if one.distinct != other.distinct or not steps(other.generated - one.generated):
        return f"{other.distinct} states and {other.generated} steps, not {one.distinct} and {one.generated}"
    found = find_guard(case.machine, guard)
    if found.part or purpose not in ("implied", "not-exercised"):
        return ""
    refuses = next(refusals(case, found), None) is not None
    return f"{guard} {'refuses' if refuses else 'never refuses'}" if refuses is (purpose == "not-exercised") else ""


def states_of(search: Search) -> Iterator[Key]:
    for level in search.levels():
        yield from level


def refusals(case: Drawn, guard: Guard) -> Iterator[Key]:
    """Yield the states in which a guard does not hold: its action happens without any guard, and not with it alone."""
    alone = case.machine
    for other in reversed([item for item in guards(alone) if item.action == guard.action and not item.part]):
        alone = alone if other.number == guard.number else without(alone, other)
    none = without(alone, next(item for item in guards(alone) if item.action == guard.action))
    one, other = (Interpreter(item, case.machine.set_constants({})) for item in (alone, none))
    for state in states_of(Search(case.machine, case.first)):
        if taken(other, guard.action, state) - taken(one, guard.action, state):
            yield state


def taken(interpreter: Interpreter, name: str, state: Key) -> set[tuple[Any, ...]]:
    """Return the arguments with which all guards of an action let it happen, wherever it leads."""
    found = set()
    for step in interpreter.steps(interpreter.machine.action(name), state):
        with suppress(DisabledError):
            with suppress(DomainError):
                interpreter.apply(state, step)
            found.add(step.args)
    return found


def varied(case: Drawn) -> Machine:
    """Return a variant: an action without a guard, dropped, renamed, another's, of another domain, or two swapped."""
    draw, machine = random.Random(case.seed), case.machine  # noqa: S311 (no secret)
    one, other = draw.sample(machine.actions, 2) if len(machine.actions) > 1 else machine.actions * 2
    whole = [item for item in guards(machine) if not item.part]
    gone, how = draw.choice(whole), draw.randrange(5 + any(item.params for item in machine.actions))
    swapped = {one.name: replace(one, function=other.function, params=other.params)}
    wide = next((item for item in machine.actions if item.params), one)
    parts = (
        {one.name: None},
        {one.name: replace(one, name="renamed")},
        swapped,
        swapped | {other.name: replace(other, function=one.function, params=one.params)},
        {gone.action.replace("-", "_"): without(machine, gone).action(gone.action)},
        {wide.name: replace(wide, params=(("i", Range(0, draw.randrange(3))),))},
    )[how]
    return machine.replacing(name="varied", sentence="something is another", **parts)


def in_base(machine: Machine) -> dict[str, str]:
    """Return the name in the base of each action of a variant."""
    own = {item.name for item in machine.base.actions}
    gone = next(iter(own - {item.name for item in machine.actions}), "")
    return {item.name: item.name if item.name in own else gone for item in machine.actions}


def does_nothing(case: Drawn) -> Iterator[Outcome]:
    """Ask whether a variant has the steps of its base."""
    variant = varied(case)
    try:
        found = api.check(variant, case.properties, engine="plain" if case.seed % NATIVE else "native")
    except (DomainError, ModelError):
        return
    if found.base not in (Base.SAME, Base.DIFFERS):
        return
    names = in_base(variant)
    one, other = (
        Counter(
            (state, names.get(step.step.action.name, step.step.action.name), step.step.args, step.after)
            for search in [Search(machine, case.first)]
            for state in states_of(search)
            for step in search.interpreter.transitions(state)
        )
        for machine in (variant, case.machine)
    )
    claim = claims.Same(case.machine.name, found.distinct) if found.base is Base.SAME else "differs"
    wrong = (one == other) is not (found.base is Base.SAME)
    yield Outcome(claim, f"{len(one)} steps and {len(other)} in the base" if wrong else "", True)


def allowed(case: Drawn) -> Iterator[Outcome]:
    """Ask which violations are due to what a variant replaces."""
    variant = varied(case)
    try:
        found = api.check(variant, case.properties, engine="plain")
    except (DomainError, ModelError):
        return
    violated = {item.name: item.path for item in found.properties if item.verdict is Verdict.VIOLATED and item.path}
    claim = version_notes.allows(question_of(variant, case.properties), found, violated, normalize=True)
    names = in_base(variant)
    for name in claim.properties if claim is not None else ():
        prop, path = next(item for item in case.properties if item.name == name), violated[name]
        steps = tuple(step._replace(action=case.machine.action(names[step.action.name])) for step in path.steps)
        alike = all(len(step.args) == len(step.action.params) for step in steps)
        refuted = refute_prevents(case, prop, replace(path, steps=steps), {}) if alike else "it has other parameters"
        yield Outcome(claims.Allows(case.machine.name, (name,)), refuted, True)


def cuts(case: Drawn) -> Iterator[Outcome]:
    """Ask in how many states each bound refused a step, or lost something, for its sake alone."""
    found = api.check(case.machine, case.properties, engine="plain" if case.seed % NATIVE else "native")
    actions = {item.name for item in case.machine.actions}
    for item in found.bounds if found.complete else ():
        fits = item.constant == "k" and "fill" in actions
        name = "fill" if fits else f"{'spend' if item.constant in HOLDS else 'by'}_{item.constant}"
        own = [it for it in guards(case.machine) if it.action == name.replace("_", "-") and not it.part]
        here = Interpreter(case.machine, case.machine.set_constants({}))
        there = here if fits else Interpreter(without(case.machine, own[-1]), here.constants)
        count = 0
        for state in states_of(Search(case.machine, case.first)):
            full = fits and here.schema.restore(state).z >= case.first["k"]
            count += any(full if fits else args not in taken(here, name, state) for args in taken(there, name, state))
        right = item.states <= count if item.at_least else item.states == count
        yield Outcome(claims.Cuts(item), "" if right and item.reached is (count > 0) else f"{count} states", count > 0)


HOLDS = ("crashes", "fences")  # the bounds of budgets


def refute_needed(case: Drawn, claim: claims.Needed) -> str:
    """Return a property that is not violated without the guard, or is with it."""
    changed = without(case.machine, find_guard(case.machine, claim.guard))
    one = type(case)(changed, case.properties)
    here = case.at({})
    for prop in case.properties:
        if prop.name in claim.properties:
            if not violated_with(one, prop, {}, bounded=True):
                return f"{prop.name} is not violated without {claim.guard}"
            if here is not None and not here.good[prop.name]:
                return f"{prop.name} is violated anyway"
    return ""


def prevents(case: Drawn) -> Iterator[Outcome]:
    """Ask what prevents the shortest histories of violations."""
    constants = case.machine.set_constants({})
    try:
        found = plain.search(case.machine, constants, case.properties)
    except DomainError:
        return
    others = [{"fast": 1}, *({name: value} for name in case.highs for value in range(3) if value != case.first[name])]
    for item in found.properties:
        prop = next(prop for prop in case.properties if prop.name == item.name)
        if item.verdict is not Verdict.VIOLATED or item.path is None:
            continue
        said = [prevented_by(case, prop, item.path, values) for values in others]
        for values, prevented in zip(others, said, strict=True):
            if prevented:
                claim = claims.Prevents(" ".join(f"{name}={value}" for name, value in values.items()), prop.name)
                yield Outcome(claim, refute_prevents(case, prop, item.path, values), False in said)


def prevented_by(case: Drawn, prop: Property, path: Any, values: Cell) -> bool | None:
    """Return whether constants prevent a history, or None if the machine refuses them."""
    with suppress(UsageError):
        return is_prevented(case.machine, case.machine.set_constants({}), prop, path, dict(values), normalize=True)
    return None


def refute_prevents(case: Drawn, prop: Property, path: Any, values: Cell) -> str:
    """Return how a history shows the violation, or goes wrong, under other values."""
    machine = case.machine
    try:
        other = Interpreter(machine, machine.set_constants({**case.first, **values}))
    except UsageError:
        return "the machine refuses them"
    state = path.start
    for number, step in enumerate(path.steps, 1):
        if not prop.over_steps and not other.holds(prop, state):
            return f"{prop.name} is violated after {number - 1} steps"
        try:
            done = other.apply(state, step)
        except DisabledError:
            return ""
        except FencepostError:
            return f"the model goes wrong at step {number}"
        if prop.over_steps and not other.holds_step(prop, state, done):
            return f"{prop.name} is violated by step {number}"
        state = done.after
    return "" if prop.over_steps or other.holds(prop, state) else f"{prop.name} is violated at the end"


def executed(case: Drawn) -> Iterator[Outcome]:
    """Ask what was executed on Kafka's own classes, of one question about a version of Kafka for each machine."""
    for claim, refuted in evidence.ask(case.seed):
        yield Outcome(claim, refuted, True)


QUESTIONS: dict[str, Callable[[Drawn], Iterator[Outcome]]] = {
    "stable": stable, "tolerates": tolerates, "never matters": never_matters, "needed": needed,
    "not needed": not_needed, "prevents": prevents, "executed": executed, "does nothing": does_nothing,
    "allowed": allowed, "cuts": cuts,
}  # fmt: skip
"""The kinds of claims, each with what makes claims of a machine and tries to refute them."""


def a_fault_more(point: Any) -> claims.Tolerates | None:
    found = TRUE_OF(point)
    return found if found is None or found.faults is None else replace(found, faults=found.faults + 1)


def in_every_cell(self: growing.Growing, name: str, verdict: str, boxes: Mapping[str, bool]) -> Any:
    found = TRUE_STABLE(self, name, verdict, boxes)
    declared = self.question.constants.declared()
    lowest, highest = ({one: int(getattr(declared[one], end)) for one in self.bounds()} for end in ("low", "high"))
    return found if found.changes else replace(found, cells=(lowest, *found.cells, highest), box=True)


def a_state_more(*given: Any) -> tuple[BoundCount, ...]:
    return tuple(item._replace(states=item.states + 1, reached=True) for item in TRUE_COUNTED(*given))


TRUE_OF, TRUE_STABLE, TRUE_COUNTED = claims.Tolerates.of, growing.Growing.stable, verdict.counted_bounds
PLANTS: dict[str, tuple[str, Any, str, Callable[..., Any]]] = {
    "all bounds only add steps": ("stable", growing, "growing_bounds", lambda program: frozenset(program.bounds)),
    "every cell beside is covered": ("stable", growing.Growing, "is_covered", lambda *_: True),
    "every verdict is that of every cell": ("stable", growing.Growing, "stable", in_every_cell),
    "no verdict changes": ("stable", growing.Growing, "changed", lambda *_: ()),
    "fewer faults are covered": ("tolerates", faults, "why_fewer_matter", lambda *_, **__: ""),
    "a fault more is tolerated": ("tolerates", claims.Tolerates, "of", a_fault_more),
    "nothing else reads a bound": ("never matters", results, "unshared_bounds", lambda program: {*program.bounds}),
    "no bound is reached": ("never matters", verdict, "counted_bounds", lambda constants, declared,
        *_: tuple(BoundCount(name, int(constants.values[name]), 0) for name in declared)),
    "every guard is needed": ("needed", claims.Needed, "of",
        lambda row: claims.Needed(row["row"], tuple(row["cells"])) if row["kind"] == "guard" else None),
    "no guard is needed": ("not needed", ablation, "_purpose", lambda *_, **__: ablation.Purpose.HARMLESS),
    "everything is prevented": ("prevents", sys.modules[__name__], "is_prevented", lambda *_, **__: True),
    "all machines are the one that was driven": ("executed", evidence, "machine_mark", lambda _: evidence.MARK),
    "all constants were driven": ("executed", measured, "beyond", lambda *_: []),
    "all were driven together": ("executed", measured, "are_driven_together", lambda *_: True),
    "counts alike are the same steps": ("does nothing", base, "are_same", lambda one, other,
        _: one.distinct == other.distinct),
    "every violation is allowed": ("allowed", version_notes, "_is_of_change", lambda *_, **__: True),
    "a bound cuts a state more": ("cuts", verdict, "counted_bounds", a_state_more),
}  # fmt: skip
"""What makes false claims: their kind, and what is replaced by what."""


def with_plant(name: str, case: Drawn) -> Iterator[tuple[Outcome, bool]]:
    """Ask with a planted mistake; yield the claims that are not made without it, and whether each is false."""
    kind, where, what, instead = PLANTS[name]
    true = {str(outcome.claim) for outcome in QUESTIONS[kind](case)}
    other = ByAnEngine(case.machine, case.properties, case.seed)
    with patch.object(where, what, instead):
        for outcome, again in zip(QUESTIONS[kind](case), QUESTIONS[kind](other), strict=True):
            if str(outcome.claim) not in true:
                yield outcome, bool(again.refuted)


def ask(seed: int, kinds: tuple[str, ...] = (*QUESTIONS,), text: str = "", *, plants: bool | None = None) -> Any:
    """Return of one machine how many claims of each kind were made, how many could have failed, and what is false."""
    made: Counter[str] = Counter()
    false: list[str] = []
    planted = seed % PLANTED == 0 and len(kinds) == len(QUESTIONS) if plants is None else plants
    with tempfile.TemporaryDirectory() as folder:
        try:
            machine, properties = load(text or text_of(seed), Path(folder))
            machine.set_constants({})
        except (ModelError, UsageError) as error:
            return {"seed": seed, "refused": str(error)}
        try:
            case = Drawn(machine, properties, seed)
            if (first := case.at({})) is None or first.wrong:
                return {"seed": seed, "wrong": True}
            for name in kinds:
                for outcome in QUESTIONS[name](case):
                    made[name] += 1
                    made[f"{name}, could have failed"] += outcome.could_fail
                    if outcome.refuted:
                        false.append(f"{name}: {outcome.claim}: {outcome.refuted}")
            for name in PLANTS if planted else ():
                for outcome, is_false in with_plant(name, case):
                    made[f"planted, {name}: {'false' if is_false else 'true by chance'}"] += 1
                    made[f"planted, {name}: refuted"] += bool(outcome.refuted)
        finally:
            del sys.modules[machine.state.__module__]
    return {"seed": seed, "made": dict(made), "false": false}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return how many claims of each kind were made and could have failed, and those that are false."""
    looked = [row for row in rows if "made" in row]
    made: Counter[str] = Counter()
    for row in looked:
        made.update(row["made"])
    return {
        "machines": len(looked),
        "machines that go wrong": sum("wrong" in row for row in rows),
        "refused": sum("refused" in row for row in rows),
        **dict(sorted(made.items())),
        "false": [f"machine {row['seed']}: {item}" for row in looked for item in row["false"]],
    }
