"""A machine: a state schema, constants, initial states and actions. The whole of a protocol, named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.model.language.actions import Action
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.records import Record


@dataclass(frozen=True)
class Version:
    """Constants that belong together under a name, such as a Kafka release."""

    name: str
    sentence: str
    values: Mapping[str, int]


@dataclass(frozen=True)
class Machine:
    """A protocol as guarded actions on a state record.

    `initial` is an action on the zero state: its parameters give the initial states.
    `normalize(state, constants)` drops what nobody can ever observe; it must be idempotent.
    `refuse(constants)` says why a combination of constants makes no sense, or returns None.
    """

    name: str
    sentence: str
    state: type[Record]
    constants: type[Constants]
    initial: Action
    actions: tuple[Action, ...]
    normalize: Callable[[Any, Any], None] | None = None
    refuse: Callable[[Any], str | None] | None = None
    versions: tuple[Version, ...] = ()
    source: str = ""

    def replacing(self, *, name: str, sentence: str, source: str = "", **actions: Action | None) -> Machine:
        """Return this machine with some actions replaced by others (None drops one), under a new name and source."""
        known = [item.name for item in self.actions]
        for old in actions:
            if old not in known:
                raise UsageError(f"machine {self.name!r} has no action {old!r}.{nearest(old, known)}")
        kept = (actions.get(item.name, item) for item in self.actions)
        left = tuple(item for item in kept if item is not None)
        return replace(self, name=name, sentence=sentence, source=source or self.source, actions=left)

    def action(self, name: str) -> Action:
        """Return the action of this name, with dashes or underscores; raise UsageError if there is none."""
        wanted = name.replace("-", "_")
        for item in self.actions:
            if item.name == wanted:
                return item
        known = [item.label for item in self.actions]
        raise UsageError(f"protocol {self.name!r} has no action {name!r}.{nearest(name, known)}")

    def version(self, name: str) -> Version:
        """Return the version of this name; raise UsageError if there is none."""
        for item in self.versions:
            if item.name == name:
                return item
        known = [item.name for item in self.versions]
        listed = f" Versions are: {', '.join(known)}." if known else " It has no named versions."
        raise UsageError(f"protocol {self.name!r} has no version {name!r}.{nearest(name, known)}{listed}")

    def set_constants(self, values: Mapping[str, int]) -> Constants:
        """Return constants with these values; raise UsageError for a name or value that is refused."""
        constants = self.constants(**values)
        reason = self.refuse(constants) if self.refuse else None
        if reason:
            raise UsageError(f"protocol {self.name!r}: these constants do not go together: {reason}")
        return constants
