"""Advice in words, the same on the console and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted, listed
from fencepost.api.topics.applying import PROTOCOL
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fencepost.api.answers.contract_evidence import AdviceData, AppliesData, BreakingData, ChangeData

SETTINGS = {
    "acks": "acks",
    "unclean_election": "unclean.leader.election.enable",
    "elr": "eligible leader replicas",
    "min_isr": "min.insync.replicas",
}
"""Kafka's names of the settings that may be changed."""
KINDS = {
    "crashes": ("broker crash", "broker crashes"),
    "clean_stops": ("controlled shutdown", "controlled shutdowns"),
    "fences": ("expired broker session", "expired broker sessions"),
    "shrinks": ("ISR shrink of a slow follower", "ISR shrinks of slow followers"),
    "lags": ("follower that lags for replica.lag.time.max.ms", "followers that lag for replica.lag.time.max.ms"),
    "elections": ("preferred leader election", "preferred leader elections"),
    "disk_swaps": ("log that vanishes under a running broker", "logs that vanish under a running broker"),
    "resends": (
        "AlterPartition that is sent again after a disconnect",
        "AlterPartitions that are sent again after a disconnect",
    ),
    "reassignments": ("reassignment", "reassignments"),
    "cancels": ("cancelled reassignment", "cancelled reassignments"),
    "raises": ("increase of min ISR", "increases of min ISR"),
    "lowers": ("decrease of min ISR", "decreases of min ISR"),
    "elr_disables": ("turning off of ELR", "turnings off of ELR"),
    "early_starts": ("restart within the broker's old session", "restarts within the broker's old session"),
}
"""Faults and an operator's actions in Kafka's words: one, and several."""
GROUPS = {
    "itself": "Findings that need nothing but elections, crashes and restarts",
    "operator": "Findings that need a reassignment, a change of min ISR, or ELR turned off",
    "clusters": (
        "Findings that no model here has, so that no crashes were counted: they were played on clusters of Kafka"
    ),
    "kept": (
        "Findings that are not known to lose a record: availability, or a check that lets through what it should not"
    ),
}
"""Headings of findings by what triggers them."""
HARMS = {
    "lost": "It loses acknowledged records",
    "out": "It keeps a broker out of the cluster",
    "leaderless": "It leaves a partition without a leader",
}
"""The effects of findings that no model has."""
UNCHANGED = "no other value of one setting is known to survive more crashes at an acceptable cost"
ELR_COMMAND = "kafka-features.sh --bootstrap-server HOST:PORT describe"
ELR_SHOWN = f"`{ELR_COMMAND}` shows it: on if eligible.leader.replicas.version is finalized at 1 or above"
"""How an operator sees whether a cluster has ELR."""


def release_of(data: AdviceData) -> str:
    """Return the release as people write it."""
    return str(data["settings"]["kafka"]).replace("kafka-", "Kafka ")


def in_kafka(faults: Mapping[str, int]) -> str:
    """Return faults in Kafka's words: `2 broker crashes and 3 expired broker sessions`."""
    words = [counted(count, *KINDS[name]) for name, count in faults.items() if count]
    return listed(words) or "nothing at all"


def headline(data: AdviceData) -> list[str]:
    """Return the answer in two or three lines: findings that lose a record with fewer crashes, and crashes alone."""
    crashes, release = data["crashes"], release_of(data)
    if crashes is None:
        lines = [f"Not searched: {data['why']}. Nothing here says that these settings are safe."]
    else:
        begin = f"By crashes alone, if {release} had every repair of the model, an acknowledged record"
        lines = [f"{begin}: {crashes['outcome']}."]
    least = crashes["least"] if crashes else None
    losing = [
        item for item in data["findings"] if item["crashes"] is not None and (least is None or item["crashes"] < least)
    ]
    if losing:
        named = listed([f"{item['id']} ({_takes(item)})" for item in losing])
        found = f"{release} has {counted(len(losing), 'finding')} known to lose one"
        lines.insert(0, f"An acknowledged record can be lost: {found}, {named}.")
    elif least:
        lines.append(f"No finding in {release} is known to lose one with fewer crashes at this min ISR.")
    unknown = [
        item["id"]
        for item in data["findings"]
        if item["group"] not in ("kept", "clusters") and item["crashes"] is None and item["faults"] is None
    ]
    if unknown:
        fewer = "with fewer crashes" if least else "too"
        lines.append(f"Not measured at this min ISR, and may lose one {fewer}: {listed(unknown)}.")
    disks = [item["id"] for item in data["findings"] if item["harm"] == "lost"]
    if disks:
        lines.append(
            f"Not counted above, since no model has it: {listed(disks)}, which lost records on clusters "
            "when a disk was replaced or taken out."
        )
    return lines


def _takes(item: AppliesData) -> str:
    crashes = item["crashes"]
    parts = [counted(crashes, "crash", "crashes") if crashes else "no crash", *item["triggers"]]
    return ", ".join(parts)


def broken_by(item: BreakingData) -> str:
    """Return the faults of the shortest history, and its length."""
    faults = in_kafka({**item["faults"], **item.get("free", {})})
    return f"The shortest history has {counted(item['length'] - 1, 'step')}, among them {faults}"


def in_sentences(steps: Iterable[str]) -> list[str]:
    """Return steps as sentences, with their parameters."""
    sentences = {item.label: item.sentence for item in protocol(PROTOCOL).machine.actions}
    given = [(label, ", ".join(values).replace("=", " ")) for label, *values in map(str.split, steps)]
    return [f"{sentences[label].rstrip('.')} ({values})." for label, values in given]


def groups(data: AdviceData) -> list[tuple[str, list[AppliesData]]]:
    """Return the findings of a release under their headings."""
    found = [(title, [item for item in data["findings"] if item["group"] == name]) for name, title in GROUPS.items()]
    return [(title, items) for title, items in found if items]


def lines_of(found: AppliesData, data: AdviceData) -> list[str]:
    """Return the statements about a finding, each a sentence or more."""
    sentence, avoid = found["sentence"], found["avoid"]
    lines = [f"{sentence[0].upper()}{sentence[1:]}", needs_of(found, data)]
    lines.append(
        f"To avoid it: {avoid[0].lower()}{avoid[1:]}" if avoid else "No way to avoid it on this release is known."
    )
    lines.append(seen_of(found))
    return lines + ([f"Repair in Kafka's code: {found['repair']}."] if found["repair"] else [])


def released_of(data: AdviceData) -> str:
    """Return the losses of the release itself if crashes keep the disk, or that this was not searched."""
    found, release = data["released"], release_of(data)
    begin = f"{release} with its findings, where a crash leaves the disk as it is"
    if found is None:
        return f"{begin}: not searched at these settings."
    where = f"with {counted(found['brokers'], 'broker')}, and no other number; {found['states']:,} states"
    if found["front"]:
        return (
            f"{begin}: can be lost with {'; or with '.join(in_kafka(item['faults']) for item in found['front'])} "
            f"({where})."
        )
    if found["undetermined"]:
        return f"{begin}: not decided ({where})."
    return f"{begin}: kept with up to {in_kafka(found['most'])} ({where})."


def seen_of(found: AppliesData) -> str:
    """Return where real Kafka showed a finding."""
    places = (("clusters", found["clusters"]), ("Kafka's own classes", found["classes"]))
    seen = [f"on {name} of {', '.join(releases)}" for name, releases in places if releases]
    return f"Seen {' and '.join(seen)}." if seen else "Not seen on real Kafka."


def needs_of(found: AppliesData, data: AdviceData) -> str:
    """Return the faults by which a finding loses a record at these settings: measured, or from the catalogue."""
    if found["harm"] is not None:
        return (
            f"{HARMS[found['harm']]}: how many faults that takes at least was not measured, and min ISR 2 does not "
            "prevent it."
        )
    if found["group"] == "kept":
        return "No history in which it loses a record is known."
    needed, min_isr, replicas = found["faults"], data["settings"]["min_isr"], data["settings"]["replicas"]
    if needed is None or needed["undetermined"]:
        return f"Not measured at min ISR {min_isr}; {_known(found)}."
    same = needed["brokers"] == replicas
    where = f"measured with {counted(needed['brokers'], 'replica')}" + ("" if same else f", not with {replicas}")
    if needed["front"]:
        sets = "; or ".join(in_kafka(item["faults"]) for item in needed["front"])
        return f"Loses a record at min ISR {min_isr} with {sets} ({where})."
    return (
        f"At min ISR {min_isr} nothing that was tried lost a record (up to {in_kafka(needed['most'])}; {where}); "
        f"{_known(found)}."
    )


def _known(found: AppliesData) -> str:
    """Return the shortest history of the catalogue that loses a record, as a clause."""
    loses = found["loses"]
    if loses is None:
        return "no history in which it loses a record is known"
    where = f"{counted(loses['brokers'], 'replica')} and min ISR {loses['min_isr']}"
    return f"the shortest history that loses one has {counted(loses['length'] - 1, 'step')}, with {where}"


def change_of(item: ChangeData) -> tuple[str, str]:
    """Return a change of a setting, and what it brings."""
    value = item["value"]
    shown = ("on" if value else "off") if isinstance(value, bool) else str(value)
    down = item["writes_go_on_with_brokers_down"]
    writes = (
        f"writes go on while {counted(down, 'broker')} {'is' if down == 1 else 'are'} down"
        if down > 0
        else "writes stop while any broker is down"
    )
    return f"{SETTINGS[item['setting']]}={shown}", f"by crashes alone {item['outcome']}; {writes}"
