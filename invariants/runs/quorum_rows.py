"""How the runs of the quorum model are written down: a title, constants as text, and what has to be found."""

from __future__ import annotations

from fencepost.invariants.catalogue import Profile, Run
from fencepost.model.quorum.machine import MACHINE

PROPERTY = {
    "KR-S1": "one-leader-per-epoch",
    "KR-S2": "leaders-high-watermark-never-falls",
    "KR-S3": "majority-holds-committed",
    "KR-S4": "committed-is-the-same-everywhere",
    "KR-S5": "nobody-truncates-committed",
    "KR-S6": "leader-holds-committed",
    "G-S3b": "records-are-unique",
    "stops": "nobody-fails",
    "K1166-S1": "parked-replicas-know-the-high-watermark",
    "K1166-S2": "fetches-without-field-wait",
    "K1166-S3": "high-watermarks-are-true",
    "K1166-S3-step": "high-watermarks-never-fall",
    "G-S12": "brokers-apply-what-is-committed",
    "B37": "divergence-is-told-at-once",
    "K1166-Q3": "answers-without-records-are-few",
    "K1166-L1": "replicas-learn-the-high-watermark",
    "no timeouts": "replicas-learn-the-high-watermark-without-timeouts",
    "K1166-L2": "leaders-catch-up-with-replicas",
    "truncation": "divergent-replicas-truncate-without-timeouts",
    "rest": "replicas-come-to-rest",
    "delay": "commit-is-known-in-time",
    "visible": "commit-is-visible-in-time",
    "latest": "answers-show-the-latest-high-watermark",
}
"""The property that decides each guarantee, by the guarantee's id or a word.

`stops` is what Kafka does instead of KR-S5; `no timeouts` is K1166-L1 without them, `truncation` B37 and `rest` K1166-Q3 as what
must happen in the end; `delay` is K1166-Q1 and Q2 in ticks, `visible` the same up to a broker's metadata; `latest` is SEED-1166-3.
"""

WITNESS = {
    "two lead": "two-nodes-lead",
    "deposed": "deposed-leader-commits",
    "cuts": "follower-cuts-its-log",
    "ahead": "replica-is-ahead-of-its-leader",
    "old": "fetch-without-field-is-parked",
}
"""Witnesses that small runs do not reach: a second leader of two voters, a leader that commits after it was deposed, a
divergence, a replica that is ahead of its leader, a fetch without the field."""


def run(
    title: str,
    base: str,
    more: str,
    distinct: int,
    depth: int,
    fails: str = "",
    *,
    unreached: str = "",
    properties: str = "",
    worst: str = "",
    version: str = "",
    profile: Profile = Profile.CI,
    compact: bool = False,
    trace: str = "",
    why: str = "",
) -> Run:
    """Return one run. `more` is set on top of `base`; `fails` gives ids with the states of the shortest trace.

    `unreached` gives witnesses in short, `properties` the ids of those to judge, `worst` ids with what the dearest way costs;
    `trace` gives ids with the rest of the archived file's name: `KR-S4 b35` is quorum-b35.trace.
    """
    return Run(
        "quorum",
        constants(f"{base} {more}"),
        version=version,
        profile=profile,
        distinct=distinct,
        depth=depth,
        violated={PROPERTY[name]: int(length) for name, length in _pairs(fails)},
        unreached=tuple(WITNESS[name] for name in unreached.split(", ") if name),
        properties=tuple(PROPERTY[name] for name in properties.split(", ") if name),
        worst={PROPERTY[name]: int(cost) if cost.isdigit() else cost for name, cost in _pairs(worst)},
        compact=compact,
        why=why,
        title=title,
        trace={PROPERTY[name]: f"quorum-{slug}.trace" for name, slug in _pairs(trace)},
    )


def constants(text: str) -> dict[str, int]:
    """Return constants from words `name=value`, the last one of each name."""
    declared = MACHINE.constants.declared()
    found = dict(word.split("=") for word in text.split())
    return {name: int(declared[name].parse(value)) for name, value in found.items()}


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, rest) for name, _, rest in (item.strip().rpartition(" ") for item in text.split(",") if item.strip())]
