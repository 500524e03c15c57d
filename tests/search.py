"""A breadth-first search on the plain semantics, as short as possible: what every engine is compared with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.model.language import Kind
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language import Machine, Property
    from fencepost.model.language.interpreter import Transition
    from fencepost.model.language.records import Key


@dataclass
class Found:
    """What a search saw.

    `violated` and `reached` give, per property, the states of a shortest trace, the initial one included.
    """

    distinct: int = 0
    generated: int = 0
    depth: int = 0
    violated: dict[str, int] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    fired: dict[str, int] = field(default_factory=dict)


class Search:
    """One search: `levels` yields the states of each level in turn, and `found` is complete after the last."""

    def __init__(self, machine: Machine, properties: tuple[Property, ...] = (), *, normalize: bool = True, **values: int) -> None:
        self.interpreter = Interpreter(machine, machine.set_constants(values), normalize=normalize)
        self.properties = properties
        self.found = Found(fired={item.name: 0 for item in machine.actions})

    def levels(self) -> Iterator[list[Key]]:
        """Yield the new states of each level; the initial states are level 1."""
        level = self.interpreter.initial_states()
        seen = set(level)
        self.found.generated = len(level)
        while level:
            self.found.depth += 1
            self.found.distinct = len(seen)
            for state in level:
                self._judge(state)
            yield level
            following: list[Key] = []
            for state in level:
                for transition in self.interpreter.transitions(state):
                    self._judge_step(state, transition)
                    if transition.after not in seen:
                        seen.add(transition.after)
                        following.append(transition.after)
            level = following

    def _judge(self, state: Key) -> None:
        for prop in self.properties:
            if not prop.over_steps:
                self._record(prop, self.found.depth, lambda p=prop: self.interpreter.holds(p, state))

    def _judge_step(self, state: Key, transition: Transition) -> None:
        self.found.generated += 1
        self.found.fired[transition.step.action.name] += 1
        for prop in self.properties:
            if prop.over_steps:
                self._record(prop, self.found.depth + 1, lambda p=prop: self.interpreter.holds_step(p, state, transition))

    def _record(self, prop: Property, length: int, holds: Any) -> None:
        witness = prop.kind is Kind.SOMETIMES
        known = self.found.reached if witness else self.found.violated
        if prop.name not in known and holds() is witness:
            known[prop.name] = length


def explore(machine: Machine, properties: tuple[Property, ...] = (), *, normalize: bool = True, **values: int) -> Found:
    """Search all reachable states of a machine with these constants."""
    search = Search(machine, properties, normalize=normalize, **values)
    for _ in search.levels():
        pass
    return search.found
