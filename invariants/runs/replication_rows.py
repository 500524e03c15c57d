"""How the runs of the replication model are written down: a title, constants as text, and what has to be found."""

from __future__ import annotations

from fencepost.invariants.catalogue import Profile, Run
from fencepost.model.cluster.machine import MACHINE

PROPERTY = {
    "G-S1": "leader-has-committed",
    "G-S1b": "candidates-have-committed",
    "G-S2": "leader-has-acknowledged",
    "G-S2b": "acknowledged-survives",
    "G-S3": "logs-match-below-high-watermark",
    "G-S3b": "logs-match",
    "G-S4": "leader-high-watermark-never-falls",
    "G-S5": "one-leader-per-epoch",
    "G-S5b": "leaders-have-their-epoch",
    "G-S6": "isr-is-sane",
    "G-S7": "isr-members-are-current",
    "G-S8": "maximal-isr-covers-isr",
    "G-S9": "leaders-show-committed",
    "K392-S1": "replicas-show-committed",
    "G-S13": "applied-requests-are-current",
    "KIP903-S1": "joining-epoch-is-registered",
    "KIP903-S2": "joining-replica-has-committed",
    "KIP903-S2b": "joining-replica-covers-epoch-start",
    "KIP903-S3": "maximal-isr-covers-requests",
    "KIP903-S4": "members-without-epoch-are-current",
}
"""The property that decides each guarantee, by the guarantee's id."""

REPAIRED = (
    "equal_partition_epoch_overwrites=off reset_followers_on_reelection=on fenced_before_registration=on fenced_epoch_check=on"
)
"""The repairs of HYP-3, HYP-1 and HYP-9, so that what a bug's switch does is seen alone. And a broker registers only once it is
fenced: then shortest traces tell things in the order of KIP-903, and there are fewer states."""

EARLY = "registration_leaves_isr=on fenced_before_registration=off"
"""Registration as in Kafka since KAFKA-18106: as soon as the session has expired, and out of the ISR. The repair of HYP-2."""

HYP_2 = "registration_leaves_isr=off fenced_before_registration=off"
"""Registration as in Kafka before that: the broker stays in the ISR."""

GROWS = "isr-grows"
INELIGIBLE = "request-names-ineligible-replica"
RESTARTED = "restarted-broker-is-in-sync"
UNAWARE = "leader-is-reelected-unaware"


def run(
    title: str,
    base: str,
    more: str,
    distinct: int,
    depth: int,
    fails: str = "",
    *,
    unreached: tuple[str, ...] = (),
    repaired: bool = True,
    version: str = "",
    profile: Profile = Profile.CI,
    trace: str = "",
    why: str = "",
) -> Run:
    """Return one run. `more` is set on top of `base`; `fails` gives ids with the states of the shortest trace.

    `trace` gives ids with the rest of the archived file's name: `G-S1 hyp-1` is replication-hyp-1.trace.
    """
    return Run(
        "replication",
        constants(f"{base} {REPAIRED if repaired else ''} {more}"),
        version=version,
        profile=profile,
        distinct=distinct,
        depth=depth,
        violated={PROPERTY[name]: int(length) for name, length in _pairs(fails)},
        unreached=unreached,
        why=why,
        title=title,
        trace={PROPERTY[name]: f"replication-{slug}.trace" for name, slug in _pairs(trace)},
    )


def constants(text: str) -> dict[str, int]:
    """Return constants from words `name=value`, the last one of each name."""
    declared = MACHINE.constants.declared()
    found = dict(word.split("=") for word in text.split())
    return {name: int(declared[name].parse(value)) for name, value in found.items()}


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(name, rest) for name, rest in (item.split() for item in text.split(",") if item.strip())]
