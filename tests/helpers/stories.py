"""Histories on the plain semantics, step by step, for tests of models."""

from typing import Any, Self

from fencepost.invariants.protocols import protocol
from fencepost.model.language import Property
from fencepost.model.language.interpreter import Interpreter


class Story:
    """One history of a protocol: each step names an action, and its arguments as far as they identify the step."""

    def __init__(self, name: str, *, normalize: bool = True, **constants: int) -> None:
        self.machine = protocol(name).machine
        self.plain = Interpreter(self.machine, self.machine.set_constants(constants), normalize=normalize)
        (self.key,) = self.plain.initial_states()

    @property
    def state(self) -> Any:
        return self.plain.schema.restore(self.key)

    def can(self, action: str, *arguments: int, **named: int) -> list[Any]:
        found = self.machine.action(action)
        names = [name for name, _ in found.params]
        asked = {**dict(zip(names, arguments, strict=bool(arguments))), **named}
        return [
            item
            for item in self.plain._fire(found, self.key)
            if asked.items() <= dict(zip(names, item.step.args, strict=True)).items()
        ]

    def do(self, action: str, *arguments: int, **named: int) -> Self:
        (self.step,) = self.can(action, *arguments, **named)
        self.before, self.key = self.key, self.step.after
        return self

    def play(self, steps: str) -> Self:
        """Take steps, written as `action 0 1; action offset=newest`: in numbers, or in names of the state's fields."""
        for step in steps.split("; "):
            action, *given = step.split()
            arguments, named = [], {}
            for name, _, text in (word.rpartition("=") for word in given):
                value = getattr(self.state, text) if text.isidentifier() else int(text, 0)
                if name:
                    named[name] = value
                else:
                    arguments.append(value)
            self.do(action, *arguments, **named)
        return self

    def holds(self, prop: Property) -> bool:
        if prop.over_steps:
            return self.plain.holds_step(prop, self.before, self.step)
        return self.plain.holds(prop, self.key)
