"""Steps that distinguish a variant from the model, in the nearest states in which a check or rule has an effect.

The model is searched without `normalize`, which would answer requests before they are handled. A step is tried on Kafka
only at the end of a history, because even a rejected step may change a follower's last caught-up time or a purgatory.
"""

import random
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

import numpy as np
from fencepost.explorers.evidence.diff import path_to
from fencepost.explorers.evidence.space import Array, Space
from fencepost.explorers.native.compile import generate, load
from fencepost.explorers.native.masked import MaskedSearch
from fencepost.explorers.program.removal import Guard, without_all
from fencepost.explorers.verdict import Options
from fencepost.kafka.driver.ablation import Ablation
from fencepost.kafka.driver.execute import Execution
from fencepost.kafka.driver.process import FailedError
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, DomainError
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.machine import Machine
from fencepost.model.language.records import Key

LOOKED_AT = 60
"""Maximum number of states to search for the nearest differences (some differences are invisible in Kafka)."""
CONDITIONED = 2_000
DRAWN = 30
"""Maximum number of random states per blocked step. In some of these states, the acting process is down."""
HIDDEN = 400
"""Maximum number of pairs of states to follow from an invisible difference until the difference becomes visible."""


@dataclass(frozen=True)
class Variant:
    """The model without one guard (and without `others` of the same action), or with one changed rule."""

    name: str
    guard: Guard | None = None
    others: tuple[Guard, ...] = ()
    constant: str = ""
    value: int = 0
    alone: Callable[..., bool] | None = None
    """Return whether the removed condition alone blocks a step in a state."""


@dataclass(frozen=True)
class Chance:
    """A step on which the model and a variant disagree, after a history. `model` and `variant` are the states after the
    step, or None if the step is not allowed.
    """

    history: tuple[Transition, ...]
    at: Key
    step: Step
    model: Key | None
    variant: Key | None


def after(plain: Interpreter, at: Key, step: Step) -> Key | None:
    try:
        return plain.apply(at, step).after
    except (DisabledError, DomainError):
        return None


def can_be_tried(ablation: Ablation, plain: Interpreter, at: Key, step: Step) -> bool:
    state = plain.schema.restore(at)
    try:
        args = [
            plain.argument(state, domain, arg) for (_, domain), arg in zip(step.action.params, step.args, strict=True)
        ]
    except DisabledError:
        return False
    needs = ablation.needs.get(step.action.name)
    return needs is None or needs(state, plain.constants, *args)


class Ground:
    def __init__(self, ablation: Ablation, machine: Machine, constants: Constants, most: int) -> None:
        self.ablation, self.machine, self.constants = ablation, machine, constants
        options = Options(workers=1, normalize=False, max_states=most)
        kernels = load(generate(machine, constants, (), normalize=False, masked=True))
        self.search = MaskedSearch(machine, constants, (), options, kernels=kernels)
        self.search.run()
        self.space = Space(self.search)
        self.plain = self.search.plain
        self._following = self.space.following()
        self._order = np.argsort(self.space.depths, kind="stable")
        self._rests: dict[tuple[Guard, ...], Interpreter] = {}
        """Interpreters without the other guards of a variant."""

    def chances(self, variant: Variant, most: int) -> list[Chance]:
        """Return the nearest steps on which variant and model disagree; choose different actions if possible."""
        other = self._other(variant)
        if other is None:
            return []
        found: dict[tuple[str, bool], list[Chance]] = {}
        for state in self._states(variant):
            for chance in self._at(int(state), other, variant):
                kind = chance.step.action.name, chance.model is None
                if len(found.setdefault(kind, [])) < most:
                    found[kind].append(chance)
                    break
            if sum(map(len, found.values())) >= most:
                break
        return [chance for chances in zip_longest(*found.values()) for chance in chances if chance is not None][:most]

    def refusals(self, variant: Variant, most: int, chance: random.Random) -> Iterator[Chance]:
        other = self._other(variant)
        states = [int(state) for state in self._differing(variant)]
        assert other is not None
        assert variant.guard is not None
        action = self.machine.action(variant.guard.action)
        left = most
        for state in chance.sample(states, min(DRAWN * most, len(states))):
            if not left:
                return
            at = self.search.layout.decode(self.space.rows[state])
            if not self._has_room(at):
                continue
            steps = [item for item in self.plain.steps(action, at) if can_be_tried(self.ablation, self.plain, at, item)]
            chance.shuffle(steps)
            for step in steps:
                theirs = after(other, at, Step(other.machine.action(action.name), step.args))
                if theirs is not None and after(self.plain, at, step) is None:
                    yield Chance(self._history(state), at, step, None, theirs)
                    left -= 1
                    break

    def _other(self, variant: Variant) -> Interpreter | None:
        if variant.guard is not None:
            changed = without_all(self.machine, (variant.guard, *variant.others))
            return Interpreter(changed, self.constants, normalize=False, bounded=True)
        constants = self.machine.constants(**{**self.constants.values, variant.constant: variant.value})
        if self.machine.refuse is not None and self.machine.refuse(constants):
            return None
        return Interpreter(self.machine, constants, normalize=False, bounded=True)

    def _states(self, variant: Variant) -> Iterator[int]:
        found = self._differing(variant)
        if variant.alone is not None:  # most of these states differ because of another condition
            yield from found[:CONDITIONED]
            return
        yield from found[:LOOKED_AT]
        yield from found[LOOKED_AT :: max(1, len(found) // LOOKED_AT)]

    def _differing(self, variant: Variant) -> Array:
        if variant.guard is not None:
            following = self.space.following(
                off=[self.search.slot(guard) for guard in (variant.guard, *variant.others)]
            )
        else:
            values = {**self.constants.values, variant.constant: variant.value}
            following = self.space.following(self.machine.constants(**values))
        found: Array = self._order[(following != self._following)[self._order]]
        return found

    def _at(self, state: int, other: Interpreter, variant: Variant) -> Iterator[Chance]:
        at = self.search.layout.decode(self.space.rows[state])
        history: tuple[Transition, ...] | None = None
        for mine in self.machine.actions:
            if mine.name in self.ablation.not_driven or (
                variant.guard is not None and mine.label != variant.guard.action
            ):
                continue
            its = other.machine.action(mine.name)
            for step in self.plain.steps(mine, at):
                model, theirs = after(self.plain, at, step), after(other, at, Step(its, step.args))
                is_tried = self._has_room(at) and can_be_tried(self.ablation, self.plain, at, step)
                if model == theirs or (model is None and not is_tried):
                    continue
                if variant.others and not self._refuses(variant, at, step):
                    continue
                if variant.alone is not None and not self._is_alone(variant.alone, at, step):
                    continue
                if history is None:
                    history = self._history(state)
                if self._is_seen(at, step, model, theirs):
                    yield Chance(history, at, step, model, theirs)
                elif model is not None and theirs is not None and self._compared(model) == self._compared(theirs):
                    yield from self._later(Chance(history, at, step, model, theirs), other)

    def _is_alone(self, alone: Callable[..., bool], at: Key, step: Step) -> bool:
        state = self.plain.schema.restore(at)
        named = zip(step.action.params, step.args, strict=True)
        return alone(state, self.constants, *(self.plain.argument(state, domain, arg) for (_, domain), arg in named))

    def _has_room(self, at: Key) -> bool:
        return self.ablation.has_room(self.plain.schema.restore(at), self.constants)

    def _compared(self, state: Key) -> object:
        return self.ablation.compared(self.plain, state)

    def _is_seen(self, at: Key, step: Step, model: Key | None, theirs: Key | None) -> bool:
        one, other = (self.ablation.refused(at, step) if item is None else (item,) for item in (model, theirs))
        return not {self._compared(item) for item in one} & {self._compared(item) for item in other}

    def _later(self, hidden: Chance, other: Interpreter) -> Iterator[Chance]:
        assert hidden.model is not None
        assert hidden.variant is not None
        first = self.plain.apply(hidden.at, hidden.step)
        waiting = deque([((*hidden.history, first), hidden.model, hidden.variant)])
        known = {(hidden.model, hidden.variant)}
        while waiting:
            history, at, its = waiting.popleft()
            for mine in self.machine.actions:
                if mine.name in self.ablation.not_driven:
                    continue
                for step in self.plain.steps(mine, at):
                    theirs = after(other, its, Step(other.machine.action(mine.name), step.args))
                    model = after(self.plain, at, step)
                    if model is None and theirs is None:
                        continue
                    is_tried = model is not None or can_be_tried(self.ablation, self.plain, at, step)
                    if is_tried and self._is_seen(at, step, model, theirs):
                        yield Chance(history, at, step, model, theirs)
                        return
                    if model is None or theirs is None:
                        continue
                    if (model, theirs) not in known and len(known) < HIDDEN:
                        known.add((model, theirs))
                        waiting.append(((*history, self.plain.apply(at, step)), model, theirs))

    def _refuses(self, variant: Variant, at: Key, step: Step) -> bool:
        if variant.others not in self._rests:
            changed = without_all(self.machine, variant.others)
            self._rests[variant.others] = Interpreter(changed, self.constants, normalize=False)
        rest = self._rests[variant.others]
        return after(rest, at, Step(rest.machine.action(step.action.name), step.args)) is None

    def _history(self, state: int) -> tuple[Transition, ...]:
        path = path_to(self.space, state)
        found, at = [], path.start
        for step in path.steps:
            found.append(self.plain.apply(at, step))
            at = found[-1].after
        return tuple(found)


@dataclass(frozen=True)
class Trial:
    """Kafka's reaction to a step: `did` is done, refused or untried, `why` is the error, and `answer` describes the
    result in words. `like_model` and `like_variant` say whether the model and the variant allow the resulting state.
    """

    did: str
    why: str
    answer: str
    like_model: bool
    like_variant: bool
    steps: tuple[str, ...]
    constants: Constants


def try_step(ablation: Ablation, execution: Execution, chance: Chance) -> Trial | None:
    """Bring Kafka to a state and execute a step there; return None if a known limit prevents this."""
    plain = execution.plain
    difference = execution.run(plain.initial_states()[0], chance.history)
    steps = tuple(plain.show(item) for item in (*(taken.step for taken in chance.history), chance.step))
    trial = partial(Trial, steps=steps, constants=plain.constants)
    if difference is not None:
        return trial("done", "", f"before the step: {difference.words}", like_model=False, like_variant=False)
    if execution.at != chance.at:
        return None
    line = execution.line(chance.step)
    others = [item for item in plain.transitions(chance.at) if item.step != chance.step]
    alike = [item for item in others if execution.line_of(item.step) == line]
    same = [item.after for item in alike]
    try:
        did = execution.ask(line)
    except FailedError as error:
        return trial("done", error.why, error.why, like_model=False, like_variant=False)
    why = execution.why
    for item in alike if did == "done" else ():
        execution.ignore(item)
    taken = chance.variant if chance.model is None else chance.model
    if chance.step.action.name in execution.leaving and taken is not None:
        execution.lose_late(taken)
    nothing = ablation.refused(chance.at, chance.step)
    like_model, answer = _as_the_model(execution, chance, nothing, same, others)
    theirs = nothing if chance.variant is None else (chance.variant,)
    like_variant = any(_fits(execution, item) for item in theirs)
    return trial(did, why, why or answer, like_model=like_model, like_variant=like_variant)


def _as_the_model(
    execution: Execution, chance: Chance, nothing: tuple[Key, ...], same: list[Key], others: list[Transition]
) -> tuple[bool, str]:
    """Return whether the model allows Kafka's reaction, and the reaction. If the model does not allow the step, Kafka
    may do nothing, give the event a different outcome, or execute another step.
    """
    if chance.model is not None:
        return _fits(execution, chance.model), "done"
    if any(_fits(execution, after) for after in same):
        return True, "another outcome"
    if any(_fits(execution, item) for item in nothing):
        return True, "no effect"
    return any(_fits_step(execution, item) for item in others), "another step"


def _fits_step(execution: Execution, transition: Transition) -> bool:
    if not _fits(execution, transition.after) and transition.step.action.name in execution.leaving:
        execution.lose_late(transition.after)
    return _fits(execution, transition.after)


def _fits(execution: Execution, expected: Key) -> bool:
    if execution.seen.contradictions():
        return False
    model, kafka = execution.projected(expected)
    return model == kafka
