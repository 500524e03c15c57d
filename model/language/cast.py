"""The parties of a protocol, for diagrams, where neither the schema nor the names of the actions show them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, eq=False)
class Cast:
    """The parties of a protocol. It changes diagrams only, never what a machine means.

    `owner` has the fields of the state that are nobody else's, such as the controller. `names` says what the elements
    of an array of records are called: `{"replica": "broker"}`. `arrows` gives, by the name of an action, from whom the
    one who acts learns something without a message in a bag; a party is the owner or a parameter of the action.
    `nobodys` are fields of the state that no party has, such as a counter of what was written. `current` names, for an
    array of what is remembered of the past, the field that says which element is the present one, and `views` names, for
    a field of a party, the array of which it is an index: what the party knows.
    """

    owner: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    arrows: Mapping[str, str] = field(default_factory=dict)
    nobodys: tuple[str, ...] = ()
    current: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)


NOBODY = Cast()
"""The cast of a machine that names none: the schema and the names of its actions tell."""
