"""The parties that diagrams of a protocol show, where the schema and the action names do not determine them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.model.language.domains import Index, domain_of
from fencepost.model.language.errors import ModelError, nearest


@dataclass(frozen=True, eq=False)
class Cast:
    """The parties of a protocol, which affect only diagrams, never the meaning of a machine.

    `owner`, for example the controller, owns the remaining fields of the state. `names` gives names to the elements of
    an array of records, such as "broker" for the array "replica". `arrows` maps an action to the source from which the
    acting party reads without a message in a bag. The acting party is then the owner or a parameter of the action.
    `nobodys` contains fields of the state that belong to no party, such as a counter of writes. For an array of past
    values, `current` is the name of the field that holds the index of the current element, and `views` is the name of
    the party's field that holds an index into the array.

    `parties` maps the names of participants, in order, to the aliases of their indices, such as "client" to `Client`,
    or to None for a single participant. An array of plain values, one for each participant, also belongs to the
    participants. `fields` assigns fields of the state to single parties, such as "holder" to "server". `actors` maps an
    action to the acting party ("" for a party outside the protocol), and `tells` maps an action to the party that
    receives information without a message in a bag. `senders` and `receivers` map a message class to its sender and
    receiver. The acting party, the sender and the receiver can each be a party, a parameter of the action or a field of
    the message. The values of `actors`, `arrows` and `tells` may also be paths in the state before the step
    (`call[client].node`), and those of `tells` also paths in the state after it. `losses` contains the actions that
    lose their messages; by default, the actions with "lose" or "drop" in their names whose message no party receives.
    """

    owner: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    arrows: Mapping[str, str] = field(default_factory=dict)
    nobodys: tuple[str, ...] = ()
    current: Mapping[str, str] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    parties: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    actors: Mapping[str, str] = field(default_factory=dict)
    tells: Mapping[str, str] = field(default_factory=dict)
    senders: Mapping[str, str] = field(default_factory=dict)
    receivers: Mapping[str, str] = field(default_factory=dict)
    losses: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name, alias in self.parties.items():
            if alias is not None and not isinstance(domain_of(alias), Index):
                raise ModelError(
                    f"Cast: {alias!r} was given for party {name!r}, but it does not identify a member of the party: "
                    "write an alias such as Annotated[int, Index(C.clients)], or None if there is only one member."
                )
        for name, party in self.fields.items():
            if self.parties.get(party, NOBODY_SUCH) is not None and party != self.owner:
                alone = [item for item, alias in self.parties.items() if alias is None]
                raise ModelError(
                    f"Cast: field {name!r} belongs to {party!r}, which is not a party with a single member."
                    f"{nearest(party, alone)} Write it in parties={{{party!r}: None}}."
                )


NOBODY_SUCH = object()
NOBODY = Cast()
"""The cast of a machine that declares no cast: it is derived from the schema and the names of the actions."""
