"""Verdicts on findings for a release: archived traces are executed on Kafka's classes."""

from dataclasses import dataclass
from enum import StrEnum

from fencepost.counterexamples.trace import Trace
from fencepost.explorers.paths import holds_at_end
from fencepost.kafka.conform.binding import PROTOCOL, REPLICATION
from fencepost.kafka.driver.chances import Chance, after, can_be_tried, try_step
from fencepost.kafka.driver.execute import Execution
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.replication.brokers import Brokers
from fencepost.kafka.replication.mapping import ACTIONS, NOT_DRIVEN
from fencepost.model.language.actions import Kind
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.records import Key

ELECTS = "controller_elects_preferred"


class TraceVerdict(StrEnum):
    CONFIRMED = "confirmed"
    """Every step had the same result in Kafka as in the model, and the property is violated after the last step."""
    REFUTED = "refuted"
    """Kafka executed a step differently, or the property holds after the last step."""
    NOT_DRIVEN = "not driven"
    """The history needs a feature that the driver or the release does not have."""
    DEPARTS = "departs"
    """Kafka's result differed from the model's before the last step."""


@dataclass(frozen=True)
class Settled:
    verdict: TraceVerdict
    why: str


def settle_trace(driver: Driver, trace: Trace) -> Settled:
    why = _not_driven(driver, trace)
    if why:
        return Settled(TraceVerdict.NOT_DRIVEN, why)
    plain = Interpreter(trace.protocol.machine, REPLICATION.as_built(driver.release.model, trace.constants))
    initial = plain.initial_states()[0]
    history: list[Transition] = []
    at = initial
    for step in trace.steps:
        if after(plain, at, step) is None:
            return _refused(Brokers(driver, plain), history, at, step)
        history.append(plain.apply(at, step))
        at = history[-1].after
    execution = Brokers(driver, plain)
    found = execution.run(initial, history)
    if found is not None:
        return Settled(TraceVerdict.DEPARTS, found.words)
    if execution.at != at:
        return Settled(TraceVerdict.NOT_DRIVEN, execution.why)
    return _judged(plain, trace, history)


def _not_driven(driver: Driver, trace: Trace) -> str:
    if trace.protocol.name != PROTOCOL:
        return f"its protocol is {trace.protocol.name}"
    if trace.removed is not None or not trace.normalize:
        return "its model lacks a guard or `normalize`"
    model = driver.release.model
    if why := REPLICATION.why_not(model, REPLICATION.as_built(model, trace.constants)):
        return why
    if trace.constants.values["any_preferred"] and any(
        step.action.name == ELECTS and step.args[0] != 0 for step in trace.steps
    ):
        return "an operator changes the preferred replica, but the driver always prefers broker 0"
    missing = [step.action.name for step in trace.steps if step.action.name not in ACTIONS]
    return f"{missing[0].replace('_', '-')}: {NOT_DRIVEN[missing[0]]}" if missing else ""


def _refused(execution: Execution, history: list[Transition], at: Key, step: Step) -> Settled:
    plain = execution.plain
    told = f"step {len(history) + 1}, {step.action.label}"
    if not can_be_tried(REPLICATION.ablation, plain, at, step):
        return Settled(TraceVerdict.REFUTED, f"{told}: a message or process that the step needs does not exist")
    found = try_step(REPLICATION.ablation, execution, Chance(tuple(history), at, step, None, None))
    if found is None:
        return Settled(TraceVerdict.NOT_DRIVEN, execution.why)
    if found.did == "untried":
        return Settled(TraceVerdict.REFUTED, f"{told}: a message or process that the step needs does not exist")
    return Settled(TraceVerdict.REFUTED if found.like_model else TraceVerdict.DEPARTS, f"{told}: {found.answer}")


def _judged(plain: Interpreter, trace: Trace, history: list[Transition]) -> Settled:
    prop = trace.prop
    if prop is None or not history:
        return Settled(TraceVerdict.CONFIRMED, "it happens")
    if prop.kind not in (Kind.STEP, Kind.ALWAYS, Kind.SOMETIMES):
        return Settled(TraceVerdict.NOT_DRIVEN, "its property is about whole behaviours")
    states = (plain.initial_states()[0], *(item.after for item in history))
    holds = holds_at_end(plain, prop, states, history[-1])
    if prop.kind is Kind.SOMETIMES:
        verdict = TraceVerdict.CONFIRMED if holds else TraceVerdict.REFUTED
        return Settled(verdict, f"{prop.name} is {'' if holds else 'not '}reached")
    verdict = TraceVerdict.REFUTED if holds else TraceVerdict.CONFIRMED
    return Settled(verdict, f"{prop.name} {'holds' if holds else 'is violated'}")
