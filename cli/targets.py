"""What a command is about: a protocol by name or in a user's own file, and its constants."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.invariants.protocols import PROTOCOLS, Protocol, protocol
from fencepost.model.language.actions import Property
from fencepost.model.language.errors import FencepostError, ModelError, UsageError, nearest
from fencepost.model.language.machine import Machine

if TYPE_CHECKING:
    from types import ModuleType

    from fencepost.model.language.constants import Constants


def find_protocol(name: str) -> Protocol:
    """Return the protocol of this name, or the one that a file defines; raise UsageError if there is none."""
    if name.endswith(".py") or "/" in name:
        return load_protocol(Path(name))
    return protocol(name.replace("_", "-") if name not in PROTOCOLS else name)


def load_protocol(path: Path) -> Protocol:
    """Return the protocol that a Python file defines as MACHINE and PROPERTIES."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}: name a protocol, or a Python file that defines MACHINE and PROPERTIES.")
    module = _run_file(path)
    machine, properties = getattr(module, "MACHINE", None), getattr(module, "PROPERTIES", None)
    if not isinstance(machine, Machine):
        raise UsageError(f"{path} defines no MACHINE: assign a Machine to that name, and its properties to PROPERTIES.")
    if not isinstance(properties, tuple | list) or not all(isinstance(item, Property) for item in properties):
        raise UsageError(f"{path} defines no PROPERTIES: assign to it a tuple of what @always, @step and @sometimes return.")
    names = [item.name for item in properties]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UsageError(f"{path}: PROPERTIES has {twice!r} twice: give each property a name of its own.")
    return Protocol(machine, tuple(properties))


def _run_file(path: Path) -> ModuleType:
    """Run a model file as a module; its neighbours can be imported, as if it were a script."""
    name = f"fencepost_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} is no Python file: name a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except FencepostError:
        raise
    except SyntaxError as error:
        raise ModelError(f"{error.filename}:{error.lineno}: {error.msg}:\n{(error.text or '').rstrip()}") from error
    except Exception as error:
        line = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == spec.origin), 1)
        raise ModelError(
            f"{path}:{line}: {type(error).__name__}: {error}. The file must run before its model can be read."
        ) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def choose_constants(
    machine: Machine, version: str | None, settings: tuple[str, ...], switches: tuple[tuple[str, bool], ...]
) -> Constants:
    """Return constants from a version, `NAME=VALUE` settings and switches; later ones go over earlier ones."""
    values = dict(machine.version(version).values) if version else {}
    chosen: dict[str, tuple[str, int]] = {}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark:
            raise UsageError(
                f"--set was given {text!r}, which has no value: write NAME=VALUE, such as --set {_example(machine)}."
            )
        _choose(chosen, _constant_name(machine, name), f"--set {text}", _parse(machine, _constant_name(machine, name), value))
    for text, on in switches:
        name = _constant_name(machine, text)
        option = f"--{'with' if on else 'without'} {text}"
        if machine.constants.declared()[name].kind is not bool:
            raise UsageError(f"{option}: constant {name!r} is no switch but a number or a choice: write --set {name}=VALUE.")
        _choose(chosen, name, option, int(on))
    return machine.set_constants({**values, **{name: value for name, (_, value) in chosen.items()}})


def _constant_name(machine: Machine, text: str) -> str:
    """Return the name of a constant as Python spells it; raise UsageError if there is none."""
    name, known = text.strip().replace("-", "_"), list(machine.constants.declared())
    if name not in known:
        raise UsageError(
            f"protocol {machine.name!r} has no constant {text.strip()!r}.{nearest(name, known)} Constants are: {', '.join(known)}."
        )
    return name


def _parse(machine: Machine, name: str, text: str) -> int:
    return int(machine.constants.declared()[name].parse(text))


def _choose(chosen: dict[str, tuple[str, int]], name: str, option: str, value: int) -> None:
    if name in chosen and chosen[name][1] != value:
        raise UsageError(f"constant {name!r} was given two values, by {chosen[name][0]} and by {option}: write one of them.")
    chosen[name] = (option, value)


def _example(machine: Machine) -> str:
    return next((f"{name}={item.show(item.default)}" for name, item in machine.constants.declared().items()), "NAME=VALUE")
