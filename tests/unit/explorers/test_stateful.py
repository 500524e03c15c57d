"""Hypothesis finds planted bugs by choosing schedules, and its findings become short traces."""

import sys
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.calls import first_model as first
from fencepost.counterexamples import stateful
from fencepost.counterexamples.replay import replay
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language import Property
from fencepost.model.language.errors import UsageError
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.machines import dial, lamps, mailbox

FIXED = stateful.Profile("test", 300, fixed=True)


@pytest.mark.parametrize(
    ("name", "values", "prop", "length"),
    [
        pytest.param("kip279", {}, "strong-isr", 11, marks=pytest.mark.long),
        ("truncate-to-hwm", {"replicas": 2}, "weak-isr", 9),
        pytest.param("replication",
            {"brokers": 2, "initial_isr": 1, "alter_partition_version": 2, "fenced_before_registration": 1},
            "joining-epoch-is-registered", 8, marks=[pytest.mark.xdist_group("replication"), pytest.mark.long]),
    ],
)  # fmt: skip
def test_hypothesis_finds_known_bugs_with_their_shortest_traces(
    name: str, values: dict[str, int], prop: str, length: int
) -> None:
    tried, shrunk = stateful.explore(PROTOCOLS[name], values, (prop,), chosen=FIXED)
    assert (tried.failure.prop.name, shrunk.shortest) == (prop, True)
    assert shrunk.path.length == length <= tried.failure.path.length


def test_a_machine_is_tested_in_one_line_and_its_failure_is_a_trace(tmp_path: Path) -> None:
    stateful.machine_test(mailbox.MACHINE, mailbox.PROPERTIES, folder=tmp_path, use="ci")  # only made, not run
    test = stateful.machine_test(lamps.MACHINE, lamps.PROPERTIES[:1], folder=tmp_path, use=FIXED, lamps=2)
    with pytest.raises(AssertionError) as caught:
        test()
    file = tmp_path / "lamps-some-lamp-is-dark.trace"
    says = f"some-lamp-is-dark is violated after these steps (saved in {file}):\n  1 switch-to lamps="
    assert says in str(caught.value)
    assert replay(file, lambda _: Protocol(lamps.MACHINE, lamps.PROPERTIES)).path.length == 2
    assert test.__name__ == "test_lamps"


@pytest.mark.long
def test_a_test_of_what_holds_passes_under_a_version(tmp_path: Path) -> None:
    stateful.machine_test(lamps.MACHINE, (lamps.lit_lamps_stay,), version="sticky", use=FIXED, folder=tmp_path)()
    assert list(tmp_path.iterdir()) == []


def ruled(properties: tuple[Property, ...], machine: Any, examples: int, **values: int) -> Any:
    asked = settings(
        max_examples=examples, derandomize=True, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    rules = stateful.rule_machine(machine.MACHINE, machine.MACHINE.set_constants(values), properties)
    run_state_machine_as_test(rules, settings=asked)
    return rules


@pytest.mark.long
def test_plain_rules_find_what_schedules_find() -> None:
    for machine, properties, values in (
        (lamps, (lamps.some_lamp_is_dark,), {}),
        (lamps, (lamps.lit_lamps_stay,), {}),
        (mailbox, mailbox.PROPERTIES, {"deduplicate": 0}),
    ):
        with pytest.raises(stateful.ViolatedError):
            ruled(properties, machine, 200, **values)
    rules = ruled(mailbox.PROPERTIES, mailbox, 50)
    assert rules.calls >= rules.steps > 0


def test_plain_rules_draw_negative_parameters_but_not_none() -> None:
    with pytest.raises(stateful.ViolatedError):
        ruled((dial.stays_near,), dial, 50)
    ruled((dial.remembers_numbers,), dial, 50)


def test_profiles_are_found_by_name() -> None:
    assert [(name, stateful.profile(name).fixed) for name in stateful.PROFILES] == [
        ("development", False),
        ("ci", True),
    ]
    with pytest.raises(UsageError, match=r"no profile 'dev' for Hypothesis\. The profiles are: development, ci\."):
        stateful.profile("dev")


def test_without_hypothesis_one_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    said = "choosing schedules needs Hypothesis, which is not installed: run `pip install "
    with pytest.raises(UsageError, match=said):
        stateful.try_schedules(Walker(lamps.MACHINE, lamps.C(), ()), FIXED)


def test_rules_refuse_what_must_happen_in_the_end() -> None:
    said = "'who-waits-gets-it' is about whole behaviours, which never end: each run of the rules is finite"
    with pytest.raises(UsageError, match=said):
        stateful.rule_machine(first.MACHINE, first.MACHINE.set_constants({}), first.PROPERTIES)
