"""Shortest traces tell of faults as late as they can, and end where they ended."""

import pytest
from fencepost.explorers import paths
from fencepost.explorers.paths import with_late_faults
from fencepost.explorers.plain import search
from fencepost.invariants.protocols import protocol
from fencepost.model.language import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.interpreter import Interpreter, Path, Step

from tests.helpers.parameters import sized

REPLICATION = protocol("replication")
KIP_903 = (
    "leader-handles-fetch",
    "broker-crashes",
    "controller-fences-broker",
    "broker-registers",
    "controller-unfences-broker",
    "broker-applies-metadata",
    "controller-applies-alter-partition",
)
"""The KIP's own order: caught up and the request sent, crash, fence, new incarnation, request accepted."""


def constants(**more: int) -> Constants:
    """KIP-903's two brokers, the second outside the ISR, and requests without broker epochs."""
    sizes = sized("brokers=2 initial_isr=1 shrinks=0 alter_partition_version=2 fenced_before_registration=1")
    return REPLICATION.machine.set_constants({**sizes, **more})


def judged() -> Property:
    (found,) = REPLICATION.select(("joining-epoch-is-registered",))
    return found


def labels(path: Path) -> tuple[str, ...]:
    return tuple(step.action.label for step in path.steps)


def test_the_plain_search_tells_kip_903_in_its_own_order() -> None:
    (found,) = search(REPLICATION.machine, constants(max_records=0, late_fetches=0), (judged(),)).properties
    assert found.path is not None
    assert labels(found.path) == KIP_903


def history(*names: str) -> tuple[Interpreter, Path]:
    """Take the first step of each name that fits."""
    plain = Interpreter(REPLICATION.machine, constants())
    (start,) = plain.initial_states()
    states, steps = [start], list[Step]()
    for name in names:
        taken = next(item for item in plain.transitions(states[-1]) if item.step.action.label == name)
        steps.append(taken.step)
        states.append(taken.after)
    return plain, Path(start, tuple(steps), tuple(states))


EARLY = ("controller-fences-broker", "leader-appends", "leader-handles-fetch")


def test_a_fault_moves_past_what_does_not_depend_on_it_and_the_end_stays() -> None:
    plain, found = history(*EARLY)
    made = with_late_faults(plain, found, REPLICATION.select(("leader-has-committed",))[0])
    assert (made.states[-1], made.length) == (found.states[-1], found.length)
    assert labels(made) == ("leader-appends", "leader-handles-fetch", "controller-fences-broker")
    for before, step, after in zip(made.states, made.steps, made.states[1:], strict=False):
        assert plain.apply(before, step).after == after


def test_the_step_that_a_property_of_steps_judges_stays_the_last() -> None:
    plain, found = history(*EARLY)
    made = with_late_faults(plain, found, judged())
    assert labels(made) == ("leader-appends", "controller-fences-broker", "leader-handles-fetch")


def test_a_fault_stays_before_what_depends_on_it() -> None:
    plain, found = history(
        "broker-crashes", "controller-fences-broker", "broker-registers", "controller-unfences-broker"
    )
    made = with_late_faults(plain, found, REPLICATION.select(("leader-has-committed",))[0])
    assert labels(made) == labels(found)


def test_a_long_history_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, found = history(*EARLY)
    monkeypatch.setattr(paths, "LONGEST", 2)
    assert with_late_faults(plain, found, REPLICATION.select(("leader-has-committed",))[0]) is found
