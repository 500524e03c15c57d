"""The native search gives the plain search's results; an unfinished one never says that something holds."""

from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pytest
from fencepost.api.asking import targets
from fencepost.api.asking.targets import Question
from fencepost.counterexamples import shrink
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.native import expansion, store
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.native.store import Progress
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search, source_of
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Verdict
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.catalogue import Run, runs, values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Kind
from fencepost.model.language.errors import MismatchError, UsageError

from tests.helpers.commands import data_of, fencepost
from tests.helpers.parameters import few
from tests.helpers.questions import ALONE, MACHINES, ask, case, found, group
from tests.helpers.written import machine_of


@pytest.mark.parametrize(("name", "values"), [case("kip320", {"replicas": 2}), case("grid", {"width": 9, "starts": 2})])
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_a_depth_limit_ends_the_search_where_plain_ends_too(name: str, values: dict[str, int], depth: int) -> None:
    options = replace(ALONE, max_depth=depth)
    result = ask(name, values, options)
    assert found(result) == found(ask(name, values, options, plain))
    assert (result.depth, result.why_stopped) == (depth, f"the depth limit of {depth} was reached")


@pytest.mark.parametrize("search", [native, plain], ids=["native", "plain"])
@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ({"max_depth": 15}, "the depth limit of 15 was reached"),
        ({"max_states": 100}, "the limit of 100 states was reached"),
        ({"budget": 0.0}, "the time budget of 0 s ran out"),
        ({"memory": 600 << 10}, "the memory limit of 1 MiB was reached"),
    ],
    ids=str,
)
@group("kip320", {"replicas": 2})
def test_an_unfinished_search_never_says_that_something_holds(search: Any, limit: dict[str, Any], why: str) -> None:
    result = ask("kip320", {"replicas": 2, "max_leader_epoch": 1}, replace(ALONE, **limit), search)
    assert (result.complete, result.why_stopped, result.verdict) == (False, why, Verdict.UNDETERMINED)
    assert 0 < result.distinct <= 957
    for item in result.properties:
        reached = item.kind is Kind.SOMETIMES and item.path is not None
        assert item.verdict is (Verdict.HOLDS if reached else Verdict.UNDETERMINED)


@group("kip101", {"replicas": 2})
def test_a_violation_stands_though_the_search_did_not_finish() -> None:
    result = ask("kip101", {"replicas": 2}, replace(ALONE, max_depth=13))
    assert (result.complete, result.verdict) == (False, Verdict.VIOLATED)


@group("kip320", {"replicas": 2})
def test_a_limited_search_says_how_deep_it_came_or_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ask("kip320", {"replicas": 2})
    ends = list(accumulate(whole.levels))
    monkeypatch.setattr(expansion, "ROUND", 1)
    monkeypatch.setattr(expansion, "BATCH", 8)
    inside = 0
    for most in range(100, 5_900, 777):
        result = ask("kip320", {"replicas": 2}, replace(ALONE, max_states=most))
        assert most <= result.distinct <= whole.distinct
        assert result.depth == bisect_left(ends, result.distinct) + 1
        inside += result.distinct not in ends
    assert inside > 3, "rounds are so long that no search ends inside a level"
    assert ask("kip320", {"replicas": 2}, replace(ALONE, max_states=whole.distinct)).complete


@group("kip320", {"replicas": 2})
def test_progress_is_told_and_grows() -> None:
    told: list[Progress] = []
    machine, properties = MACHINES["kip320"]
    result = native(machine, machine.set_constants({"replicas": 2}), properties, ALONE, tell=told.append)
    assert [item.depth for item in told] == sorted(item.depth for item in told)
    assert all(item.distinct <= after.distinct for item, after in pairwise(told))
    assert (told[-1].distinct, told[-1].generated) == (result.distinct, result.generated)
    assert all(0 <= item.seconds < 600 for item in told)


LOTTERY, FEW_WIN = machine_of("""
class C(Constants):
    last = capacity(9, low=0, high=99_999_999_999, meaning="the last ticket", room=1)
class State(Record):
    won: Annotated[int, Range(0, 3)]
@action(ticket=Range(0, C.last))
def draw(s, c, ticket):
    require(s.won < 2)
    require(ticket < 2)
    s.won += 1
@always
def few_win(s, c):
    return s.won < 2
""")
"""The choices of a step, far more than its successors."""


def test_a_step_that_chooses_from_more_than_there_is_room_for_is_refused() -> None:
    said = "the parameters of action 'draw' have 10,000,000,000 combinations"
    constants = LOTTERY.set_constants({"last": 9_999_999_999})
    with pytest.raises(UsageError, match=rf"{said}.* smaller domains\.$"):
        native(LOTTERY, constants, FEW_WIN, ALONE)
    machine = replace(LOTTERY, initial=LOTTERY.actions[0], actions=(LOTTERY.initial,))
    for engine in (native, plain):
        with pytest.raises(UsageError, match=f"{said}, but at most"):
            engine(machine, constants, FEW_WIN, ALONE)


def test_memory_that_the_system_does_not_give_is_said_so() -> None:
    with pytest.raises(UsageError, match=r"may have 35,184,372,088,832 successors of 8 bytes, which do not fit"):
        store.Buffers(np.dtype([("words", "<u8", (1,))]), 1, 1 << 45)


@pytest.mark.xdist_group("grid-")
def test_each_violation_has_a_shortest_trace() -> None:
    """Also one by a step that leads nowhere, to a known state, or to one that normalize changes."""
    result = ask("grid", {"width": 30, "returning": 1, "resting": 1, "noisy": 1})
    judged = [item for item in result.properties if item.kind is not Kind.SOMETIMES]
    assert {item.name: item.path and item.path.length for item in judged} == {
        "is-near": 5, "is-left-of-the-last-column": 30, "is-on-the-grid": None, "never-rests": 2, "never-goes-back": 4,
        "is-quiet": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values"),
    [
        case("truncate-to-hwm", {"replicas": 2, "max_leader_epoch": 1}),
        case("grid", {"width": 20}),
        case("grid", {"width": 4, "starts": 4}),
        case("grid", {"resting": 1}),
        case("id-sequence", {}),
    ],
)
def test_a_search_may_end_with_the_level_of_the_first_violation(name: str, values: dict[str, int]) -> None:
    options = replace(ALONE, stop_on_violation=True)
    result = ask(name, values, options)
    assert found(result) == found(ask(name, values, options, plain))
    violated = [item for item in result.properties if item.verdict is Verdict.VIOLATED]
    assert result.why_stopped == ("a property is violated" if violated else "")
    full = {item.name: item.path and item.path.length for item in ask(name, values).properties}
    assert all(item.path is not None and item.path.length == full[item.name] for item in violated)


def violating() -> dict[str, Run]:
    """Return the smallest run with an archived trace for each state or step property that is judged on request."""
    found: dict[str, Run] = {}
    for run in sorted(runs(), key=lambda run: run.distinct or 0):
        for item in PROTOCOLS[run.protocol].on_request:
            if item.name in run.trace and item.name in run.violated and not item.kind.over_behaviours:
                found.setdefault(item.name, run)
    return found


@pytest.mark.parametrize("name", few(violating(), 3))
def test_what_is_named_is_judged_and_compiled_for_every_use(name: str) -> None:
    run = violating()[name]
    options = [f"--set={key}={value}" for key, value in run.constants.items()]
    version = [f"--version={run.version}"] if run.version else []
    done = fencepost("check", run.protocol, *version, *options, "--property", name, "--engine", "native", "--json")
    [judged] = data_of(done)["properties"]
    assert (judged["verdict"], judged["length"]) == ("violated", run.violated[name])
    found, constants = PROTOCOLS[run.protocol], PROTOCOLS[run.protocol].machine.set_constants(values_of(run))
    question = Question(found, constants, found.select((name,)))
    sources = (
        targets.source_of(question, Options()),
        source_of(run.protocol, values_of(run), (name,), normalize=True),
        shrink.source_of(replay(ARCHIVE / run.trace[name]).trace),
        targets.source_of(question, Options(), masked=True),
    )
    assert all(name in {item.name for item in source.state_properties + source.step_properties} for source in sources)


def test_a_property_that_is_not_compiled_cannot_be_asked() -> None:
    found = PROTOCOLS["kip101"]
    constants = found.machine.set_constants({"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0})
    first, *others = found.properties
    kernels = compiled(found.machine, constants, (first,), normalize=True)
    assert search(found.machine, constants, (first,), kernels=kernels).complete
    for asked in (search, Walker):
        with pytest.raises(MismatchError, match=others[0].name):
            asked(found.machine, constants, found.properties, kernels=kernels)
