"""Shortest traces show faults as late as possible, and keep their ends."""

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
    """Take the first step of each name that is enabled."""
    plain = Interpreter(REPLICATION.machine, constants())
    (start,) = plain.initial_states()
    states, steps = [start], list[Step]()
    for name in names:
        taken = next(item for item in plain.transitions(states[-1]) if item.step.action.label == name)
        steps.append(taken.step)
        states.append(taken.after)
    return plain, Path(start, tuple(steps), tuple(states))


EARLY = ("controller-fences-broker", "leader-appends", "leader-handles-fetch")


FAULTS = ("broker-crashes", "controller-fences-broker", "broker-registers", "controller-unfences-broker")


@pytest.mark.parametrize(
    ("prop", "before", "after"),
    [
        ("leader-has-committed", EARLY, (*EARLY[1:], EARLY[0])),
        ("joining-epoch-is-registered", EARLY, (EARLY[1], EARLY[0], EARLY[2])),
        ("leader-has-committed", FAULTS, FAULTS),
    ],
    ids=["past what does not depend on it", "before the step that is judged", "before what depends on it"],
)
def test_a_fault_moves_as_far_as_it_can_and_the_end_stays(
    prop: str, before: tuple[str, ...], after: tuple[str, ...]
) -> None:
    plain, found = history(*before)
    made = with_late_faults(plain, found, REPLICATION.select((prop,))[0])
    assert (made.states[-1], made.length, labels(made)) == (found.states[-1], found.length, after)
    for state, step, following in zip(made.states, made.steps, made.states[1:], strict=False):
        assert plain.apply(state, step).after == following


def test_a_long_history_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, found = history(*EARLY)
    monkeypatch.setattr(paths, "LONGEST", 2)
    assert with_late_faults(plain, found, REPLICATION.select(("leader-has-committed",))[0]) is found
