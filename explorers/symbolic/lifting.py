"""Which constants `--unbounded` means: named themselves, or by the domain that they bound."""

from __future__ import annotations

import re
import sys
import typing
from typing import TYPE_CHECKING

from fencepost.model.language.constants import SHAPE
from fencepost.model.language.domains import BitSet, Extreme, Index, Range, domain_of, linear
from fencepost.model.language.errors import UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fencepost.model.language.machine import Machine


def lifted_names(machine: Machine, given: Iterable[str], option: str) -> list[str]:
    """Return the constants that an option names; raise UsageError for an unknown name or a size."""
    declared = machine.constants.declared()
    domains = domains_of(machine)
    found: dict[str, None] = {}
    for word in (part.strip() for text in given for part in text.split(",") if part.strip()):
        name = word.replace("-", "_").lower()
        names = [name] if name in declared else domains.get(name)
        if names is None:
            known = [*declared, *domains]
            raise UsageError(
                f"{option} was given {word!r}, which is neither a constant nor a domain of "
                f"{machine.name!r}.{nearest(name, known)} Domains are: {', '.join(domains) or 'none'}; constants are: "
                f"{', '.join(declared)}."
            )
        for item in names:
            if declared[item].sort == SHAPE or declared[item].spellings():
                what = "a size" if declared[item].sort == SHAPE else "a switch or a choice"
                raise UsageError(
                    f"{option} was given {word!r}: constant {item!r} is {what}, which a proof keeps as it is: "
                    f"write --set {item}=VALUE."
                )
        found |= dict.fromkeys(names)
    return list(found)


def _names_in(name: str) -> list[str]:
    """Return the constants in a part of a sum."""
    return sorted(name.names) if isinstance(name, Extreme) else [name]


def domains_of(machine: Machine) -> dict[str, list[str]]:
    """Return the constants that bound each named domain of a machine's state, by the domain's name in lower case."""
    found: dict[str, list[str]] = {}
    module = sys.modules.get(machine.state.__module__)
    for alias, item in vars(module).items() if module else ():
        if typing.get_origin(item) is not typing.Annotated:
            continue
        domain = domain_of(item)
        if isinstance(domain, Range) and not isinstance(domain, Index | BitSet):
            names = [inner for name in linear(domain.high).terms for inner in _names_in(name)]
            if names:
                found[re.sub(r"(?<=[a-z])(?=[A-Z])", "_", alias).lower()] = names
    return found
