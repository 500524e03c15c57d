"""Advice in words, the same on the console and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.fault_words import words_of
from fencepost.api.quantities import counted

if TYPE_CHECKING:
    from fencepost.api.contract_evidence import AdviceData, AppliesData, BreakingData, ChangeData

SETTINGS = {
    "acks": "acks",
    "unclean_election": "unclean.leader.election.enable",
    "elr": "eligible leader replicas",
    "min_isr": "min.insync.replicas",
}
"""What Kafka calls the settings that may be changed."""


def broken_by(item: BreakingData, kinds: list[str]) -> str:
    """Return the faults of the shortest history, and its length."""
    free = item.get("free")
    more = f", and for free {words_of(free)}" if free else ""
    return f"Shortest history with {words_of(item['faults'], kinds)}{more}: {counted(item['length'] - 1, 'step')}"


def lines_of(found: AppliesData) -> list[str]:
    """Return what there is to say of a finding, each a sentence or more."""
    sentence, avoid = found["sentence"], found["avoid"]
    lines = [f"{sentence[0].upper()}{sentence[1:]}", seen_of(found), needs_of(found)]
    lines += [f"Until it is repaired: {avoid[0].lower()}{avoid[1:]}"] if avoid else []
    return lines + ([f"Repair: {found['repair']}."] if found["repair"] else [])


def released_of(data: AdviceData) -> str:
    """Return what the release as it is loses while crashes leave the disk as it is, or that nobody has searched that."""
    found, release = data["released"], str(data["settings"]["kafka"]).replace("kafka-", "Kafka ")
    if found is None:
        return f"{release} as it is, where a crash leaves the disk as it is: not searched at these settings."
    where = f"with {counted(found['brokers'], 'broker')}, and no other number"
    return (
        f"{release} as it is, where a crash leaves the disk as it is: {found['outcome']} ({where}; {found['states']:,} states)."
    )


def seen_of(found: AppliesData) -> str:
    """Return where real Kafka showed a finding."""
    places = (("clusters", found["clusters"]), ("Kafka's own classes", found["classes"]))
    seen = [f"on {name} of {', '.join(releases)}" for name, releases in places if releases]
    return f"Seen {' and '.join(seen)}." if seen else "Not seen on real Kafka."


def needs_of(found: AppliesData) -> str:
    """Return what it takes to lose a record by a finding: as measured, or by the shortest history of the catalogue."""
    needed = found["faults"]
    if needed is None or needed["undetermined"]:
        return f"The fewest faults were not measured at this min ISR; {_known(found)}."
    brokers = f"{counted(needed['brokers'], 'broker')}, and no other number"
    if needed["front"]:
        sets = "; or ".join(words_of(item["faults"]) for item in needed["front"])
        return f"Fewest that lose a record, measured with {brokers}: {sets}."
    tried = words_of(needed["most"])
    return f"Nothing that was tried at this min ISR lost a record (up to {tried}, with {brokers}); {_known(found)}."


def _known(found: AppliesData) -> str:
    """Return the shortest history of the catalogue that loses a record, as a clause."""
    loses = found["loses"]
    if loses is None:
        return "no history in which it loses a record is known"
    return f"the shortest history that loses one has {counted(loses['length'] - 1, 'step')} ({loses['run']})"


def change_of(item: ChangeData) -> tuple[str, str]:
    """Return a change of a setting, and what it brings."""
    value = item["value"]
    shown = ("on" if value else "off") if isinstance(value, bool) else str(value)
    down = item["writes_go_on_with_brokers_down"]
    writes = (
        f"writes go on while {counted(down, 'broker')} {'is' if down == 1 else 'are'} down"
        if down
        else "writes stop while any broker is down"
    )
    return f"{SETTINGS[item['setting']]}={shown}", f"{item['outcome']}; {writes}"
