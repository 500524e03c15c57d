"""Entries of the catalogue, read from TOML files in `invariants/claims/`. This is the complete schema.

    [texts]                              # texts that entries share and refer to as {rule}
    rule = "The model follows this rule, so there is nothing left to check."

    [[section]]                          # a heading of the catalogue; its `kind` and other keys apply to its entries
    title = "KIP-903: stale broker epochs"
    kind = "step"
    protocol = "replication"

    [section.KIP903-S2]
    sentence = "A replica that joins the ISR has every committed record."
    source = "KIP-903, Controller"
    verdict = "broken"
    answer = "In kafka-3.5 both halves of KAFKA-15221 are needed."
    by = "KIP903-S2, KIP903-S2b"
    runs.replication = ["2 brokers, KIP-903", "2 brokers, B09: KIP903-S2"]

An entry has the following keys, of which only `sentence` is required:

    kind       always, step, leads-to, bound: a property; bug: a historic bug or hazard to reproduce; hypothesis: a
               conjecture of this project; question: two readings of a KIP; claim: a statement in a KIP
    protocol   the protocol on which it is checked, or `cross` for several
    sentence   the guarantee, conjecture or question
    source     the KIP and its section, the Kafka issue, pull request or specification
    reference  (bugs) the report or the fix
    switch     (bugs, hypotheses) the constants that reintroduce it: "," joins constants that are needed together, ";"
               separates alternatives
    depends    constants and ids of other entries that it refers to
    same_as    (claims) the entries that decide it: the claim is that entry, or a part of it
    verdict    broken: the protocol violates it; for a hypothesis: confirmed or refuted
    answer     the result in words
    gap        why it is undecided, or only partly decided
    avoid      (hypotheses) the workaround for operators until it is fixed
    by         the properties that its runs check, as named in the protocol's file of runs; by default the entry's id
    runs       the runs that decide it, by protocol. "kafka-4.0|kafka-4.1 3 brokers: G-S7" names two runs, one for each
               version; the properties after the colon replace `by`
    classes    the expected verdicts on Kafka's classes and schemas: "not built: 3.9.2, 4.0.2; holds: 4.1.2"
    releases   (hypotheses observed in Kafka before they were modelled) the affected releases: "4.0, 4.1, 4.2"
    driven     (likewise) the patch releases whose classes reproduced it, without archived histories: "4.1.2, 4.4.0"
    harm       (likewise) effect, as in `reproduce`: lost, vanished, out, leaderless, behind, misassigned, returned
    without_elr  (likewise) the effect without eligible leader replicas, if it differs
    repair     (likewise) the fix
    as         the entry whose runs, verdict and answer also apply to this one
    about      a table with any of these keys, for brevity:
               about = {source="KIP-903, Controller", depends=["alter_partition_version"]}

Besides the runs that it lists, a bug or a hypothesis includes every run whose title names it, such as "2 brokers, B09",
and the twin of each of its runs: the run with the same constants except for the switch. `alone = true` excludes both.

The verdicts, the lengths of traces and the counts of states are read from the runs.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.invariants.run import Case, Entry, Evidence
from fencepost.invariants.run_files import Runs, judged_by
from fencepost.invariants.run_rows import only, words
from fencepost.model.language.errors import UsageError

KINDS = ("always", "step", "leads-to", "bound", "bug", "hypothesis", "question", "claim")
VERDICTS = ("broken", "confirmed", "refuted")
CLASSES = ("holds", "differs", "not built")
SHARED_KEYS = ("kind", "protocol", "source")
ENTRY_KEYS = (
    *SHARED_KEYS,
    *(
        "sentence",
        "reference",
        "switch",
        "depends",
        "same_as",
        "verdict",
        "answer",
        "gap",
        "avoid",
        "by",
        "runs",
        "alone",
        "as",
    ),
    *("classes", "releases", "driven", "harm", "without_elr", "repair"),
)
HARMS = ("lost", "vanished", "out", "leaderless", "behind", "misassigned", "returned")


@dataclass(frozen=True)
class Claim:
    """An entry and its evidence, as given in its file."""

    entry: Entry
    section: str
    said: Mapping[str, Any]


def read_claims(name: str, text: str) -> Iterator[Claim]:
    """Yield the entries of a file in order; raise UsageError with the entry's name for invalid input."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not TOML: {error}.") from None
    texts = data.get("texts", {})
    for section in data.get("section", ()):
        shared = {key: section[key] for key in SHARED_KEYS if key in section}
        for item, said in section.items():
            if isinstance(said, dict):
                try:
                    yield _claim(item, section["title"], shared | said, texts)
                except UsageError as error:
                    raise UsageError(f"{name}: entry {item}: {error}") from None


def _claim(item: str, section: str, said: dict[str, Any], texts: Mapping[str, str]) -> Claim:
    said |= said.pop("about", {})
    only(said, ENTRY_KEYS, "key of an entry")
    for key in ("sentence", "kind", "protocol", "source"):
        if key not in said:
            raise UsageError(f"the entry has no {key}: write one.")
    only([said["kind"]], KINDS, "kind")
    only([said["verdict"]] if "verdict" in said else [], VERDICTS, "verdict")
    only([said[key] for key in ("harm", "without_elr") if key in said], HARMS, "harm")
    prose = {key: _put(texts, said[key]) for key in said if isinstance(said[key], str)}
    lists: Any = {key: tuple(said.get(key, ())) for key in ("depends", "same_as")}
    own: Any = {key: prose.get(key, "") for key in ("kind", "protocol", "sentence", "source", "switch", "reference")}
    return Claim(Entry(item, **own, **lists), section, said | prose)


def _put(texts: Mapping[str, str], text: str) -> str:
    def shared(found: re.Match[str]) -> str:
        only([found[1]], texts, "shared text")
        return texts[found[1]]

    return " ".join(re.sub(r"\{([\w.-]+)\}", shared, text).split())


def settle(claims: Mapping[str, Claim], runs: Runs) -> dict[str, Evidence]:
    """Return the evidence for each entry; raise UsageError for an unknown name, or a run that decides nothing."""
    found = {}
    for item, claim in claims.items():
        try:
            only(claim.entry.same_as, claims, "entry")
            evidence = _evidence(item, claims, runs)
        except UsageError as error:
            raise UsageError(f"entry {item}: {error}") from None
        if evidence:
            found[item] = evidence
    named = {case.run.name for evidence in found.values() for case in evidence.cases}
    for run in runs.all:
        if run.name not in named and not run.serves:
            raise UsageError(
                f"run {run.name!r} does not decide anything: name it in an entry, or state its purpose under `serves`."
            )
    return found


def _evidence(item: str, claims: Mapping[str, Claim], runs: Runs) -> Evidence | None:
    claim = claims[item]
    if other := claim.said.get("as"):
        only([other], claims, "entry")
        claim = claims[other]
    cases = tuple({(case.run.name, case.prop): case for case in _cases(claim, runs)}.values())
    texts = {key: claim.said.get(key, "") for key in ("answer", "verdict", "gap", "avoid")}
    classes = _by_release(claim.said.get("classes", ""))
    seen = {
        **{key: tuple(words(claim.said.get(key, ""))) for key in ("releases", "driven")},
        **{key: claim.said.get(key, "") for key in ("harm", "without_elr", "repair")},
    }
    return Evidence(item, cases, **texts, classes=classes, **seen) if cases or classes or any(texts.values()) else None


def _by_release(text: str) -> dict[str, str]:
    parts = [part.partition(":") for part in text.split(";") if part]
    only([verdict.strip() for verdict, _, _ in parts], CLASSES, "verdict of Kafka's classes")
    return {release: verdict.strip() for verdict, _, releases in parts for release in words(releases)}


def _cases(claim: Claim, runs: Runs) -> Iterator[Case]:
    named = claim.said.get("runs", {})
    only(named, runs.by_protocol, "protocol")
    by = claim.said.get("by", claim.entry.id)
    for item in words(claim.said.get("by", "")):
        if not any(runs.knows(protocol, item) for protocol in runs.by_protocol):
            raise UsageError(f"`by` lists {item!r}, but no protocol has such a property: use ids from a file of runs.")
    has_twins = claim.entry.kind in ("bug", "hypothesis") and not claim.said.get("alone", False)
    for protocol in [*named, *(runs.by_protocol if has_twins else ())]:
        asked = _titled(claim.entry, protocol, by, runs) if has_twins else {}
        for item in named.get(protocol, ()):
            title, _, ids = item.rpartition(": ") if ": " in item else (item, "", by)
            for name in _in_each_version(title):
                only([name], runs.by_protocol[protocol], f"run of {protocol}")
                asked[name] = ids
        for name, ids in asked.items():
            yield from _asked(protocol, name, ids, runs)
            if has_twins:
                for twin in _twins(claim.entry, protocol, name, runs):
                    yield from () if twin in asked else _asked(protocol, twin, ids, runs)


def _titled(entry: Entry, protocol: str, ids: str, runs: Runs) -> dict[str, str]:
    known = ", ".join(item for item in words(ids) if runs.knows(protocol, item))
    titled = [run for run in runs.by_protocol[protocol].values() if entry.id in words(run.title)]
    return {run.short_name: known for run in titled if known and judged_by(run) & set(runs.names(protocol, known))}


def _twins(entry: Entry, protocol: str, name: str, runs: Runs) -> list[str]:
    found = runs.twins(runs.by_protocol[protocol][name], set(re.findall(r"(\w+)=", entry.switch)))
    fewest = min(found.values(), default=0)
    return [twin for twin, number in found.items() if number == fewest]


def _in_each_version(title: str) -> list[str]:
    versions, _, rest = title.partition(" ")
    return [f"{version} {rest}".strip() for version in versions.split("|")] if "|" in versions else [title]


def _asked(protocol: str, title: str, ids: str, runs: Runs) -> Iterator[Case]:
    run = runs.by_protocol[protocol][title]
    asked = runs.names(protocol, ids)
    judged = judged_by(run)
    if not set(asked) & judged:
        raise UsageError(
            f"run {run.name!r} decides nothing about {', '.join(words(ids))}: after {title!r}, write a colon and "
            "the properties that it decides."
        )
    yield from (Case(run, name) for name in asked if name in judged)
