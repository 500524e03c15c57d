"""The wording of advice, used on the console and on the pages."""

from collections.abc import Iterable, Iterator, Mapping

from fencepost.api.answers.as_json import Json
from fencepost.api.asking.quantities import counted, listed
from fencepost.api.topics.applying import PROTOCOL
from fencepost.api.topics.operations import patch_with_own_rules, patches_read
from fencepost.invariants.protocols import protocol

SETTINGS = {
    "acks": "acks", "unclean_election": "unclean.leader.election.enable", "elr": "eligible leader replicas",
    "min_isr": "min.insync.replicas",
}  # fmt: skip
"""Kafka's names for the settings that operators may change."""
KINDS = {
    "crashes": ("broker crash", "broker crashes"),
    "clean_stops": ("controlled shutdown", "controlled shutdowns"),
    "fences": ("expired broker session", "expired broker sessions"),
    "shrinks": ("ISR shrink of a slow follower", "ISR shrinks of slow followers"),
    "lags": ("follower that lags for replica.lag.time.max.ms", "followers that lag for replica.lag.time.max.ms"),
    "elections": ("preferred leader election", "preferred leader elections"),
    "disk_swaps": ("log that vanishes under a running broker", "logs that vanish under a running broker"),
    "directory_failures": ("failure of a log directory", "failures of log directories"),
    "directory_removals": ("log directory taken out of log.dirs", "log directories taken out of log.dirs"),
    "disk_replacements": ("disk replaced by an empty one", "disks replaced by empty ones"),
    "resends": ("AlterPartition request that is resent after a disconnect",
        "AlterPartition requests that are resent after a disconnect"),
    "reassignments": ("reassignment", "reassignments"),
    "cancels": ("cancelled reassignment", "cancelled reassignments"),
    "raises": ("increase of min ISR", "increases of min ISR"),
    "lowers": ("decrease of min ISR", "decreases of min ISR"),
    "elr_disables": ("ELR being turned off", "times that ELR is turned off"),
    "early_starts": ("restart within the broker's old session", "restarts within the broker's old session"),
    "deletions": ("record deleted by a client", "records deleted by a client"),
    "expirations": ("record deleted by retention", "records deleted by retention"),
}  # fmt: skip
"""Faults and operator actions in Kafka's words, in singular and plural."""
SAID = {
    "lost": "loses", "leaderless": "no leader", "out": "broker out", "behind": "lags",
    "misassigned": "other replicas", "returned": "shows", "vanished": "vanishes",
    "not-measured": "not measured", "kept": "kept", "safe": "safe", "impossible": "no spare broker",
}  # fmt: skip
"""Outcomes of operations, in one or two words."""
MAY = {
    "lost": "{care}it can lose records", "leaderless": "{care}a partition can stay without a leader",
    "vanished": "{care}records that were read can vanish",
    "out": "{care}a broker can stay down", "behind": "{care}a replica can stay out of the ISR",
    "misassigned": "{care}a partition can get the wrong replicas", "returned": "{care}deleted records can reappear",
    "not-measured": "not measured", "kept": "{care}no run on a cluster lost a record",
    "safe": "yes, a complete search lost nothing", "impossible": "no, every broker has a replica already",
}  # fmt: skip
"""Whether an operation may be performed, by its outcome."""
ONLY = "no, it deletes the only replica"
EVENTS = ("fail-a-disk", "lose-power", "slow-metadata")
"""Events in a cluster that operators do not trigger."""
DIFFERS = {
    "replicas": "RF {replicas}", "min_isr": "min ISR {min_isr}", "release": "{release}", "elr": "{elr}",
    "brokers": "{brokers} brokers", "acks": "acks=all", "unclean_election": "if clean",
}  # fmt: skip
"""Descriptions of how the settings of an observation differ from the requested settings."""
WIDTH = 80
"""The minimum width of a terminal, in columns."""
UNCHANGED = "no change of a single setting is known to let a record survive more crashes at an acceptable cost"
ELR_COMMAND = "kafka-features.sh --bootstrap-server HOST:PORT describe"
ELR_SHOWN = f"`{ELR_COMMAND}` shows eligible.leader.replicas.version: ELR is on if it is finalized at 1 or above"
"""How operators can find out whether a cluster uses ELR."""


def release_of(data: Json) -> str:
    return str(data["settings"]["kafka"]).replace("kafka-", "Kafka ")


def in_kafka(faults: Mapping[str, int]) -> str:
    """Return faults in Kafka's words, such as `2 broker crashes and 3 expired broker sessions`."""
    words = [counted(count, *KINDS[name]) for name, count in faults.items() if count]
    return listed(words) or "nothing at all"


def headline(data: Json) -> str:
    """Return the answer as a sentence that fits on one line, unless several settings are unusual."""
    settings, rows = data["settings"], data["operations"]
    line, replicas = release_of(data).removeprefix("Kafka "), settings["replicas"]
    release, read = str(settings["release"] or line), patches_read(str(settings["kafka"]))
    unread = bool(settings["release"]) and release not in read
    more = [f"RF {replicas}", f"min ISR {settings['min_isr']}"]
    more += ["no ELR"] if not settings["elr"] and release >= "4" else []
    more += ["unclean"] if settings["unclean_election"] else []
    others = [[seen for seen in row["elsewhere"] if seen["outcome"] == "lost"] for row in rows]
    near = [any(line in seen["release"] and seen["differs"] == ["release"] for seen in found) for found in others]
    lost = sum(near) if unread else sum(row["outcome"] == "lost" and bool(row["evidence"]) for row in rows)
    unknown = sum(row["outcome"] == "not-measured" for row in rows)
    said = f"Yes: {'at least ' * unread}{lost} of {len(rows)} operations can lose records"
    said += f", {unknown} unknown" if unknown and not unread else ""
    if settings["acks"] != "all":
        acks = settings["acks"]
        return f"Yes, whenever a leader fails: acks={acks} is not modelled, so the rows below apply to acks=all."
    if not lost and settings["min_isr"] > replicas:
        taken = f"Kafka caps this min ISR at {replicas}"
        said = f"Not measured: {taken if release >= '3.7' else 'min ISR is greater than the number of replicas'}"
    elif not lost:
        known = " or ".join(map(str, sorted({seen["replicas"] for found in others for seen in found})))
        count = f"{sum(map(bool, others))} of {len(rows)} operations can lose records"
        said, more = f"{more[0]} is not measured; at RF {known}, {count}", more[2:]
    elif unread and patch_with_own_rules(release):
        release = f"seen on {listed(read)}"
    elif unread:
        said, release = said.replace("Yes", "Likely"), f"seen on {listed(read)}, {release} is not measured"
    sentence = f"{said} ({', '.join([release, *more])})."
    named = sentence.replace(f"({release}", f"(Kafka {release}") if release[0].isdigit() else sentence
    forms = (
        named, sentence, sentence.replace("records", "data"), sentence.replace("can lose records", "lose data"),
    )  # fmt: skip
    return next((text for text in forms if len(text) <= WIDTH), sentence)


def answer_of(data: Json, item: Json) -> str:
    """Return a sentence that says whether operators may perform an operation with these settings."""
    settings, title = data["settings"], item["title"]
    release = settings["release"] or release_of(data).removeprefix("Kafka ")
    where = f"{release}, RF {settings['replicas']}, min ISR {settings['min_isr']}"
    where += ", unclean" if settings["unclean_election"] else ""
    harm = item["elsewhere"][0] if item["outcome"] == "not-measured" and item["elsewhere"] else item
    said = MAY[harm["outcome"]].format(care="" if item["operation"] in EVENTS else "only with care; ")
    said = ONLY if _is_of_only_replica(item) else said
    if harm is not item:
        seen = row_of(item)[1].removeprefix("unknown; ").partition(f" {SAID[harm['outcome']]}")[0]
        said += f", seen with {seen.removeprefix('with ')}" if settings["acks"] == "all" else ""
    if settings["acks"] != "all":
        said = f"acks={settings['acks']} is not modelled; with acks=all {said}"
    return f"{title[0].upper()}{title[1:]}: {said} ({where})."


def _is_of_only_replica(item: Json) -> bool:
    return item["outcome"] == "lost" and not item["evidence"]


def facts_of(item: Json, most: int) -> Iterator[tuple[str, str]]:
    """Yield an operation's advice as pairs of a label and a string: what to do instead, how to avoid up to `2 * most`
    findings, up to `most` observations, what to do after a loss, and commands. The command that measures the operation
    is omitted if an observation is omitted.
    """
    more = [text.partition(":")[0] for text in item["avoid"][2 * most :]]
    further = [f"For {listed(more)}: `-v`."] if more else []
    yield "do", " ".join([f"{item['instead'][0].upper()}{item['instead'][1:]}.", *item["avoid"][: 2 * most], *further])
    lines = _observed(item)
    for number, line in enumerate(lines[:most]):
        yield "" if number else "seen", line
    measure = ", and the command that measures it" if item["measure"] else ""
    if len(lines) > most:
        yield "", f"`-v` shows {len(lines) - most} more{measure}."
    yield from ((name, text) for name, text in (("if lost", item["after"]), ("show", item["show"])) if text)
    if item["measure"] and len(lines) <= most:
        yield "measure", item["measure"]


def row_of(item: Json) -> tuple[str, str, str]:
    """Return an operation's name, its effect and the alternative, each short enough for a line."""
    fact = ONLY.removeprefix("no, it ") if _is_of_only_replica(item) else SAID[item["outcome"]]
    if item["evidence"] and item["outcome"] != "not-measured":
        fact = f"{fact}: {_in_short(item['evidence'][0])}"
    if item["elsewhere"] and item["outcome"] == "not-measured":
        other = item["elsewhere"][0]
        release = patches_read(other["release"])[0] if other["seen"] == "model" else other["release"]
        elr = "no ELR" if not other["elr"] else "with ELR" if release >= "4" else "variant"
        differs = DIFFERS[other["differs"][0]].format(**{**other, "release": release, "elr": elr})
        fact = f"unknown; {differs} {SAID[other['outcome']]}: {_in_short(other, measured=False)}"
    return item["title"], fact, item["instead"]


def _in_short(seen: Json, *, measured: bool = True) -> str:
    """Return an observation in at most 22 characters, or only its finding if the settings differ."""
    name = f"{seen['findings'][0]} " if seen["findings"] else ""
    if name and not measured:
        return name.rstrip()
    if seen["seen"] == "clusters":
        return f"{name}{seen['times']}/{seen['of']} runs"
    if seen["outcome"] == "safe":
        return f"{seen['states'] or 0:,} states"
    return f"{name}{'classes' if seen['seen'] == 'classes' else 'model'}"


def lines_of(item: Json) -> list[str]:
    """Return the details of an operation: its observations, and the alternative."""
    return [*_observed(item), f"Instead: {item['instead']}. {' '.join(item['avoid'])}".rstrip()]


def _observed(item: Json) -> list[str]:
    """Return an operation's observations as sentences, and a sentence if these settings were not measured."""
    here = {name for seen in item["evidence"] for name in seen["findings"]}
    shown = [*item["evidence"], *_nearest(seen for seen in item["elsewhere"] if not here.issuperset(seen["findings"]))]
    lines = [_seen(seen) for seen in shown]
    unsaid = f"Not measured with these settings{': ' + item['unmodelled'] if item['unmodelled'] else ''}."
    if item["outcome"] == "impossible" or _is_of_only_replica(item):
        return [unsaid] * _is_of_only_replica(item)
    if item["outcome"] == "not-measured" or not lines:
        lines.append(unsaid)
    elif item["measure"]:
        lines.insert(1, f"Not measured with these settings: {item['unmodelled']}.")
    return lines


def proofs_of(item: Json) -> list[str]:
    """Return sentences on what to do after an operation has done harm, and on how to reproduce or measure the harm."""
    lines = [f"If it happened: {item['after']}"] if item["after"] else []
    lines += [f"To reproduce it: {item['show']}."] if item["show"] else []
    return lines + ([f"To measure it: {item['measure']}."] if item["measure"] else [])


def _nearest(others: Iterable[Json]) -> list[Json]:
    found: dict[tuple[str, ...], Json] = {}
    for item in others:
        key = tuple(item["findings"])
        if key not in found or len(item["differs"]) < len(found[key]["differs"]):
            found[key] = item
    return list(found.values())


def _seen(item: Json) -> str:
    sizes = f"{counted(item['replicas'], 'replica')}, min ISR {item['min_isr']}, {counted(item['brokers'], 'broker')}"
    where = f"{sizes}, {'with' if item['elr'] else 'without'} ELR"
    names = f"{' and '.join(item['findings'])}: " if item["findings"] else ""
    if item["seen"] == "clusters":
        lost = f" {item['lost']:,} of {item['acknowledged']:,} acknowledged records" if item["lost"] else ""
        runs = f"{SAID[item['outcome']]}{lost} in {item['times']} of {item['of']} runs on {item['release']} clusters"
        late = "; messages were delayed" if item["late"] else ""
        return f"{names}{runs} ({where}{late}): {item['story']}."
    if item["seen"] == "classes":
        return f"{names}Kafka {item['release']}'s classes executed every step of {item['run']} ({where})."
    searched = f"; {listed(item['repaired'])} fixed" if item["repaired"] else ""
    searched += f"; {item['states']:,} states" if item["states"] else ""
    release = item["release"].replace("kafka-", "Kafka ")
    if item["outcome"] == "safe":
        most, does = in_kafka(item["faults"] or {}), item["story"] or "loses no records"
        return f"The model of {release} {does} with up to {most} ({where}{searched})."
    used = item["faults"]
    faults = "" if used is None else f" after {in_kafka(used)}" if any(used.values()) else " without any fault"
    late = ", with metadata delayed as long as possible" if item["late"] else ""
    names = names or "Even with all findings fixed: "
    return (
        f"{names}{SAID[item['outcome']]} in the model of {release}{faults}, in {counted(item['steps'] or 0, 'step')}"
        f"{late} ({where}{searched})."
    )


def broken_by(item: Json) -> str:
    """Return a clause about the shortest history: its length and its faults."""
    faults = in_kafka({**item["faults"], **item.get("free", {})})
    return f"The shortest history has {counted(item['length'] - 1, 'step')}, including {faults}"


def in_sentences(steps: Iterable[str]) -> list[str]:
    sentences = {item.label: item.sentence for item in protocol(PROTOCOL).machine.actions}
    given = [(label, ", ".join(values).replace("=", " ")) for label, *values in map(str.split, steps)]
    return [f"{sentences[label].rstrip('.')} ({values})." for label, values in given]


def released_of(data: Json) -> str:
    """Return a sentence about the losses in an unfixed release if disks survive crashes."""
    found, release = data["released"], release_of(data)
    begin = f"{release} with its findings, if a crash preserves the disk"
    if found is None:
        return f"{begin}: not searched with these settings."
    where = f"with {counted(found['brokers'], 'broker')} only; {found['states']:,} states"
    if found["front"]:
        return (
            f"{begin}: a record can be lost with "
            f"{'; or with '.join(in_kafka(item['faults']) for item in found['front'])} ({where})."
        )
    if found["undetermined"]:
        return f"{begin}: not decided ({where})."
    return f"{begin}: a record is kept with up to {in_kafka(found['most'])} ({where})."


def change_of(item: Json) -> tuple[str, str]:
    value = item["value"]
    shown = ("on" if value else "off") if isinstance(value, bool) else str(value)
    down = item["writes_go_on_with_brokers_down"]
    writes = "writes stop while any broker is down"
    if down > 0:
        writes = f"writes continue while {counted(down, 'broker')} {'is' if down == 1 else 'are'} down"
    return f"{SETTINGS[item['setting']]}={shown}", f"with crashes alone, a record {item['outcome']}; {writes}"
