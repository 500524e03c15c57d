"""The values that a step may be given as a parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.domains import First

if TYPE_CHECKING:
    from fencepost.model.language.domains import Domain
    from fencepost.model.language.records import Schema


def values_of(schema: Schema, domain: Domain) -> range:
    """Return the values of a parameter: those of its domain, NONE left out."""
    _, high = schema.bounds(domain)
    return range(First(domain).value(schema.constants.values), high + 1)
