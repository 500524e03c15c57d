"""The native search gives the plain search's results, for any number of workers, and reports an early end."""

from dataclasses import replace

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language import Kind

from tests.helpers.questions import ALONE, ask, case, found, is_valid


@pytest.mark.parametrize("mode", ["normalized", "as it is"])
@pytest.mark.parametrize(
    ("name", "values"), [case("mailbox", {"clients": 1, "requests": 2}), case("grid", {"noisy": 1, "returning": 1})]
)
def test_normalize_can_be_switched_off(name: str, values: dict[str, int], mode: str) -> None:
    options = replace(ALONE, normalize=mode == "normalized")
    result = ask(name, values, options)
    assert found(result) == found(ask(name, values, options, plain))
    assert [item.verdict for item in result.properties] == [item.verdict for item in ask(name, values).properties]
    assert (result.distinct < ask(name, values, replace(ALONE, normalize=False)).distinct) is options.normalize


@pytest.mark.xdist_group("grid-")
def test_every_initial_state_is_reached_without_a_step() -> None:
    result = ask("grid", {"width": 4, "starts": 4})
    assert (result.levels, result.distinct, result.depth) == ((4, 4, 4, 4), 16, 4)
    violated = result.of("is-left-of-the-last-column")
    assert violated.path is not None
    assert (violated.path.length, violated.path.steps) == (1, ())


@pytest.mark.xdist_group("grid-")
def test_each_violation_has_a_shortest_trace() -> None:
    result = ask("grid", {"width": 30, "returning": 1, "resting": 1, "noisy": 1})
    lengths = {
        item.name: item.path and item.path.length for item in result.properties if item.kind is not Kind.SOMETIMES
    }
    assert lengths == {
        "is-near": 5,
        "is-left-of-the-last-column": 30,
        "is-on-the-grid": None,
        "never-rests": 2,
        "never-goes-back": 4,
        "is-quiet": 2,
    }


@pytest.mark.xdist_group("grid-")
def test_step_properties_are_judged_on_steps_to_known_states() -> None:
    result = ask("grid", {"returning": 1})
    back = result.of("never-goes-back")
    assert back.verdict is Verdict.VIOLATED
    assert back.path is not None
    assert back.path.states[-1] == back.path.start
    assert result.distinct == ask("grid", {}).distinct


@pytest.mark.xdist_group("grid-")
def test_a_step_that_leads_nowhere_is_judged_and_counted() -> None:
    result = ask("grid", {"resting": 1})
    rests = result.of("never-rests")
    assert rests.verdict is Verdict.VIOLATED
    assert rests.path is not None
    assert rests.path.states[0] == rests.path.states[1]
    assert (result.fired["rest"], result.distinct, result.deadlocks) == (25, 25, 0)


@pytest.mark.xdist_group("grid-")
def test_step_properties_are_judged_before_normalize() -> None:
    result = ask("grid", {"noisy": 1})
    loud = result.of("is-quiet")
    assert loud.verdict is Verdict.VIOLATED
    assert loud.path is not None
    assert all(state[2] == 0 for state in loud.path.states)


@pytest.mark.xdist_group("grid-")
def test_a_state_without_successors_is_reported_on_request() -> None:
    result = ask("grid", {"width": 6})
    assert result.deadlocks == 1
    assert result.deadlock is not None
    assert result.deadlock.states[-1] == (5, 5, 0)
    assert is_valid("grid", {"width": 6}, result.deadlock)
    assert ask("grid", {"width": 6}, Options(workers=1)).deadlock is None


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
