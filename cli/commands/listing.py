"""`fencepost list`: what there is to check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from fencepost.api.data import FORMAT
from fencepost.api.targets import find_protocol, spelt
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.invariants.protocols import PROTOCOLS

if TYPE_CHECKING:
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Action, Property
    from fencepost.model.language.constants import Constant
    from rich.console import Console


@click.command("list", short_help="Show protocols, constants, actions and properties.")
@click.argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: all of it, of one or of all protocols.")
def list_protocols(protocol: str | None, as_json: bool) -> Exit:  # noqa: FBT001 (as click calls it)
    """Show the protocols; with PROTOCOL its constants, versions, actions and properties."""
    chosen = [find_protocol(protocol)] if protocol else list(PROTOCOLS.values())
    if as_json:
        print_json({"format": FORMAT, "protocols": [protocol_data(item) for item in chosen]})
    elif protocol:
        _print_one(results(), chosen[0])
    else:
        _print_all(results(), chosen)
    return Exit.AS_EXPECTED


def protocol_data(item: Protocol) -> dict[str, Any]:
    """Return a protocol as JSON."""
    machine = item.machine
    return {
        "name": item.name,
        "sentence": machine.sentence,
        "source": machine.source,
        "constants": [_constant_data(name, constant) for name, constant in machine.constants.declared().items()],
        "versions": [
            {"name": version.name, "sentence": version.sentence, "constants": _shown(item, version.values)}
            for version in machine.versions
        ],
        "actions": [
            {"name": action.label, "sentence": action.sentence, "parameters": [name for name, _ in action.params]}
            for action in machine.actions
        ],
        "properties": [_property_data(prop, on_request=prop in item.on_request) for prop in item.every_property],
    }


def _property_data(prop: Property, *, on_request: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"name": prop.name, "kind": str(prop.kind), "sentence": prop.sentence}
    found |= {"on_request": True} if on_request else {}
    if prop.eventual is None:
        return found
    about = prop.eventual
    return found | {
        "fairness": [str(item) for item in about.fair],
        "without": [item.label for item in about.without],
        "for": [name for name, _ in about.params],
    }


def _constant_data(name: str, constant: Constant[Any]) -> dict[str, Any]:
    found = {"name": name, "default": spelt(constant.show(constant.default)), "meaning": constant.meaning}
    if constant.kind is bool:
        return {**found, "values": [False, True]}
    if constant.spellings():
        return {**found, "values": [spelt(word) for word in constant.spellings()]}
    return {**found, "low": constant.low, "high": constant.high}


def _shown(item: Protocol, values: Any) -> dict[str, Any]:
    declared = item.machine.constants.declared()
    return {name: spelt(declared[name].show(value)) for name, value in values.items()}


def _print_all(console: Console, chosen: list[Protocol]) -> None:
    for item in chosen:
        console.print(heading(item.name))
        print_lines(console, item.machine.sentence, indent=2)
        defaults = " ".join(f"{name}={_word(c, c.default)}" for name, c in item.machine.constants.declared().items())
        print_lines(console, styled(f"constants: {defaults}", "dim"), indent=2)
        print_lines(console, styled(f"properties: {', '.join(prop.name for prop in item.properties)}", "dim"), indent=2)
        if item.machine.versions:
            print_lines(console, styled(f"versions: {', '.join(v.name for v in item.machine.versions)}", "dim"), indent=2)
    console.print()
    print_lines(console, "`fencepost list PROTOCOL` says what each of these means; `fencepost check PROTOCOL` checks it.")


def _print_one(console: Console, item: Protocol) -> None:
    machine = item.machine
    console.print(heading(item.name))
    print_lines(console, machine.sentence)
    if machine.source:
        print_lines(console, styled(f"after {machine.source}", "dim"))
    constants = machine.constants.declared().items()
    _part(console, "Constants", [(f"{name}={_word(c, c.default)}", _range(c), c.meaning) for name, c in constants])
    _part(console, "Versions", [(version.name, "", version.sentence) for version in machine.versions])
    _part(console, "Actions", [(_call(action), "", action.sentence) for action in machine.actions])
    _part(console, "Properties", [(prop.name, str(prop.kind), prop.sentence) for prop in item.properties])
    named = [(prop.name, str(prop.kind), prop.sentence) for prop in item.on_request]
    _part(console, "Properties that are checked if they are named (--property)", named)


def _part(console: Console, title: str, rows: list[tuple[str, str, str]]) -> None:
    """Print a part of the page: names, a word each if there is one, and what they mean."""
    if not rows:
        return
    console.print()
    console.print(heading(title))
    if any(word for _, word, _ in rows):
        print_rows(console, [(name, styled(word, "dim"), meaning) for name, word, meaning in rows], indent=2)
    else:
        print_rows(console, [(name, meaning) for name, _, meaning in rows], indent=2)


def _call(action: Action) -> str:
    return " ".join([action.label, *(f"{name}=.." for name, _ in action.params)])


def _word(constant: Constant[Any], value: int) -> str:
    return str(spelt(constant.show(value))).lower()


def _range(constant: Constant[Any]) -> str:
    if constant.kind is bool:
        return "switch"
    words = [spelt(word) for word in constant.spellings()]
    return "|".join(words) if words else f"{constant.low}..{constant.high}"
