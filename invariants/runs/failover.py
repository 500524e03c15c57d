"""Runs of the machine that couples the controllers with the brokers, and what they settle: G-S12, the second half of B15, CTL-S1 to S5.

Unless a title says otherwise: three controllers, two brokers that are in the ISR, two epochs, two decisions, one record, one fence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Evidence, Profile, Run
from fencepost.invariants.runs.client_rows import casebook, rows
from fencepost.model.controllers.machine import MACHINE

if TYPE_CHECKING:
    from collections.abc import Mapping

PROPERTY = {
    "G-S12": "brokers-apply-a-prefix",
    "KR-S4": "committed-metadata-is-the-same-everywhere",
    "G-S1": "leader-has-what-is-acknowledged",
    "G-S1b": "isr-has-what-is-acknowledged",
    "G-S8": "pending-changes-are-counted",
    "G-S5": "one-leader-per-leader-epoch",
    "S1": "success-is-committed",
    "S2": "refusals-tell-of-news",
    "S3": "active-controllers-decide-on-their-log",
    "S4": "late-decisions-never-take-effect",
    "S5": "epochs-never-go-back",
    "L5": "refused-leaders-hear-of-it",
    "late": "late-decision-is-brought-along",
}
"""The property that decides each guarantee: by its id, or the rest of CTL-...; L5 is what S2 comes to in the end, `late` what S4 does not say."""


def _unreached(values: Mapping[str, int]) -> tuple[str, ...]:
    """Return the witnesses for which these constants leave no room."""
    is_fenced = values["fences_deposed_controllers"]
    found = {
        "new-leader-has-what-was-acknowledged": values["max_records"] == 0
        or values["decisions"] < 1 + (values["initial_isr"] == 1),
        "deposed-controller-calls-a-member-ineligible": values["decisions"] < 2 and is_fenced,
    }
    return tuple(name for name, is_out in found.items() if is_out)


run = rows(MACHINE, PROPERTY, _unreached)

ONE = "decisions=1"
QUIET = "max_records=0 shrinks=0"
"""No record of the partition, and a follower leaves the ISR by being fenced only."""
IDLE = "leader-waits-for-metadata"
"""The witness that takes a request which finds other epochs, and so a shrink, or an expansion after two decisions."""

RUNS: tuple[Run, ...] = (
    run("3 controllers", "", 2_255_243, 26),
    run("3 controllers, joining", "initial_isr=1", 1_519_137, 28),
    run("3 controllers, a restart and lost writes", f"{ONE} crashes=1 flush_lags=on", 523_537, 22),
    run("3 controllers, a request sent again", f"{ONE} initial_isr=1 resends=1", 469_926, 24),
    run(
        "3 controllers, answers before the commit",
        "answers_after_commit=off",
        2_037_375,
        26,
        "S1 4, G-S8 5, S2 5, G-S1b 6, G-S1 13",
        trace="S1 answers-before-commit, G-S1 loses-a-record",
    ),
    # One decision
    run("one decision", ONE, 206_209, 21, profile=Profile.QUICK),
    run(
        "one decision, brokers apply what they fetched",
        f"{ONE} brokers_apply=fetched",
        533_913,
        21,
        "G-S12 3, G-S8 3, G-S1 4, G-S1b 4, S5 7",
        profile=Profile.QUICK,
        trace="G-S12 applies-uncommitted, S5 goes-back",
    ),
    run(
        "one decision, decides before it has caught up",
        f"{ONE} catches_up_before_deciding=off",
        382_037,
        22,
        "S3 3",
        trace="S3 decides-too-early",
    ),
    run("one decision, joining", f"{ONE} initial_isr=1", 146_992, 22),
    run(
        "one decision, joining, proposals taken back",
        f"{ONE} initial_isr=1 asks_again_after_failover=off",
        175_730,
        22,
        "G-S8 7, G-S1b 8",
        trace="G-S1b takes-proposal-back",
    ),
    run("one decision, no records", f"{ONE} max_records=0", 59_878, 19),
    run(
        "one decision, no records, deposed controllers heeded",
        f"{ONE} max_records=0 fences_deposed_controllers=off",
        323_162,
        27,
        "S4 5, KR-S4 8, S5 8, G-S12 9, G-S8 9, S1 11, S2 11",
        trace="S4 deposed-controller-heeded",
    ),
    # The metadata log and the channel to the controller
    run("two decisions, no records", QUIET, 74_058, 18, never=IDLE, profile=Profile.QUICK),
    run(
        "two decisions, no records, B15",
        f"{QUIET} refuses_unknown_epochs=off",
        74_094,
        18,
        "S2 12",
        profile=Profile.QUICK,
        trace="S2 b15-kafka-14154",
    ),
    run("two decisions, in the end", QUIET, 74_058, 18, only="L5"),
    run(
        "two decisions, B15, in the end",
        f"{QUIET} refuses_unknown_epochs=off",
        74_094,
        18,
        "L5 13",
        only="L5",
        trace="L5 b15-kafka-14154-in-the-end",
    ),
    run("one decision, in the end", ONE, 206_209, 21, only="L5"),
    run("three epochs", f"{ONE} {QUIET} max_epoch=3", 164_129, 15, never=IDLE),
    run("three epochs, elected again", f"{ONE} {QUIET} max_epoch=3", 164_129, 15, only="late"),
    run(
        "three epochs, memory not reverted",
        f"{ONE} {QUIET} max_epoch=3 reverts_uncommitted=off",
        351_474,
        16,
        "S3 5",
        never=f"{IDLE} controller-takes-back-what-it-decided",
    ),
    run("three epochs, two decisions", f"{QUIET} max_epoch=3", 1_500_031, 24, never=IDLE, profile=Profile.FULL),
    run(
        "three epochs, two decisions, memory not reverted",
        f"{QUIET} max_epoch=3 reverts_uncommitted=off",
        3_678_221,
        24,
        "S3 5, S2 10",
        never="controller-takes-back-what-it-decided",
        profile=Profile.FULL,
        trace="S3 does-not-revert, S2 does-not-revert-stuck",
    ),
    run("three epochs, two decisions and a record", "max_epoch=3 shrinks=0", 6_273_231, 27, never=IDLE, profile=Profile.FULL),
    run("four epochs", f"{ONE} {QUIET} max_epoch=4 records_per_fetch=1", 1_682_554, 21, never=IDLE),
    run(
        "four epochs, B34",
        f"{ONE} {QUIET} max_epoch=4 records_per_fetch=1 commits_beyond_epoch_start=off",
        2_403_088,
        23,
        "KR-S4 10, G-S12 11, S5 13",
        never=IDLE,
        trace="G-S12 b34-kafka-12619",
    ),
    # Three decisions
    run("three decisions and fences", f"{QUIET} decisions=3 fences=3", 1_242_820, 23),
    run(
        "three decisions and fences, brokers apply what they fetched",
        f"{QUIET} decisions=3 fences=3 brokers_apply=fetched",
        4_439_050,
        25,
        "G-S12 3, G-S8 3, S5 7, G-S5 9",
        trace="G-S5 two-leaders",
    ),
    run(
        "three decisions, joining, lost answers", f"{QUIET} decisions=3 initial_isr=1 resends=2 late_requests=0", 2_877_824, 29
    ),
    run(
        "three decisions, joining, back to an older controller",
        f"{QUIET} decisions=3 initial_isr=1 resends=2 late_requests=0 channel_never_goes_back=off",
        3_022_790,
        29,
        "G-S8 20",
        trace="G-S8 channel-goes-back",
    ),
    run(
        "three decisions, joining, HYP-8",
        f"{QUIET} decisions=3 initial_isr=1 resends=1",
        3_010_230,
        26,
        "G-S8 13",
        trace="G-S8 hyp-8",
    ),
)

cases = casebook(RUNS, PROPERTY)

EVIDENCE: tuple[Evidence, ...] = (
    Evidence(
        "G-S12",
        cases("""
            3 controllers: G-S12
            3 controllers, joining: G-S12
            3 controllers, a restart and lost writes: G-S12
            one decision: G-S12
            one decision, brokers apply what they fetched: G-S12
            three epochs: G-S12
            four epochs: G-S12
            four epochs, B34: G-S12
        """),
        answer="Across fail-overs of the active controller too, in one machine with the brokers, which so see nothing but a prefix of what is "
        "committed.",
    ),
    Evidence(
        "G-S1",
        cases("""
            3 controllers: G-S1
            3 controllers, joining: G-S1
            three epochs, two decisions and a record: G-S1
            3 controllers, answers before the commit: G-S1
            one decision: G-S1
            one decision, brokers apply what they fetched: G-S1
        """),
        answer="Across fail-overs of the active controller as well.",
    ),
    Evidence(
        "G-S1b",
        cases("""
            3 controllers: G-S1b
            3 controllers, joining: G-S1b
            3 controllers, answers before the commit: G-S1b
            one decision, joining: G-S1b
            one decision, joining, proposals taken back: G-S1b
        """),
    ),
    Evidence(
        "G-S8",
        cases("""
            3 controllers: G-S8
            3 controllers, joining: G-S8
            3 controllers, a request sent again: G-S8
            one decision, joining: G-S8
            one decision, joining, proposals taken back: G-S8
            three decisions, joining, lost answers: G-S8
            three decisions, joining, back to an older controller: G-S8
        """),
        answer="Across fail-overs of the active controller as well, if answers are lost and no request outlives its connection (HYP-8).",
    ),
    Evidence("HYP-8", cases("three decisions, joining, HYP-8: G-S8\nthree decisions, joining, lost answers: G-S8")),
    Evidence(
        "G-S5",
        cases("""
            3 controllers: G-S5
            3 controllers, joining: G-S5
            three decisions and fences: G-S5
            three decisions and fences, brokers apply what they fetched: G-S5
        """),
    ),
    Evidence(
        "KR-S4",
        cases("""
            3 controllers: KR-S4
            one decision, no records: KR-S4
            one decision, no records, deposed controllers heeded: KR-S4
            four epochs: KR-S4
            four epochs, B34: KR-S4
        """),
    ),
    Evidence(
        "CTL-S1",
        cases("""
            3 controllers: S1
            3 controllers, joining: S1
            3 controllers, a restart and lost writes: S1
            3 controllers, a request sent again: S1
            3 controllers, answers before the commit: S1
        """),
        answer="The answer waits until the change is committed (DeferredEventQueue); before that a deposed controller would promise what is cut.",
    ),
    Evidence(
        "CTL-S2",
        cases("""
            3 controllers: S2
            3 controllers, joining: S2
            3 controllers, a request sent again: S2
            3 controllers, answers before the commit: S2
            two decisions, no records: S2
            two decisions, no records, B15: S2
            three epochs, two decisions, memory not reverted: S2
        """),
        answer="It takes two rules: a controller that knows less than the leader says NOT_CONTROLLER, and a refusal too waits until all that "
        "the controller has written is committed.",
    ),
    Evidence(
        "CTL-S3",
        cases("""
            3 controllers: S3
            one decision: S3
            one decision, decides before it has caught up: S3
            three epochs: S3
            three epochs, memory not reverted: S3
            three epochs, two decisions, memory not reverted: S3
        """),
    ),
    Evidence(
        "CTL-S4",
        cases("""
            3 controllers: S4
            one decision, no records: S4
            one decision, no records, deposed controllers heeded: S4
            three epochs: S4
            three epochs, two decisions and a record: S4
            three epochs, elected again: late
            four epochs: S4
        """),
        answer="Not in its epoch. Elected again before anyone has cut its log, it brings the decision along, and the later epoch commits it.",
    ),
    Evidence(
        "CTL-S5",
        cases("""
            3 controllers: S5
            one decision: S5
            one decision, brokers apply what they fetched: S5
            four epochs, B34: S5
        """),
    ),
    Evidence(
        "B15",
        cases("""
            two decisions, no records, B15: S2
            two decisions, no records: S2
            two decisions, B15, in the end: L5
            two decisions, in the end: L5
            one decision, in the end: L5
        """),
        answer="KAFKA-14154 in KRaft: a broker's channel stays with a deposed controller while its metadata comes from the next one. Refused for "
        "epochs that are newer than the controller's, the leader waits for metadata that does not exist; told NOT_CONTROLLER, it finds the active "
        "controller.",
    ),
    Evidence("B34", cases("four epochs, B34: KR-S4, G-S12\nfour epochs: KR-S4, G-S12")),
)
