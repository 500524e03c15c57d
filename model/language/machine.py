"""A complete, named protocol: a state schema, constants, initial states and actions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fencepost.model.language.actions import Action, Property
from fencepost.model.language.cast import NOBODY, Cast
from fencepost.model.language.constants import Constant, Constants
from fencepost.model.language.domains import Index, domain_of
from fencepost.model.language.errors import ModelError, UsageError, nearest
from fencepost.model.language.names import require_title
from fencepost.model.language.records import Record


@dataclass(frozen=True)
class Version:
    """Constants with a common name, such as a Kafka release."""

    name: str
    sentence: str
    values: Mapping[str, int]
    patches: "tuple[Version, ...]" = ()
    """Patch releases that differ from the version, with the constants that differ."""


@dataclass(frozen=True)
class Repair:
    """Constants that fix a finding. A version whose constants differ lacks the fix."""

    finding: str
    sentence: str
    values: Mapping[str, int]
    where: Mapping[str, int] = field(default_factory=dict)
    """Values of constants in the versions that need the fix."""


REPAIRED = "-repaired"
"""Suffix of versions in which all findings are fixed."""


@dataclass(frozen=True)
class Machine:
    """A protocol as guarded actions on a state record.

    `initial` is an action on the zero state. Its arguments determine the initial states. `normalize(state, constants)`
    merges states that have no observable difference, and must be idempotent. `refuse(constants)` returns the reason why
    a combination of constants is invalid, or None. `notes(constants)` returns notes for readers of results. `cast`
    declares the parties in diagrams. `repairs` contains fixes for findings in versions, and `terms(constants)` explains
    a run to operators. `interchangeable` is an index of things that differ only in their numbers (see `symmetry.py`).
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
    notes: Callable[[Any], tuple[str, ...]] | None = None
    cast: Cast = NOBODY
    repairs: tuple[Repair, ...] = ()
    terms: Callable[[Any], tuple[str, ...]] | None = None
    interchangeable: Any = None
    base: "Machine | None" = field(default=None, compare=False, repr=False)
    """The machine on which `replacing` was called. It does not affect any result."""
    kept: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Results about this machine, cached for as long as it exists."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise ModelError(f"Machine: `name` is {described(self.name)}: write a string, such as name='my-protocol'.")
        require_title("a machine", self.name)
        for version in self.versions:
            require_title(f"machine {self.name!r}: a version", version.name)
        if _is_class(self.state, Constants) and _is_class(self.constants, Record):
            raise ModelError(
                f"machine {self.name!r}: `state` is {described(self.state)} and "
                f"`constants` is {described(self.constants)}: "
                f"swap them: state={self.constants.__name__}, constants={self.state.__name__}."
            )
        if not _is_class(self.state, Record):
            self._refuse(f"`state` is {described(self.state)}", "write the class of the state, which subclasses Record")
        if not _is_class(self.constants, Constants):
            self._refuse(f"`constants` is {described(self.constants)}", "write the class that subclasses Constants")
        if self.interchangeable is not None and not isinstance(domain_of(self.interchangeable), Index):
            self._refuse(
                f"`interchangeable` is {described(self.interchangeable)}", "write the name of an index, such as Replica"
            )
        if not isinstance(self.initial, Action):
            self._refuse(f"`initial` is {described(self.initial)}", "write one action, a function under @action(...)")
        if isinstance(self.actions, Action):
            name = self.actions.function.__name__
            self._refuse(
                f"`actions` is {described(self.actions)}, not a tuple",
                f"write a tuple with a trailing comma: ({name},)",
            )
        if not isinstance(self.actions, tuple):
            self._refuse(f"`actions` is {described(self.actions)}", "write a tuple of actions")
        for item in self.actions:
            if not isinstance(item, Action):
                self._refuse(f"`actions` has {described(item)}", "write actions only, functions under @action(...)")

    def _refuse(self, what: str, instead: str) -> None:
        raise ModelError(f"machine {self.name!r}: {what}, which is not allowed there: {instead}.")

    def replacing(
        self, *, name: str, sentence: str, source: str = "", **parts: Action | Callable[[Any, Any], None] | None
    ) -> "Machine":
        """Return this machine with some parts replaced, under a new name and source.

        This machine becomes the `base` of the new machine.

        A part is an action, identified by its name, or `normalize`. None removes the part.
        """
        known = [item.name for item in self.actions]
        for old, part in parts.items():
            if old == "normalize":
                if part is not None and (isinstance(part, Action) or not callable(part)):
                    self._refuse(f"`normalize` is {described(part)}", "write a plain function (state, constants)")
            elif old not in known:
                helper = " To replace a helper, replace the actions that call it." if callable(part) else ""
                if old == "initial":
                    helper = " To replace the initial action, write `dataclasses.replace(machine, initial=...)`."
                raise UsageError(
                    f"machine {self.name!r} has no action {old!r}.{nearest(old, [*known, 'normalize'])}{helper}"
                )
        normalize: Any = parts.pop("normalize", self.normalize)
        kept: tuple[Any, ...] = tuple(parts.get(item.name, item) for item in self.actions)
        left = tuple(item for item in kept if item is not None)
        source = source or self.source
        return replace(self, name=name, sentence=sentence, source=source, normalize=normalize, actions=left, base=self)

    def action(self, name: str) -> Action:
        """Return the action with this name, with dashes or underscores; raise UsageError for an unknown name."""
        wanted = name.replace("-", "_")
        for item in self.actions:
            if item.name == wanted:
                return item
        known = [item.label for item in self.actions]
        raise UsageError(f"protocol {self.name!r} has no action {name!r}.{nearest(name, known, 'The actions are:')}")

    def version(self, name: str) -> Version:
        """Return the version with this name; raise UsageError for an unknown name.

        NAME-repaired is version NAME with all known findings fixed. For example, kafka-4.1.2 is kafka-4.1 if the model
        covers patch release 4.1.2, and kafka-4.0.0 is kafka-4.0 with the differences of patch release 4.0.0.
        """
        for item in (*self.versions, *self.patches()):
            if item.name == name:
                return item
            if name == f"{item.name}{REPAIRED}" and self.repairs:
                missing = self.missing(item.values)
                told = "; ".join(f"{repair.finding} ({repair.sentence})" for repair in missing) or "nothing"
                values = {key: value for repair in missing for key, value in repair.values.items()}
                return Version(name, f"{item.name} with these repairs: {told}", {**item.values, **values})
        known = [item.name for item in self.versions]
        release, _, patch = name.removesuffix(REPAIRED).rpartition(".")
        line = next((item for item in self.versions if item.name == release), None)
        if line is not None and patch.isdigit():
            read = re.findall(rf"\b{re.escape(release.removeprefix('kafka-'))}\.\d+", line.sentence)
            if f"{release}.{patch}".removeprefix("kafka-") in read:
                return self.version(release + name[len(f"{release}.{patch}") :])
            what = f"the rules of {' and '.join(read)}" if read else "the release line"
            raise UsageError(
                f"protocol {self.name!r} has no version {name!r}: this patch is not known, and its behaviour may "
                f"differ. Use {release!r} for {what}."
            )
        more = f", each also as NAME{REPAIRED}" if self.repairs else ""
        listed = f" The versions are: {', '.join(known)}{more}." if known else " It has no named versions."
        raise UsageError(f"protocol {self.name!r} has no version {name!r}.{nearest(name, known)}{listed}")

    def patches(self) -> tuple[Version, ...]:
        """Return the patch releases that differ from the version of their release line, with all constants."""
        return tuple(
            replace(patch, values={**item.values, **patch.values}) for item in self.versions for patch in item.patches
        )

    def missing(self, values: Mapping[str, int]) -> tuple[Repair, ...]:
        """Return the fixes that constants lack. Omitted constants have their declared values."""
        declared = self.constants.declared()

        def differs(wanted: Mapping[str, int]) -> bool:
            return any(int(values.get(name, declared[name].default)) != int(value) for name, value in wanted.items())

        return tuple(item for item in self.repairs if differs(item.values) and not differs(item.where))

    def constant(self, name: str) -> Constant[Any]:
        """Return the constant with this name, with dashes or underscores; raise UsageError for an unknown name."""
        known = self.constants.declared()
        found = name.strip().replace("-", "_")
        if found not in known:
            wrong = f"protocol {self.name!r} has no constant {name.strip()!r}"
            raise UsageError(f"{wrong}.{nearest(found, known, 'The constants are:')}")
        return known[found]

    def setting(self, name: str, text: str) -> tuple[str, int]:
        """Return a constant's name and the value that a string represents; raise UsageError for an invalid one."""
        constant = self.constant(name)
        return constant.name, int(constant.parse(text))

    def set_constants(self, values: Mapping[str, int]) -> Constants:
        """Return constants with these values; raise UsageError for an invalid name or value."""
        constants = self.constants(**values)
        reason = self.refuse(constants) if self.refuse else None
        if reason:
            raise UsageError(f"protocol {self.name!r}: these constants cannot be combined: {reason}")
        return constants


def described(item: object) -> str:
    """Describe a value in a model file in the words of the modelling language."""
    if isinstance(item, Action):
        return f"action {item.label!r}"
    if isinstance(item, Property):
        return f"property {item.name!r}"
    if isinstance(item, Machine):
        return f"machine {item.name!r}"
    for base in (Record, Constants):
        if _is_class(item, base):
            return f"the {base.__name__} class {item.__name__}"  # type: ignore[attr-defined]
    if isinstance(item, type):
        return f"the class {item.__name__}"
    if callable(item):
        return f"the function {getattr(item, '__name__', item)!s}"
    if isinstance(item, list | set | frozenset | dict):
        return f"a {type(item).__name__} of {len(item)}"
    text = repr(item)
    return f"the {type(item).__name__} {text if len(text) <= LONGEST else text[:LONGEST] + '...'}"


LONGEST = 40
"""Maximum length of a value that an error message quotes."""


def _is_class(item: object, base: type) -> bool:
    return isinstance(item, type) and issubclass(item, base)
