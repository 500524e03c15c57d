"""Execution of a user's model file as a module that defines a protocol."""

import ast
from importlib.util import decode_source
from pathlib import Path
from types import ModuleType

from fencepost.api.asking.places import in_place_of, instead_of, near, placed, pointed_at_line, told
from fencepost.explorers.model_files import Loaded, load
from fencepost.explorers.running.files import MOST
from fencepost.invariants.protocols import Protocol
from fencepost.model.language.actions import Action, Property
from fencepost.model.language.errors import FencepostError, ModelError, UsageError
from fencepost.model.language.machine import Machine, described
from fencepost.model.language.trees import whole_file


def is_file(name: str) -> bool:
    return name.endswith(".py") or "/" in name or ".py:" in name


def load_protocol(path: Path) -> Protocol:
    """Return the protocol that a file defines as MACHINE and PROPERTIES, or NAME and PROPERTIES in `FILE.py:NAME`."""
    file, colon, name = str(path).partition(".py:")
    path, name = (Path(f"{file}.py"), name) if colon else (path, "MACHINE")
    make_sure_file(path)
    module, files = _run_file(path)
    machine, properties = getattr(module, name, None), getattr(module, "PROPERTIES", None)
    if machine is None:
        raise UsageError(f"{path} defines no {name}: assign a Machine to that name, and its properties to PROPERTIES.")
    if not isinstance(machine, Machine):
        raise UsageError(
            f"{path}: {name} is {described(machine)}, not a machine: write {name} = Machine(name=..., sentence=..., "
            "...)."
        )
    for constant in machine.constants.declared().values():
        if not constant.low <= constant.default <= constant.high:
            said = (
                f"constant {constant.name!r} has the default {int(constant.default)}, which is outside its range: "
                f"write a default from {constant.low} to {constant.high}, or change the range."
            )
            raise UsageError(pointed_at_line(path, rf"\s+{constant.name}\s*=", said))
    checked = _properties(path, properties)
    names = [item.name for item in checked]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{path}: PROPERTIES contains two properties named {twice!r}: give each a different name.")
    return Protocol(machine, checked, left_out=_left_out(module, machine, checked), files=files)


def _left_out(module: ModuleType, machine: Machine, properties: tuple[Property, ...]) -> tuple[Action | Property, ...]:
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
    if path.is_dir():
        raise UsageError(f"{path} is a folder: name a protocol, or a Python file that defines MACHINE and PROPERTIES.")
    if not path.is_file():
        raise UsageError(
            f"there is no file {path}: name a protocol, or a Python file that defines MACHINE and PROPERTIES."
        )
    if path.stat().st_size > MOST:
        raise UsageError(
            f"{path} is larger than {MOST >> 20} MiB: name a Python file that defines MACHINE and PROPERTIES."
        )
    if path.suffix != ".py":
        raise UsageError(
            f"{path} does not end in .py: your own protocol must be in a Python file, with a name such as "
            f"{path.stem}.py."
        )


def _properties(path: Path, given: object) -> tuple[Property, ...]:
    what = "a tuple of the results of @always, @step and @sometimes"

    def refused(said: str, verb: str = "is") -> UsageError:
        return UsageError(pointed_at_line(path, r"PROPERTIES\b", f"PROPERTIES {verb} {said}"))

    if given is None:
        raise UsageError(f"{path} defines no PROPERTIES: assign {what} to it.")
    if isinstance(given, Property):
        name = given.function.__name__
        raise refused(f"{described(given)}, not a tuple: write a tuple with a trailing comma: ({name},).")
    if not isinstance(given, tuple | list):
        raise refused(f"{described(given)}, not a tuple: write {what}.")
    if not given:
        raise refused(
            "empty, so there is nothing to check: write at least one function under @always, @step(...) or @sometimes."
        )
    for item in given:
        if not isinstance(item, Property):
            hint = "put @always, @step(...) or @sometimes above it" if callable(item) else f"write {what}"
            raise refused(f"{described(item)}, not a property: {hint}.", "has")
    return tuple(given)


def _run_file(path: Path) -> Loaded:
    if path.suffix != ".py":
        raise UsageError(f"{path} is not a Python file: name a file that ends in .py.")
    _refuse_second_definitions(path)
    try:
        return load(path)
    except FencepostError as error:
        raise type(error)(placed(error)) from error
    except SyntaxError as error:
        raise ModelError(_pointed_at(error, path)) from error
    except (Exception, SystemExit) as error:
        raise ModelError(placed(told(error), instead_of(error))) from error


def _refuse_second_definitions(path: Path) -> None:
    """Raise ModelError if an action or property is defined twice, because Python would drop the first definition."""
    try:
        body = whole_file(decode_source(path.read_bytes())).body
    except (OSError, SyntaxError, ValueError):
        return  # running the file reports the error
    seen: dict[str, int] = {}
    for item in body:
        if isinstance(item, ast.FunctionDef) and item.decorator_list:
            if item.name in seen:
                line = path.read_text().splitlines()[item.lineno - 1]
                raise ModelError(
                    f"{near(path)}:{item.lineno}: {item.name} is defined twice, first on line {seen[item.name]}: "
                    f"Python would drop the first definition.\n  {line}\n  {'^' * len(line)}\nInstead, rename one of "
                    "them."
                )
            seen[item.name] = item.lineno


def _pointed_at(error: SyntaxError, path: Path) -> str:
    text, name = (error.text or "").rstrip(), near(Path(error.filename)) if error.filename else "the file"
    if error.lineno is None:
        return f"{near(path)}: {error.msg}. Python cannot read the file as text: save it again as UTF-8."
    said = f"{name}:{error.lineno}: {error.msg}" + ("" if error.msg.endswith("?") else ".")
    if not text.strip() or not error.offset:
        return said
    column = max(0, error.offset - 1 - (len(text) - len(text.lstrip())))
    return f"{said}\n  {text.strip()}\n  {' ' * column}^\nInstead, {in_place_of(error)}."
