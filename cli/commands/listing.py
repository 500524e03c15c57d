"""`fencepost list`: lists protocols, constants, actions and properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from click import argument, command, option
from fencepost.api.calls.listing import list_protocols as listed
from fencepost.cli.status import Exit
from fencepost.cli.views.console import heading, print_json, print_lines, print_rows, results, styled
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Action
from fencepost.model.language.constants import Constant

if TYPE_CHECKING:
    from rich.console import Console


@command("list")
@argument("protocol", required=False, metavar="[PROTOCOL_OR_FILE]")
@option("--json", "as_json", is_flag=True, help="Print one protocol or all protocols as JSON.")
def list_protocols(protocol: str | None, as_json: bool) -> Exit:
    """List the protocols; with PROTOCOL, list its constants, versions, actions and properties."""
    chosen = listed(protocol or "")
    if as_json:
        print_json(chosen.to_dict())
    elif protocol:
        print_one(results(), *chosen)
    else:
        print_all(results(), list(chosen))
    return Exit.AS_EXPECTED


def print_all(console: Console, chosen: list[Protocol]) -> None:
    for item in chosen:
        console.print(heading(item.name))
        print_lines(console, item.machine.sentence, indent=2)
        defaults = " ".join(f"{name}={_word(c, c.default)}" for name, c in item.machine.constants.declared().items())
        print_lines(console, f"constants: {defaults}", style="dim", indent=2)
        print_lines(console, f"properties: {', '.join(prop.name for prop in item.properties)}", style="dim", indent=2)
        if item.machine.versions:
            print_lines(console, f"versions: {', '.join(v.name for v in item.machine.versions)}", style="dim", indent=2)
    print_lines(console, "", "`fencepost list PROTOCOL` explains a protocol, and `fencepost check PROTOCOL` checks it.")


def print_one(console: Console, item: Protocol) -> None:
    machine = item.machine
    console.print(heading(item.name))
    print_lines(console, machine.sentence)
    if machine.source:
        print_lines(console, f"after {machine.source}", style="dim")
    constants = machine.constants.declared().items()
    _part(console, "Constants", [(f"{name}={_word(c, c.default)}", _range(c), c.meaning) for name, c in constants])
    versions = (*machine.versions, *machine.patches())
    _part(console, "Versions", [(version.name, "", version.sentence) for version in versions])
    _part(console, "Actions", [(_call(action), "", action.sentence) for action in machine.actions])
    _part(console, "Properties", [(prop.name, str(prop.kind), prop.sentence) for prop in item.properties])
    named = [(prop.name, str(prop.kind), prop.sentence) for prop in item.on_request]
    _part(console, "Properties that are checked only if you name them (--property)", named)


def _part(console: Console, title: str, rows: list[tuple[str, str, str]]) -> None:
    if not rows:
        return
    print_lines(console, "", heading(title))
    if any(word for _, word, _ in rows):
        print_rows(console, [(name, styled(word, "dim"), meaning) for name, word, meaning in rows], indent=2)
    else:
        print_rows(console, [(name, meaning) for name, _, meaning in rows], indent=2)


def _call(action: Action) -> str:
    return " ".join([action.label, *(f"{name}=.." for name, _ in action.params)])


def _word(constant: Constant[Any], value: int) -> str:
    return str(constant.show(value)).lower()


def _range(constant: Constant[Any]) -> str:
    if constant.kind is bool:
        return "switch"
    words = list(constant.spellings())
    return "|".join(words) if words else f"{constant.low}..{constant.high}"
