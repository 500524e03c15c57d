"""What commands about evidence share: the options that name a protocol and its constants, read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from fencepost.api.targets import choose_constants, find_protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.native.generate import Source
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Property

_OPTIONS = (
    click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set a constant."),
    click.option("--version", metavar="NAME", help="Take the constants of a named version, such as a Kafka release."),
    click.option("--with", "with_", multiple=True, metavar="SWITCH", help="Turn a switch on."),
    click.option("--without", multiple=True, metavar="SWITCH", help="Turn a switch off."),
)


def constants_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that set constants to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked(
    name: str, settings: tuple[str, ...], version: str | None, with_: tuple[str, ...], without: tuple[str, ...]
) -> tuple[Protocol, Constants]:
    """Return a protocol, by name or from a file, and the constants that were set."""
    found = find_protocol(name)
    switches = (*((item, True) for item in with_), *((item, False) for item in without))
    return found, choose_constants(found.machine, version, settings, switches)


def source_without_guards(
    found: Protocol, constants: Constants, properties: tuple[Property, ...], *, normalize: bool
) -> Source:
    """Return the text that is compiled where guards are turned off."""
    from fencepost.explorers.native.generate import generate

    return generate(found.machine, constants, found.compiled_with(properties), normalize=normalize, compact=False, masked=True)
