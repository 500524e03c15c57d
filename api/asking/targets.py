"""The question of a command: a protocol by name, as a machine or in a user's file, with its constants and properties."""

from __future__ import annotations

import ast
import importlib.util
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fencepost.api.asking.advice import in_place_of, instead_of, told
from fencepost.api.asking.arguments import refuse_taken
from fencepost.api.asking.kafka_names import by_meaning, meant
from fencepost.api.asking.places import USER_MODULE, near, of_model, placed, pointed_at_line
from fencepost.explorers.sealed import MOST
from fencepost.invariants.protocols import PROTOCOLS, Protocol, protocol
from fencepost.model.language.actions import Action, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import FencepostError, ModelError, UsageError, nearest
from fencepost.model.language.machine import Machine, described
from fencepost.model.language.trees import module_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import ModuleType

    from fencepost.invariants.run import Run


@dataclass(frozen=True)
class Question:
    """What is asked: whether a protocol, under these constants, has these properties."""

    protocol: Protocol
    constants: Constants
    properties: tuple[Property, ...]
    version: str = ""
    file: str = ""
    """The user's own file that defines the protocol; empty for one of ours."""

    @property
    def name(self) -> str:
        """The protocol's name."""
        return self.protocol.name


def ask(
    what: Machine | Protocol | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    more: Mapping[str, Any] | None = None,
    settings: tuple[str, ...] = (),
    on: tuple[str, ...] = (),
    off: tuple[str, ...] = (),
    walks: bool = False,
) -> Question:
    """Return what is asked; raise UsageError for what does not exist or cannot be meant.

    `what` is the name of a protocol or of a run of the catalogue, the path of a file that defines a protocol, or a machine with its `properties`. Constants are
    given by name, as numbers, booleans or words, or as `settings` such as `replicas=2` and switches that are `on` or `off`; `only`
    limits the properties by name. `walks` have an end, so whole behaviours are not asked about unless they are named.
    """
    run = run_called(what) if isinstance(what, str) else None
    if run is not None:  # its own settings first; what is given must not contradict them
        what, version, only = run.protocol, version or run.version, tuple(only) or run.properties
        settings = (*(f"{name}={int(value)}" for name, value in run.constants.items()), *settings)
    found = _protocol(what, properties)
    refuse_taken(found.machine, constants)
    if isinstance(constants, Constants):
        _look_at_record(found.machine, constants, more or {}, version)
        values = constants
    else:
        texts = [
            f"{name}={str(value).lower() if isinstance(value, bool) else value}"
            for name, value in _together(constants, more)
        ]
        switches = (*((name, True) for name in on), *((name, False) for name in off))
        values = choose_constants(found.machine, version or None, (*texts, *settings), switches)
    file = str(what) if isinstance(what, str | Path) and is_file(str(what)) else ""
    chosen = (only,) if isinstance(only, str) else tuple(only)
    return Question(found, values, chosen_of(found, chosen, walks=walks), version, file)


def _together(constants: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> Iterator[tuple[str, Any]]:
    """Yield constants by name that were given in a mapping and by name; raise UsageError for one that has two values."""
    one, other = constants or {}, more or {}
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            raise UsageError(
                f"constant {name!r} was given {one[name]!r} in constants= and {other[name]!r} by name: write one of them."
            )
    yield from {**one, **other}.items()


def _look_at_record(machine: Machine, constants: Constants, more: Mapping[str, Any], version: str) -> None:
    """Raise UsageError for constants of another machine, and for what is given beside all constants."""
    if not isinstance(constants, machine.constants):
        raise UsageError(
            f"constants= was given a record of {type(constants).__name__}, which is not that of protocol {machine.name!r}: "
            "write its own, or a dictionary."
        )
    if more or version:
        beside = next(iter(more), "version")
        raise UsageError(
            f"constants= was given all constants, and {beside}= beside them: write constants={{...}} with some by name."
        )


def run_called(name: str) -> Run | None:
    """Return the run of the catalogue that pages and `fencepost guarantees ID` call so; names of protocols have no spaces."""
    if " " not in name or is_file(name):
        return None
    from fencepost.invariants.catalogue import runs

    every = {run.name: run for run in runs()}
    if name in every:
        return every[name]
    if name.partition(" ")[0] in PROTOCOLS:
        raise UsageError(
            f"there is no run {name!r}.{nearest(name, list(every))} `fencepost guarantees ID` shows the runs of an entry."
        )
    return None


def chosen_of(found: Protocol, only: tuple[str, ...], *, walks: bool = False) -> tuple[Property, ...]:
    """Return the properties that are asked: those that are named, or all but those on request."""
    chosen = found.select(only) if only else found.properties
    return tuple(item for item in chosen if not item.kind.over_behaviours) if walks and not only else chosen


def is_file(name: str) -> bool:
    """Say whether a protocol is named by its file."""
    return name.endswith(".py") or "/" in name


def _protocol(what: Machine | Protocol | str | Path, properties: Iterable[Property] | None) -> Protocol:
    if isinstance(what, Machine):
        if properties is None:
            raise UsageError(f"check() was given machine {what.name!r} alone: write check(MACHINE, PROPERTIES).")
        return Protocol(what, tuple(properties))
    if properties is not None:
        raise UsageError(
            "check() was given properties without a machine: write check(MACHINE, PROPERTIES), or name them in only=."
        )
    if isinstance(what, Protocol):
        return what
    if isinstance(what, str | Path):
        return find_protocol(str(what) if str(what).endswith(".py") or not isinstance(what, Path) else f"./{what}")
    raise UsageError(
        f"check() was given {described(what)}: write a machine, the name of a protocol, or the path of its file."
    )


def find_protocol(name: str) -> Protocol:
    """Return the protocol of this name, or the one that a file defines; raise UsageError if there is none."""
    if "\n" in name:
        raise UsageError(
            f"a protocol is named by a word or by its file, and this is {len(name.splitlines())} lines of text: write them to a file first."
        )
    if is_file(name):
        return load_protocol(Path(name))
    known = name.replace("_", "-") if name not in PROTOCOLS else name
    if known in PROTOCOLS:
        return PROTOCOLS[known]
    if Path(f"{name}.py").is_file():
        raise UsageError(f"there is no protocol {name!r}, but a file {name}.py is here: write {name}.py to name it.")
    if Path(name).is_file():
        make_sure_file(Path(name))
    return protocol(known)


def lookup_in(model: str | None) -> Callable[[str], Protocol]:
    """Return how a trace finds its protocol: in the user's file if it is the one defined there, else by name."""
    own = find_protocol(model) if model else None

    def find(name: str) -> Protocol:
        if own is not None and own.name == name:
            return own
        try:
            return protocol(name)
        except UsageError as error:
            more = (
                f"{model} defines {own.name!r}."
                if own is not None
                else "A protocol of your own is found with --model FILE.py."
            )
            raise UsageError(f"{error} {more}") from None

    return find


def load_protocol(path: Path) -> Protocol:
    """Return the protocol that a Python file defines as MACHINE and PROPERTIES."""
    make_sure_file(path)
    module = _run_file(path)
    machine, properties = getattr(module, "MACHINE", None), getattr(module, "PROPERTIES", None)
    if machine is None:
        raise UsageError(f"{path} defines no MACHINE: assign a Machine to that name, and its properties to PROPERTIES.")
    if not isinstance(machine, Machine):
        raise UsageError(
            f"{path}: MACHINE is {described(machine)}, which is not a machine: write MACHINE = Machine(name=..., sentence=..., ...)."
        )
    for constant in machine.constants.declared().values():
        if not constant.low <= constant.default <= constant.high:
            said = (
                f"constant {constant.name!r} has the default {int(constant.default)}, which is out of its range: "
                f"write a default from {constant.low} to {constant.high}, or another range."
            )
            raise UsageError(pointed_at_line(path, rf"\s+{constant.name}\s*=", said))
    checked = _properties(path, properties)
    names = [item.name for item in checked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{path}: PROPERTIES has {twice!r} twice: give each property a name of its own.")
    return Protocol(machine, checked, left_out=_left_out(module, machine, checked))


def _left_out(module: ModuleType, machine: Machine, properties: tuple[Property, ...]) -> tuple[Action | Property, ...]:
    """Return the actions and properties that a file defines and uses nowhere: not in MACHINE, in PROPERTIES, or in another value of its own."""
    used: list[object] = [machine.initial, *machine.actions, *properties]
    for value in vars(module).values():
        if isinstance(value, Machine):
            used += [value.initial, *value.actions]
        elif isinstance(value, tuple | list):
            used += value
    known = {id(item) for item in used} | {id(item.function) for item in used if isinstance(item, Action)}
    found = [item for item in vars(module).values() if isinstance(item, Action | Property)]
    return tuple(
        item
        for item in dict.fromkeys(found)
        if id(item) not in known and id(item.function) not in known and item.function.__module__ == module.__name__
    )


def make_sure_file(path: Path) -> None:
    """Raise UsageError if this is not a file that could define a protocol."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a protocol, or a Python file that defines MACHINE and PROPERTIES.")
    if not path.is_file():
        raise UsageError(
            f"there is no file {path}: name a protocol, or a Python file that defines MACHINE and PROPERTIES."
        )
    if path.stat().st_size > MOST:
        raise UsageError(
            f"{path} has more than {MOST >> 20} MiB: name a Python file that defines MACHINE and PROPERTIES."
        )
    if path.suffix != ".py":
        raise UsageError(
            f"{path} does not end in .py: a protocol of your own is a Python file, so give it a name such as {path.stem}.py."
        )


def _properties(path: Path, given: object) -> tuple[Property, ...]:
    """Return what a file assigns to PROPERTIES; raise UsageError if that is not a tuple of properties."""
    what = "a tuple of what @always, @step and @sometimes return"

    def refused(said: str, verb: str = "is") -> UsageError:
        return UsageError(pointed_at_line(path, r"PROPERTIES\b", f"PROPERTIES {verb} {said}"))

    if given is None:
        raise UsageError(f"{path} defines no PROPERTIES: assign to it {what}.")
    if isinstance(given, Property):
        name = given.function.__name__
        raise refused(f"{described(given)}, alone: write a tuple, with its comma: ({name},).")
    if not isinstance(given, tuple | list):
        raise refused(f"{described(given)}, which is not a tuple: write {what}.")
    if not given:
        raise refused(
            "empty, so there is nothing to say of the machine: write at least one function under @always, @step(...) or @sometimes."
        )
    for item in given:
        if not isinstance(item, Property):
            hint = "put @always, @step(...) or @sometimes above it" if callable(item) else f"write {what}"
            raise refused(f"{described(item)}, which is not a property: {hint}.", "has")
    return tuple(given)


class _AsWritten(SourceFileLoader):
    """Reads a file as it is now: kept bytecode goes by seconds and size, and may be that of what stood there before an edit."""

    def path_stats(self, path: Any) -> NoReturn:
        """Say that nothing is known of the file, so that neither is bytecode read nor written."""
        raise OSError(path)


def _run_file(path: Path) -> ModuleType:
    """Run a model file as a module; its neighbours can be imported, as if it were a script."""
    name = USER_MODULE + path.stem.encode("utf-8", "backslashreplace").decode()
    spec = (
        importlib.util.spec_from_loader(name, _AsWritten(name, str(path.resolve()))) if path.suffix == ".py" else None
    )
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is not a Python file: name a file that ends in .py.")
    _refuse_second_definitions(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except FencepostError as error:
        raise type(error)(placed(error)) from error
    except SyntaxError as error:
        raise ModelError(_pointed_at(error, path)) from error
    except (Exception, SystemExit) as error:
        raise ModelError(placed(told(error), instead_of(error))) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _refuse_second_definitions(path: Path) -> None:
    """Raise ModelError for an action or a property that is defined again under its name: the first one would be forgotten."""
    try:
        body = module_of(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return  # running the file says what is wrong
    seen: dict[str, int] = {}
    for item in body:
        if isinstance(item, ast.FunctionDef) and item.decorator_list:
            if item.name in seen:
                line = path.read_text().splitlines()[item.lineno - 1]
                raise ModelError(
                    f"{near(path)}:{item.lineno}: {item.name} is defined again, first on line {seen[item.name]}: only the last one "
                    f"would count.\n  {line}\n  {'^' * len(line)}\nInstead, give one of them another name."
                )
            seen[item.name] = item.lineno


def _pointed_at(error: SyntaxError, path: Path) -> str:
    """Return what Python says of a text that it cannot read, with the line and a caret below the place."""
    text, name = (error.text or "").rstrip(), near(Path(error.filename)) if error.filename else "the file"
    if error.lineno is None:
        return f"{near(path)}: {error.msg}. The file must be text that Python can read: save it again as UTF-8."
    said = f"{name}:{error.lineno}: {error.msg}" + ("" if error.msg.endswith("?") else ".")
    if not text.strip() or not error.offset:
        return said
    column = max(0, error.offset - 1 - (len(text) - len(text.lstrip())))
    return f"{said}\n  {text.strip()}\n  {' ' * column}^\nInstead, {in_place_of(error)}."


def choose_constants(
    machine: Machine, version: str | None, settings: tuple[str, ...], switches: tuple[tuple[str, bool], ...]
) -> Constants:
    """Return constants from a version, `NAME=VALUE` settings and switches; later ones go over earlier ones."""
    values = dict(machine.version(version).values) if version else {}
    chosen: dict[str, tuple[str, int]] = {}
    for text in settings:
        name, value = parse_setting(machine, "--set", text)
        _choose(chosen, name, f"--set {text}", value)
    for text, on in switches:
        name, option = _switch(machine, text, on=on)
        _choose(chosen, name, option, int(on))
    try:
        return machine.set_constants({**values, **{name: value for name, (_, value) in chosen.items()}})
    except FencepostError:
        raise
    except Exception as error:
        raise of_model(error) from error


def parse_setting(machine: Machine, option: str, text: str) -> tuple[str, int]:
    """Return the constant and the value that an option's `NAME=VALUE` means; raise UsageError if it means none."""
    name, mark, value = text.partition("=")
    if not mark:
        raise UsageError(
            f"{option} was given {text!r}, which has no value: write NAME=VALUE, such as {option} {_example(machine)}."
        )
    try:
        return machine.setting(name, value)
    except UsageError as error:
        if name.strip().replace("-", "_") in machine.constants.declared():
            raise  # for its value
        known = meant(machine, name)
        if known:
            return machine.setting(known, value)
        raise UsageError(f"{error}{by_meaning(machine, name, str(error))}") from None


def _switch(machine: Machine, text: str, *, on: bool) -> tuple[str, str]:
    """Return the name of a switch and the option as it was given; raise UsageError if it is none."""
    option, declared = "--with" if on else "--without", machine.constants.declared()
    known = [name for name, constant in declared.items() if constant.kind is bool]
    name, mark, value = text.strip().replace("-", "_").partition("=")
    if mark and name in known:
        word = (
            value.lower() if on else {"true": "false", "false": "true", "on": "off", "off": "on"}.get(value.lower(), "")
        )
        instead = {"true": "--with", "on": "--with", "false": "--without", "off": "--without"}.get(word, option)
        raise UsageError(f"{option} {text}: a switch is given without a value: write {instead} {name}.")
    if name in declared and name not in known:
        raise UsageError(
            f"{option} {text}: constant {name!r} is not a switch but a number or a choice: write --set {name}={value or 'VALUE'}."
        )
    if name not in known:
        listed = f"Switches are: {', '.join(known)}." if known else "It has none."
        raise UsageError(
            f"{option} {text}: protocol {machine.name!r} has no switch {name!r}.{nearest(name, known)} {listed}"
        )
    return name, f"{option} {text}"


def _choose(chosen: dict[str, tuple[str, int]], name: str, option: str, value: int) -> None:
    if name in chosen and chosen[name][1] != value:
        raise UsageError(
            f"constant {name!r} was given two values, by {chosen[name][0]} and by {option}: write one of them."
        )
    chosen[name] = (option, value)


def _example(machine: Machine) -> str:
    return next(
        (f"{name}={item.show(item.default)}" for name, item in machine.constants.declared().items()), "NAME=VALUE"
    )
