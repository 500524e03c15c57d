"""A breadth-first search on the plain semantics, as short as possible, with which every engine is compared."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fencepost.model.language import Kind, Machine, Property
from fencepost.model.language.interpreter import Interpreter, Transition
from fencepost.model.language.records import Key


@dataclass
class Found:
    """Result of a search, named as in the JSON of `fencepost check`."""

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    violated: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    fired: dict[str, int] = field(default_factory=dict)


class Search:
    """One search. After each level that `levels` yields, `found` covers all levels so far."""

    def __init__(
        self,
        machine: Machine,
        constants: Mapping[str, int],
        properties: tuple[Property, ...] = (),
        *,
        normalize: bool = True,
    ) -> None:
        self.interpreter = Interpreter(machine, machine.set_constants(constants), normalize=normalize)
        self.of_states = [item for item in properties if not item.over_steps]
        self.of_steps = [item for item in properties if item.over_steps]
        self.found = Found(fired={item.name: 0 for item in machine.actions})

    def levels(self) -> Iterator[list[Key]]:
        """Yield the new states of each level; the initial states are level 1."""
        found = self.found
        level = self.interpreter.initial_states()
        found.generated = len(level)
        seen = set(level)
        while level:
            found.depth += 1
            found.distinct = len(seen)
            for state in level:
                self._judge(state)
            yield level
            following: list[Key] = []
            for state in level:
                for transition in self.interpreter.transitions(state):
                    found.generated += 1
                    found.fired[transition.step.action.name] += 1
                    self._judge_step(state, transition)
                    if transition.after not in seen:
                        seen.add(transition.after)
                        following.append(transition.after)
            level = following

    def _judge(self, state: Key) -> None:
        for prop in self._open(self.of_states):
            self._note(prop, self.found.depth, holds=self.interpreter.holds(prop, state))

    def _judge_step(self, state: Key, transition: Transition) -> None:
        for prop in self._open(self.of_steps):
            self._note(prop, self.found.depth + 1, holds=self.interpreter.holds_step(prop, state, transition))

    def _open(self, properties: list[Property]) -> list[Property]:
        decided = {*self.found.violated, *self.found.reached}
        return [item for item in properties if item.name not in decided]

    def _note(self, prop: Property, length: int, *, holds: bool) -> None:
        if prop.kind is Kind.SOMETIMES and holds:
            self.found.reached[prop.name] = length
        if prop.kind is not Kind.SOMETIMES and not holds:
            self.found.violated[prop.name] = length


def explore(
    machine: Machine, constants: Mapping[str, int], properties: tuple[Property, ...] = (), *, normalize: bool = True
) -> Found:
    search = Search(machine, constants, properties, normalize=normalize)
    for _ in search.levels():
        pass
    return search.found


def walk(starts: list[Key], visit: Callable[[Key, int], list[Key]], steps: int, seed: int, longest: int) -> int:
    draw = random.Random(seed)  # noqa: S311 (no secret)
    known: dict[Key, list[Key]] = {}
    key, length = draw.choice(starts), 0
    for _ in range(steps):
        if key not in known:
            known[key] = visit(key, len(known))
        length += 1
        ends = not known[key] or length > longest
        key, length = (draw.choice(starts), 0) if ends else (draw.choice(known[key]), length)
    return len(known)
