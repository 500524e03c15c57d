"""Constants as they are typed (`--set NAME=VALUE`, `--with` and `--without` a switch) become values here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.constants import add_value, parse_setting
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.model.language.machine import Machine

ON, OFF = "--with", "--without"
OPPOSITE = {"true": "false", "false": "true", "on": "off", "off": "on"}


def parse_constants(
    machine: Machine, settings: Iterable[str], switched_on: Iterable[str] = (), switched_off: Iterable[str] = ()
) -> dict[str, int]:
    """Return constants by name; raise UsageError for what names none, and for one that is given two values."""
    given: dict[str, tuple[str, int]] = {}
    for text in settings:
        name, value = parse_setting(machine, "--set", text)
        add_value(given, name, f"--set {text}", value)
    for option, texts in ((ON, switched_on), (OFF, switched_off)):
        for text in texts:
            add_value(given, _parse_switch(machine, option, text), f"{option} {text}", int(option == ON))
    return {name: value for name, (_, value) in given.items()}


def _parse_switch(machine: Machine, option: str, text: str) -> str:
    """Return the name of a switch; raise UsageError for any other text."""
    declared = machine.constants.declared()
    known = [name for name, constant in declared.items() if constant.kind is bool]
    name, mark, value = text.strip().replace("-", "_").partition("=")
    if mark and name in known:
        word = value.lower() if option == ON else OPPOSITE.get(value.lower(), "")
        instead = {"true": ON, "on": ON, "false": OFF, "off": OFF}.get(word, option)
        raise UsageError(f"{option} {text}: a switch is given without a value: write {instead} {name}.")
    if name in declared and name not in known:
        raise UsageError(
            f"{option} {text}: constant {name!r} is not a switch but a number or a choice: "
            f"write --set {name}={value or 'VALUE'}."
        )
    if name not in known:
        listed = f"Switches are: {', '.join(known)}." if known else "It has none."
        raise UsageError(
            f"{option} {text}: protocol {machine.name!r} has no switch {name!r}.{nearest(name, known)} {listed}"
        )
    return name
