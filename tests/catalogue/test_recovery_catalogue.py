"""Unclean recovery: runs match their pins, every property is violated somewhere and holds elsewhere, and the rules
differ as the page says.
"""

import pytest
from fencepost.invariants.catalogue import runs_of, values_of
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.recovery.machine import MACHINE, C, Rule, Wait

RUNS = runs_of("unclean-recovery")


def test_every_rule_is_tried_with_every_wait() -> None:
    every: list[C] = [MACHINE.set_constants(values_of(run)) for run in RUNS]
    found = {(values.rule, values.wait) for values in every}
    assert len(found) == len(Rule) * len(Wait)


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
    taken = [
        item.step for item in plain.transitions(plain.schema.key(s)) if item.step.action.name == "controller_recovers"
    ]
    assert {step.args[0] for step in taken} == elected
