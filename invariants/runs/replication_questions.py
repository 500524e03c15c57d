"""Questions on KIP-903 and the project's own hypotheses, settled on the replication model. docs/findings.md tells them."""

from __future__ import annotations

from fencepost.invariants.catalogue import Evidence
from fencepost.invariants.runs.replication_cases import cases

HYPOTHESES: tuple[Evidence, ...] = (
    Evidence(
        "HYP-1",
        cases("""
            3 brokers, HYP-1: G-S1b, G-S1, G-S2
            3 brokers, HYP-1 and one fence: G-S1b, G-S1
            3 brokers, re-election: G-S1b, G-S1, G-S2
        """),
        answer="Confirmed in the model, without any crash: after a preferred election that the old leader never notices it commits "
        "on log ends from before. Forgetting followers in every new leader epoch repairs it. Not shown on a running Kafka.",
        verdict="confirmed",
    ),
    Evidence(
        "HYP-2",
        cases("""
            3 brokers, HYP-2: G-S7, G-S6, KIP903-S4, G-S1, G-S5b
            3 brokers, crash with loss: G-S7, G-S6, KIP903-S4, G-S1, G-S5b
            3 brokers, HYP-2 and two records: G-S3b, G-S3, G-S9
            3 brokers, crash with loss and two records: G-S3b, G-S3, G-S9
            3 brokers, crash with loss and early registration: G-S7, G-S6, KIP903-S4, G-S1, G-S5b
            kafka-3.7 3 brokers: G-S7
            kafka-3.7 3 brokers, repaired, fenced first: G-S7, G-S1
            kafka-4.0 3 brokers: G-S7
            kafka-4.0 3 brokers, repaired, nothing lost: G-S7, G-S1
            kafka-4.1 3 brokers: G-S7
        """),
        answer="Confirmed in the model for the commit that was read and for releases before it, without ELR. Repaired by KAFKA-18106 "
        "(from 4.0): a registration takes its broker out of the ISR as a fence does. With ELR an unclean registration did so before. "
        "Not shown on a running Kafka.",
        verdict="confirmed",
    ),
    Evidence(
        "HYP-3",
        cases("""
            2 brokers, HYP-3: KIP903-S3, G-S8, G-S1b, G-S1
            2 brokers, shrink: KIP903-S3, G-S8, G-S1b, G-S1
            2 brokers, HYP-3 and lag: G-S1
            2 brokers, shrink and lag: G-S1
            3 brokers, HYP-3: G-S8, G-S1
            3 brokers, waiting for joining: G-S8, G-S1
            kafka-4.1 2 brokers: G-S8, G-S1
            kafka-4.1 2 brokers, repaired, no last known leader: G-S8, G-S1
        """),
        answer="Confirmed in the model, with the wait for joining replicas on: G-S8 fails without any fault, and records are lost "
        "if the joining replica then lags, or is fenced and unfenced. Ignoring an equal partition epoch in the same leader epoch "
        "repairs it. Not shown on a running Kafka.",
        verdict="confirmed",
    ),
    Evidence(
        "HYP-8",
        cases("""
            2 brokers, HYP-8: KIP903-S3, G-S8, G-S1b, G-S1
            2 brokers, joining with two fences: KIP903-S3, G-S8, G-S1b, G-S1
        """),
        answer="Confirmed in the model, if the network may keep the first copy that long. Whether a controller can handle a request "
        "from a closed connection after a later one from a new connection was not established.",
        verdict="confirmed",
    ),
    Evidence(
        "HYP-9",
        cases("""
            2 brokers, HYP-9: KIP903-S2, G-S1b
            2 brokers, ELR and broker epochs: KIP903-S2, G-S1b
            kafka-4.1 2 brokers, HYP-3 repaired, no last known leader: KIP903-S2, G-S1b
            kafka-4.1 2 brokers, repaired, no last known leader: KIP903-S2, G-S1b
        """),
        answer="Confirmed in the model, with every check as the code has it: a replica that lost its log joins the ISR while its leader "
        "commits on a fetch of the incarnation before. Comparing with the epochs of fenced brokers too repairs it. Not shown on a "
        "running Kafka.",
        verdict="confirmed",
    ),
)

QUESTIONS: tuple[Evidence, ...] = (
    Evidence(
        "Q32",
        cases("""
            3 brokers, crash with loss: KIP903-S1, KIP903-S4
            3 brokers, HYP-2: KIP903-S1, KIP903-S4
            kafka-4.1 3 brokers: KIP903-S1, KIP903-S4
        """),
        answer="The code checks every member that comes with an epoch, and skips -1. For members that stay this makes a difference "
        "only where a broker can restart without leaving the ISR (HYP-2): then -1 lets it stay. Whether a legitimate shrink is "
        "refused for ever is liveness.",
    ),
    Evidence(
        "Q33",
        cases("2 brokers, KIP-903: KIP903-S3, G-S8\nkafka-4.1 3 brokers, repaired: KIP903-S3, G-S8"),
        answer="No difference: the answer is heeded only while the pending state is still the one that was sent, and any metadata "
        "in between replaces that, so the state at sending is the committed one.",
    ),
    Evidence(
        "Q34",
        cases("""
            2 brokers, no broker epoch check at the leader: KIP903-S1, KIP903-S2, G-S7, G-S1b
            2 brokers, no checks at the leader: KIP903-S1, KIP903-S2
            2 brokers, KIP-903: KIP903-S1, KIP903-S2, G-S7, G-S1b
        """),
        answer="Needed. Every epoch that joins is registered without it too, but a late fetch of the incarnation before can then "
        "overwrite what the new one has shown, while the request is out: the leader refuses such a fetch only once its cache knows "
        "the new epoch, and the check makes it wait for just that.",
    ),
    Evidence(
        "Q35",
        cases("2 brokers, B11: KIP903-S2, G-S1b\n2 brokers, KIP-903: KIP903-S2, G-S1b"),
        answer="From the fetch, as in the code. Stamped from the cache, a late fetch of the old incarnation joins under the new epoch.",
    ),
    Evidence(
        "Q36",
        cases("2 brokers, no epochs in fetches: KIP903-S2, G-S1b\n2 brokers, KIP-903: KIP903-S2, G-S1b"),
        answer="Only when the whole cluster is upgraded: one follower whose fetches carry no epoch joins unchecked.",
    ),
    Evidence(
        "Q37",
        cases("2 brokers, disk swap: G-S7, KIP903-S2, G-S1\n2 brokers, one fence: G-S1"),
        answer="Out of scope: nothing in broker epochs tells a replica whose log vanished under a running broker.",
    ),
    Evidence(
        "Q38",
        cases("""
            2 brokers, B09 and new epochs at registration: KIP903-S1, KIP903-S2, G-S7, G-S1b, G-S1
            2 brokers, KIP-903 and new epochs at registration: KIP903-S1, KIP903-S2, G-S7, G-S1b
            2 brokers, B09: KIP903-S1
        """),
        answer="Safe: a request that was sent before the registration carries an old leader epoch, and even version 2 keeps every "
        "property, with the same states as version 3. The price is a new leader epoch for every partition of the broker at each "
        "start; what that costs was not measured.",
    ),
    Evidence(
        "Q39",
        cases("""
            3 brokers, HYP-2: G-S7, G-S1
            3 brokers, crash with loss: G-S7, G-S1
            3 brokers, crash with loss and early registration: G-S7, G-S1
            kafka-4.1 3 brokers: G-S7
        """),
        answer="It must be fenced first, or leave the ISR with its registration, as since KAFKA-18106: either is enough. An expired "
        "session alone is not.",
    ),
    Evidence(
        "Q55",
        cases("""
            3 brokers, Q55: KIP903-S1, KIP903-S2, KIP903-S4, G-S7, G-S1b
            3 brokers, Q55 repaired: KIP903-S1, KIP903-S2, G-S1b
            2 brokers, Q55: KIP903-S1, KIP903-S2, G-S7, G-S1b
        """),
        answer="KIP-903 is not weakened: a kept epoch is either the registered one or refused by the controller, and a follower "
        "that joins has just fetched. What fails is HYP-1 itself.",
    ),
)

EVIDENCE: tuple[Evidence, ...] = (*HYPOTHESES, *QUESTIONS)
