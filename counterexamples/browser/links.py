"""Permanent links into the explorer. A link has a protocol, a version, constants, removed guards, and a trace's steps.

`#replication?version=kafka-4.1&brokers=3&steps=broker-crashes+broker=1;controller-fences-broker+broker=1`
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote_plus, urlencode

from fencepost.explorers.program.removal import find_guard
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.model.language.errors import UsageError, nearest
from fencepost.model.language.machine import Machine

VERSION, START, REMOVED, STEPS = "version", "start", "removed", "steps"
TRACE, STORY = "trace", "story"
KEYS = (VERSION, START, REMOVED, STEPS, TRACE)
BETWEEN_STEPS, BETWEEN_GUARDS = ";", ","
PLAIN = "=;,:{}[]"
"""Characters that stay unescaped in a link's steps, because browsers do not change them after `#`."""


@dataclass(frozen=True)
class Link:
    """The content of a link. `constants` are those that differ from the version, and `start` is the initial state."""

    protocol: str
    version: str = ""
    constants: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    start: str = ""
    steps: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        pairs = [(VERSION, self.version), *self.constants.items(), (REMOVED, BETWEEN_GUARDS.join(self.removed))]
        pairs += [(START, self.start), (STEPS, BETWEEN_STEPS.join(self.steps))]
        asked = urlencode([pair for pair in pairs if pair[1]], errors="replace", quote_via=quote_plus, safe=PLAIN)
        return f"#{self.protocol}?{asked}" if asked else f"#{self.protocol}"


def link(
    protocol: str,
    *,
    constants: Mapping[str, int | str] | None = None,
    removed: Iterable[str] = (),
    steps: Iterable[str] = (),
) -> str:
    """Return the part of an address, after `explore/`, that opens a protocol and takes these steps. `removed` lists
    guards by name, such as `follower-fetch 1`. Raises UsageError for unknown names.
    """
    machine = named_protocol(protocol).machine
    declared, shown = machine.constants.declared(), dict[str, str]()
    for name, text in (constants or {}).items():
        known, value = machine.setting(name, str(text))
        shown[known] = str(declared[known].show(value)).lower()
    guards = tuple(find_guard(machine, name).name for name in removed)
    return Link(protocol, "", shown, guards, "", tuple(steps)).text


def differing(machine: Machine, shown: Mapping[str, object], version: str = "") -> dict[str, str]:
    base = dict(machine.version(version).values) if version else {}
    found = {}
    for name, item in machine.constants.declared().items():
        text, usual = (str(value).lower() for value in (shown.get(name, ""), item.show(base.get(name, item.default))))
        if name in shown and text != usual:
            found[name] = text
    return found


def link_of_trace(name: str) -> str:
    return f"#{TRACE}={quote_plus(name.removesuffix('.trace'))}"


def link_of_story(name: str) -> str:
    return f"#{STORY}={quote_plus(name)}"


def read(text: str) -> Link:
    """Return the content of a link without checking its steps; raise UsageError for an unknown key."""
    name, _, asked = text.removeprefix("#").partition("?")
    machine = named_protocol(name).machine
    given = dict(parse_qsl(asked))
    declared = machine.constants.declared()
    constants = {key: value for key, value in given.items() if key not in KEYS}
    for key in constants:
        if key not in declared:
            known = [*declared, *KEYS]
            raise UsageError(
                f"the link sets {key!r}, which is not a constant of protocol {name!r}.{nearest(key, known)} Constants "
                f"are: {', '.join(declared)}."
            )
    return Link(
        name,
        given.get(VERSION, ""),
        constants,
        _split(given.get(REMOVED, ""), BETWEEN_GUARDS),
        given.get(START, ""),
        _split(given.get(STEPS, ""), BETWEEN_STEPS),
    )


def _split(text: str, sign: str) -> tuple[str, ...]:
    return tuple(item.strip() for item in text.split(sign) if item.strip())
