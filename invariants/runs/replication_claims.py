"""KIP-903 sentence by sentence, where no guarantee, bug or question says the same."""

from __future__ import annotations

from fencepost.invariants.catalogue import RULE, Evidence
from fencepost.invariants.runs.replication_cases import cases

_WIRE = "Formats of requests are not modelled: a broker epoch is there or not."
_ZOOKEEPER = "The model has KRaft mode only."

EVIDENCE: tuple[Evidence, ...] = (
    Evidence("SEED-903-1", (), gap=RULE + " A leader asks to expand only where it handles a fetch of that follower."),
    Evidence(
        "SEED-903-4",
        cases("2 brokers, KIP-903: KIP903-S2\n2 brokers, no broker epoch check at the leader: KIP903-S2"),
        answer="So does the model; without that check a replica joins without what is committed (Q34).",
    ),
    Evidence(
        "SEED-903-6",
        cases("2 brokers, KIP-903: KIP903-S2\n2 brokers, no epochs in fetches: KIP903-S2"),
        answer="So does the model; where fetches carry no epoch a replica joins without what is committed.",
    ),
    Evidence("SEED-903-7", (), gap=RULE + " It is `broker_epoch` of what a leader knows of a follower."),
    Evidence(
        "SEED-903-8",
        cases("2 brokers, KIP-903: KIP903-S2\n2 brokers, B11: KIP903-S2"),
        answer="So does the model; with epochs from the cache instead, a replica joins without what is committed (Q35).",
    ),
    Evidence(
        "SEED-903-9",
        cases("2 brokers, KIP-903: KIP903-S2\n2 brokers, no broker epoch check at the leader: KIP903-S2"),
        answer="So does the model: the same check as SEED-903-4, made again at the follower's next fetch.",
    ),
    *(Evidence(f"SEED-903-{number}", (), gap=_WIRE) for number in (13, 15, 16)),
    Evidence(
        "SEED-903-14",
        (),
        gap=RULE
        + " A member whose epoch is -1 has sent none, which `fetch_carries_broker_epoch=off` gives all members. What that costs is "
        "SEED-903-6.",
    ),
    *(Evidence(f"SEED-903-{number}", (), gap=_ZOOKEEPER) for number in (17, 18)),
    Evidence(
        "SEED-903-19",
        (),
        gap="All brokers of a run send one version (`alter_partition_version`); an upgrade in which they differ is not in the machine.",
    ),
    Evidence(
        "SEED-903-20",
        (),
        gap="Fetches carry broker epochs during a whole run or not at all (`fetch_carries_broker_epoch`); an upgrade is not in the machine.",
    ),
    Evidence("SEED-903-21", (), gap="About compatibility of formats, which are not modelled."),
    Evidence(
        "SEED-903-23",
        cases("2 brokers, KIP-903: KIP903-S1, KIP903-S2, G-S7\n2 brokers, KIP-903 and new epochs at registration: KIP903-S1"),
        answer="The broker epochs keep the guarantee alone. New leader epochs would keep it too (Q38).",
    ),
)
