"""Every action of data replication, of the quorum and of recovery matters; every cell of fetching from followers has a
history; each violating run of fail-over has a twin that holds; histories of leader discovery are also possible on
connections that keep an order; and rules of recovery differ as the page says.
"""

from pathlib import Path

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.catalogue import runs_of
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.recovery.machine import MACHINE, Rule, Wait
from fencepost.site.tables import every_cell

UNCAUGHT: dict[str, dict[str, str]] = {
    "replication": {
        "controller-refuses-alter-partition": "a request that must be refused is refused at once in merged states",
        "follower-ignores-late-answer": "it changes nothing but that the answer is gone",
        "late-answer-is-lost": "losing an answer is never taking it",
        "broker-expires-records": "a record that was deleted on purpose is not lost",
        "log-directory-returns": "what comes back is whole, and its broker is treated as after a crash",
    },
    "quorum": {
        "leader-handles-late-fetch": "a late fetch says less than one that came before; no matrix has any",
        "removed-leader-resigns": "it only stops; no matrix has removals",
        "voter-hears-nothing": "it only stops following; no matrix has pre-votes",
    },
    "unclean-recovery": {},
}
"""Actions in no such history, and why that is right."""


def in_violations(name: str) -> set[str]:
    """Return the actions of archived histories that violate a property."""
    traces = (read(file).trace for file in ARCHIVE.glob(f"{name}-*.trace"))
    steps = (step for trace in traces if str(trace.verdict) == "violated" for step in trace.steps)
    return {step.action.name.replace("_", "-") for step in steps}


def in_matrices(name: str) -> set[str]:
    """Return the actions with a guard that protects a property, and those in measured histories that violate one."""
    rows = [row for base in load(f"matrices/{name}").get("bases", ()) for row in base["rows"] if row.get("broken")]
    steps = (step for row in rows for step in row.get("steps", ()))
    return {row["row"].rpartition(" ")[0] for row in rows} | {step.partition(" ")[0] for step in steps}


@pytest.mark.parametrize("name", UNCAUGHT)
def test_every_action_is_part_of_a_violation_or_keeps_a_property(name: str) -> None:
    actions = {item.name.replace("_", "-") for item in protocol(name).machine.actions}
    caught = in_violations(name) | in_matrices(name)
    assert actions - caught == set(UNCAUGHT[name])


def test_every_cell_says_what_may_happen_and_has_a_history_of_the_worst() -> None:
    cells = every_cell()
    asked = {(cell.version, cell.policy, cell.case, cell.epochs) for cell in cells}
    assert len(asked) == len(cells) == 4 * 3 * 3 + 2 * 3 * 3
    for cell in cells:
        assert list(cell.run.trace) == [f"case-{cell.outcomes[0]}"]


RUNS = runs_of("controller-failover")


def test_every_run_that_fails_has_a_twin_that_holds_but_for_its_switch() -> None:
    switches = {"answers_after_commit", "brokers_apply", "catches_up_before_deciding", "reverts_uncommitted"}
    switches |= {"commits_beyond_epoch_start", "fences_deposed_controllers", "refuses_unknown_epochs"}
    switches |= {"channel_never_goes_back", "asks_again_after_failover"}
    sound = [dict(run.constants) for run in RUNS if not run.violated]
    broken = [dict(run.constants) for run in RUNS if run.violated and "HYP-8" not in run.title]
    assert {name for constants in broken for name in constants} >= switches
    for constants in broken:
        assert len(switches & constants.keys()) == 1, constants
        assert {name: value for name, value in constants.items() if name not in switches} in sound, constants


# -- leader discovery and recovery


@pytest.mark.parametrize("file", sorted(ARCHIVE.glob("leader-discovery-*")), ids=lambda file: file.stem)
def test_no_history_of_leader_discovery_needs_a_request_that_overtakes_another_at_one_broker(file: Path) -> None:
    """Kafka's connections keep an order, the model's do not: each history is possible with both."""
    trace = replay(file).trace
    plain, loop = trace.interpreter(), trace.steps[trace.loop :] if trace.loop is not None else ()
    waiting: list[tuple[str, str]] = []
    answered: list[tuple[str, str]] = []
    for step in (*trace.steps, *loop):
        action, _, rest = plain.show(step).partition(" ")
        if action in SENT:
            waiting.append((SENT[action], rest.partition("broker=")[2].split()[0]))
        for place, done in ((ANSWERED, waiting), (RECEIVED, answered)):
            if action in place:
                first = next(item for item in done if item[0] == place[action])
                assert not any(item[1] == first[1] for item in done[: done.index(first)]), plain.show(step)
                done.remove(first)
                if place is ANSWERED:
                    answered.append(first)
        if action == "broker-stops":
            waiting = [item for item in waiting if item[1] != rest.partition("broker=")[2].split()[0]]


SENT = {
    "client-sends-request": "request", "client-refreshes": "refresh", "client-refreshes-one-topic": "refresh",
    "client-bootstraps-again": "refresh",
}  # fmt: skip
ANSWERED = {
    "broker-answers-request": "request", "broker-answers-after-reassignment": "request",
    "broker-answers-refresh": "refresh",
}  # fmt: skip
RECEIVED = {"client-receives-response": "request", "client-applies-metadata": "refresh"}
"""By action: the request that is sent, answered or received."""


@pytest.mark.parametrize(
    ("rule", "elected"),
    [(Rule.LONGEST_LOG, {0}), (Rule.LATEST_EPOCH, {1, 2}), (Rule.KIP_966, {2}), (Rule.KNOWN_FIRST, {1})],
)
def test_rules_prefer_logs_as_they_say(rule: Rule, elected: set[int]) -> None:
    """Broker 0 has three records of epoch 0, broker 1 one of epoch 1, broker 2 two up to epoch 1; broker 1 was the last
    eligible one.
    """
    plain = Interpreter(MACHINE, MACHINE.set_constants({"max_records": 3, "rule": rule, "wait": Wait.NOBODY}))
    s = plain.schema.restore(plain.initial_states()[0])
    s.leader, s.leader_epoch, s.isr, s.known, s.written = -1, 1, 0, 0b010, 3
    for broker, epochs in enumerate(((0, 0, 0), (1,), (0, 1))):
        for offset, epoch in enumerate(epochs):
            s.replica[broker].log[offset].record = offset + 1
            s.replica[broker].log[offset].epoch = epoch
        s.replica[broker].end = len(epochs)
    steps = (item.step for item in plain.transitions(plain.schema.key(s)))
    assert {step.args[0] for step in steps if step.action.name == "controller_recovers"} == elected
