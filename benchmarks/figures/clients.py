"""Measurement of real clients on the scripted cluster: many histories for each client, played twice; the stories of
`docs/kafka/clients.md`; and mutants of our own client.

python -m benchmarks.figures.clients [walks|producers|releases CLIENT ...] [stories|mutants [NAME ...]]
python -m benchmarks.figures.clients brokers [RELEASE ...]

Rows are written to invariants/figures/clients.json; clients with earlier measurements are measured again.
"""

import asyncio
import logging
import os
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fencepost.invariants.figures.store import load, save
from fencepost.kafka.clients.duties import NAMES
from fencepost.kafka.clients.history import (
    APPLICATION,
    COVERED,
    DEPTH,
    FOLLOWERS,
    Source,
    Story,
    of_archive,
    producer_walks,
    settings,
)
from fencepost.kafka.clients.install import NEWEST, OWN, PRODUCERS, install_client, releases_between
from fencepost.kafka.clients.outside import MISTAKES, conform_brokers
from fencepost.kafka.clients.play import Times
from fencepost.kafka.clients.report import ClientOutcome, Pool, run
from fencepost.kafka.clients.rules import Judge
from fencepost.kafka.clients.sessions import MUTANTS
from fencepost.kafka.clients.stories import STORIES
from fencepost.kafka.clusters.cluster import Shape
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.driver.releases import RELEASES
from fencepost.model.language.errors import UsageError

from tests.helpers.ports import first_of_free_ports

WALKS = 2000
SEED = 951
AGAIN = 500
"""The number of walks that are always played twice."""
SECONDS = 700
"""The time limit for the walks of one client."""
LATEST = 10
"""The number of releases of each client that are compared."""
OF_PRODUCERS = NAMES[NAMES.index("retries-keep-their-sequence") : NAMES.index("stays-alive")]
DIED = "the process died"


def rows(table: str, mine: list[dict[str, Any]], **key: Any) -> None:
    load.cache_clear()
    figures = {name: list(value) for name, value in load("clients").items()}
    kept = [row for row in figures.get(table, []) if any(row.get(name) != value for name, value in key.items())]
    figures[table] = sorted(
        kept + mine, key=lambda row: [str(row.get(name, "")) for name in ("client", "story", "mutant")]
    )
    save("clients", figures)


def walks(asked: str, number: int = WALKS) -> None:
    client = install_client(asked)
    began = os.getloadavg()[0]
    source = Source(settings(), SEED)
    histories = [*of_archive(), *Source(COVERED, SEED).cover(), *source.walks(number, DEPTH)]
    outcome = run(client, histories, seconds=SECONDS)
    print(client.title, outcome.histories, round(outcome.seconds), flush=True)
    played = {item.name for item in outcome.played}
    again = run(client, [one for one in histories if one.name in played][-AGAIN:], seconds=SECONDS, most=0)
    changed = _changed(outcome, again)
    print(
        client.title,
        outcome.histories,
        outcome.counted,
        f"{outcome.histories / outcome.seconds:.1f} a second",
        dict(outcome.broken),
    )
    key = {"client": client.title}
    row = {
        **key,
        "histories": outcome.histories,
        "counted": outcome.counted,
        "complete": outcome.complete,
        "not_played": dict(outcome.undone),
        "begun_again": dict(outcome.begun_again),
        "deaths": outcome.deaths,
        "waited_for": outcome.wanted,
        "in_time": outcome.followed,
        "seconds": round(outcome.seconds, 1),
        "rate": round(outcome.histories / outcome.seconds, 1),
        "load": round(began, 1),
        "again": again.histories,
        "changed": changed,
    }
    rows("runs", [row], **key)
    rows("rules", [{**key, **outcome.row(name)} for name in NAMES], **key)
    for table, is_steady in (("steady", True), ("flaky", False)):
        found = [
            {**key, "rule": rule, "history": item.history.name}
            | ({} if is_steady else {"kept": dict(item.kept)})
            | ({} if is_steady or not item.again else {"again": item.again})
            for rule, items in outcome.failures.items()
            for item in items
            if item.plays and item.is_steady is is_steady
        ]
        rows(table, found, **key)


def producers(asked: str, number: int = 300) -> None:
    client = install_client(asked)
    outcome = run(client, list(producer_walks(number, DEPTH, SEED)), seconds=SECONDS)
    print(client.title, outcome.histories, dict(outcome.broken), flush=True)
    key = {"client": client.title}
    rows("producers", [{**key, **outcome.row(name)} for name in (*OF_PRODUCERS, "recovers")], **key)


def releases(name: str) -> None:
    """Play the stories without idempotence, and some walks, once with each of a client's latest releases."""
    found = [story.history for story in STORIES if not story.history.has("client_is_idempotent")]
    histories = [*found, *Source(settings(), SEED).walks(100, DEPTH)]
    last = releases_between(f"{name}==0.0", f"{name}=={NEWEST[name]}")[1:][-LATEST:]
    for asked in reversed(last):
        try:
            outcome = run(install_client(asked), histories, seconds=SECONDS, most=0)
        except UsageError as error:
            print(asked, error, flush=True)
            continue
        if not outcome.counted:
            print(asked, dict(outcome.undone), flush=True)
            continue
        key = {"name": name, "client": asked}
        row = {**key, "histories": outcome.histories, "deaths": outcome.deaths, "broken": dict(outcome.broken)}
        print(row, flush=True)
        rows("releases", [row], **key)


def _changed(first: ClientOutcome, second: ClientOutcome) -> int:
    sets: list[dict[str, set[str]]] = []
    for outcome in (first, second):
        found: dict[str, set[str]] = {}
        for rule, items in outcome.failures.items():
            for item in items:
                found.setdefault(item.history.name, set()).add(rule)
        sets.append(found)
    names = [item.name for item in second.played]
    return sum(sets[0].get(name, set()) != sets[1].get(name, set()) for name in names)


async def _story(story: Story, asked: str) -> Counter[str]:
    async with Pool(install_client(asked), Times()) as pool:
        plays = await asyncio.gather(*(pool.play(story.history) for _ in range(story.plays)))
    found: Counter[str] = Counter({"any": pool.deaths, DIED: pool.deaths})
    for play in plays:
        rules = {item.rule for item in Judge(play).broken}
        found["any"] += bool(rules & set(story.rules))
        found.update(rules)
    return found


def stories(names: list[str]) -> None:
    for story in STORIES:
        if names and story.name not in names:
            continue
        made = []
        for asked in (*story.breaks, *story.rarely, *story.keeps):
            found = asyncio.run(_story(story, asked))
            print(story.name, asked, dict(found))
            shown = {name: found[name] for name in (*story.rules, DIED) if found[name]}
            made.append(
                {"story": story.name, "client": asked, "plays": story.plays, "broken": found["any"], "rules": shown}
            )
        rows("stories", made, story=story.name)


def mutants(names: list[str], number: int = 300) -> None:
    for mutant, rule in {"": "", **MUTANTS}.items():
        if names and mutant not in names:
            continue
        client = replace(install_client(OWN), name=f"{OWN}/{mutant}" if mutant else OWN)
        told = [story.history for story in STORIES if story.keeps and story.history.has(*FOLLOWERS, *APPLICATION)]
        histories = [*of_archive(), *told, *Source(settings(), SEED).walks(number, DEPTH)]
        if rule in OF_PRODUCERS:
            histories = list(producer_walks(number, DEPTH, SEED))
        outcome = run(client, histories, most=3)
        print(mutant or "none", rule, outcome.broken[rule], dict(outcome.broken))
        row = {"mutant": mutant or "none", "rule": rule, "histories": outcome.histories, "broken": outcome.broken[rule]}
        rows("mutants", [row | {"others": sorted(set(outcome.broken) - {rule})}], mutant=row["mutant"])


def brokers(kafka: str) -> None:
    """Send all requests to three brokers of a release, and count the answers that differ from the model's."""
    from tests.kafka.test_brokers import SELECTOR, InRacks  # it needs a JDK

    shape, ports = Shape((0, 1, 2), SELECTOR), first_of_free_ports()
    with TemporaryDirectory() as folder, InRacks(kit(kafka), shape, Path(folder), ports) as cluster:
        cluster.begin()
        report = conform_brokers(cluster.servers, print)
    asked, wrong = (Counter(item.rule for item in items) for items in (report.questions, report.broken))
    planted = [report.seen(mistake) for mistake in MISTAKES]
    row = {"client": kafka, "asked": dict(asked), "wrong": dict(wrong), "planted": planted.count(True)}
    print(row | {"left": report.left, "differing": [str(item) for item in report.broken]}, flush=True)
    rows("brokers", [row | {"of": len(planted) - planted.count(None)}], client=kafka)


def main(words: list[str]) -> None:
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    kind, names = (words[0], words[1:]) if words else ("", [])
    if kind in ("", "mutants"):
        mutants(names)
    if kind in ("", "stories"):
        stories(names)
    if kind in ("", "producers"):
        for asked in names or PRODUCERS:
            producers(asked)
    if kind in ("", "releases"):
        for asked in names or NEWEST:
            releases(asked)
    if kind in ("", "brokers"):
        for kafka in names or RELEASES:
            brokers(kafka)
    if kind in ("", "walks"):
        for asked in names or NEWEST:
            walks(asked)


if __name__ == "__main__":
    main(sys.argv[1:])
