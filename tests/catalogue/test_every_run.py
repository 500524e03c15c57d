"""The catalogue: every run is pinned, nothing is vacuous, each trace belongs to its run; runs of profile `quick` are
made.
"""

from collections import Counter

import pytest
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.search import judge
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import Evidence, Profile, Run, entries, evidence, runs, runs_of, values_of
from fencepost.invariants.protocols import PROTOCOLS, protocol

from tests.helpers.parameters import few

LARGE = 200_000
"""Number of states above which a search is long."""
ALL_QUICK = [run for run in runs() if run.profile is Profile.QUICK]


def marks(run: Run) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xdist_group(run.protocol), *[pytest.mark.long] * (run.distinct > LARGE)]


QUICK = [pytest.param(run, id=run.name, marks=marks(run)) for run in ALL_QUICK]
ARCHIVED = [pytest.param(run, id=run.name) for run in runs() if run.trace]


@pytest.mark.parametrize("run", QUICK)
def test_a_run_of_the_quick_profile_finds_what_is_pinned(run: Run) -> None:
    assert judge(run, Options(workers=1))[1] == ()


@pytest.mark.parametrize("run", few(ARCHIVED, 8))
def test_archived_traces_are_of_their_run_and_as_long_as_it_says(run: Run) -> None:
    for name, file in run.trace.items():
        found = replay(ARCHIVE / file)
        assert found.trace.prop is not None
        assert found.trace.prop.name == name
        assert found.trace.constants == protocol(run.protocol).machine.set_constants(values_of(run))
        assert name in run.worst or found.path.length == run.violated.get(name, found.path.length)
        assert name not in run.unreached


def test_every_figure_is_pinned_and_runs_have_different_names() -> None:
    assert [run.name for run in runs() if not (run.distinct and run.depth)] == []
    assert len({run.name for run in runs()}) == len(runs())


def test_every_archived_trace_belongs_to_a_run() -> None:
    named = {name for run in runs() for name in run.trace.values()}
    lineage = {"truncate-to-hwm-weak-isr", "kip101-weak-isr", "kip279-strong-isr", "kip320-first-try-weak-isr"}
    assert {file.stem for file in ARCHIVE.glob("*.trace")} == {name.removesuffix(".trace") for name in named} | lineage


UNBROKEN = {
    "replication": {"drops-until-settled"}, "quorum": {"commit-is-visible-in-time"},
    "follower-reads": {"waits-until-known"},
}  # fmt: skip
"""Bounds of costs that no switch can exceed."""
ONLY_BROKEN = {"follower-reads": {"truncation-is-found"}, "unclean-recovery": {"recovery-keeps-everything"}}
"""Witnesses that are reached in no run in which all properties hold."""
LINEAGE = {"truncate-to-hwm", "kip101", "kip279", "kip320-first-try", "kip320"}
"""Protocols that are variants of each other."""


def judged(run: Run) -> set[str]:
    return set(run.properties) or {item.name for item in protocol(run.protocol).properties}


@pytest.mark.parametrize("name", sorted(PROTOCOLS.keys() - LINEAGE))
def test_every_property_fails_in_some_run_and_holds_in_another_and_every_witness_is_reached(name: str) -> None:
    properties, own = protocol(name).every_property, runs_of(name)
    assert all(run.title and run.name.startswith(f"{name} ") for run in own)
    promised = {item.name for item in properties if item.kind != "sometimes"}
    assert {prop for run in own for prop in run.violated} == promised - UNBROKEN.get(name, set())
    assert promised == {prop for run in own for prop in (judged(run) & promised) - set(run.violated)}
    reached = {prop for run in own if not run.violated for prop in judged(run) - promised - set(run.unreached)}
    assert {item.name for item in properties} - promised - reached == ONLY_BROKEN.get(name, set())


@pytest.mark.parametrize("item", evidence().values(), ids=lambda item: item.entry)
def test_what_is_broken_has_a_run_that_fails_and_one_that_holds(item: Evidence) -> None:
    kind, found = entries()[item.entry].kind, {case.expect for case in item.cases}
    if found and kind != "claim" and (item.verdict in ("broken", "confirmed") or kind == "bug"):
        assert "holds" in found
        assert "violated" in found or item.entry in ("B07", "B23", "B40")


WITHOUT_TWIN = {
    ("B19", "leader-has-committed"), ("B26", "joining-replica-has-committed"), ("B36", "nobody-fails"),
    ("B50", "candidates-have-committed"),
}  # fmt: skip
"""Bugs, and properties that are violated in some of their runs although no other run decides them at the same
constants."""


BUGS = [item for item in evidence().values() if entries()[item.entry].kind == "bug"]


def difference(one: Run, other: Run) -> set[str]:
    """Return the constants in which two runs of a protocol differ."""
    machine = protocol(one.protocol).machine
    left, right = (machine.set_constants(values_of(run)).shown for run in (one, other))
    return {name for name in left if left[name] != right[name]}


@pytest.mark.parametrize("item", BUGS, ids=lambda item: item.entry)
def test_a_bug_fails_with_its_switch_and_not_without_it_at_the_same_constants(item: Evidence) -> None:
    for case in item.cases:
        most = 1 if case.run.protocol == "replication" and case.run.properties else 2
        wanted = ("holds", case.prop, case.run.protocol)
        held = [other.run for other in item.cases if (other.expect, other.prop, other.run.protocol) == wanted]
        has_twin = any(1 <= len(difference(case.run, other)) <= most for other in held)
        fails = case.expect == "violated" and case.run.protocol not in LINEAGE
        assert has_twin or not fails or (item.entry, case.prop) in WITHOUT_TWIN, case.run.name


TAKEN = {
    "replication": """2 brokers, KIP-903; 2 brokers, B10; 2 brokers, B13 with rollback on timeout; 2 brokers, HYP-8;
        2 brokers, shrink and lag; 2 brokers, clean stop; 2 brokers, disk swap; 2 brokers, three moves;
        2 brokers, B06; 2 brokers, requests without epoch checks; 2 brokers, replicas move;
        kafka-4.4 2 brokers, HYP-11, nothing asked for; kafka-4.4 2 brokers, HYP-14;
        2 brokers, a process starts early; kafka-4.4 2 brokers, HYP-11, configs first and lowered;
        2 brokers, B49; 3 brokers, B50; kafka-4.4 2 brokers, HYP-18; 2 brokers, log starts""",
    "quorum": """kafka-4.0 3 voters; 3 voters, B35; 3 voters, B36; 3 voters, removal; 3 voters, votes asked twice;
        3 voters, late fetches; 3 voters, pre-vote, real votes; 2 voters, one added; 3 voters, a snapshot;
        2 voters and an observer, lost answer; 2 voters and a broker; kafka-4.0 clock, 17 and 17, NoOp records;
        kafka-4.2 2 voters and an observer, bootstrap servers without the leader;
        kafka-4.4 2 voters, endpoints of nobody; kafka-4.2 2 voters, controllers register""",
    "controller-failover": """3 controllers, a restart and lost writes; 3 controllers, a request sent again;
        two decisions, no records; three epochs, elected again""",
    "tiers": """kafka-3.7.0 a tier; kafka-3.6-rc a restart; kafka-3.6 an unclean election; kafka-4.4 a late copy;
        kafka-3.8.0 a copy fails, one epoch; kafka-3.7 a move to another directory;
        kafka-4.4 records are deleted, not counted""",
}
"""Runs that together take every action. For other protocols, all small ones do."""
SMALL = {"follower-reads": 30_000, "watermark-propagation": 30_000}
DEAD = {
    "controller-failover": {"broker-loads-metadata-anew"}, "hints-and-tokens": {"replica-follows"},
    "follower-reads": {"controller-elects-uncleanly"},
}  # fmt: skip
"""Actions that only larger runs take."""


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PROTOCOLS.keys() - LINEAGE - {"unclean-recovery"}))
def test_small_runs_find_what_is_pinned_and_no_action_is_dead(name: str) -> None:
    named = {f"{name} {title}" for title in " ".join(TAKEN.get(name, "").split()).split("; ")}
    fired: Counter[str] = Counter()
    for run in runs_of(name):
        small = (run.distinct or 0) <= (20_000 if run.properties else SMALL.get(name, 130_000))
        if run.name in named if name in TAKEN else small and not (run.properties and name == "follower-reads"):
            result, differences = judge(run, Options(workers=1))
            assert not differences, (run.name, differences)
            fired.update(result.fired)  # update keeps actions that never happened, at 0
    assert {label for label, count in fired.items() if not count} == DEAD.get(name, set())
