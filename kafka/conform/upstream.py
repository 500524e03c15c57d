"""A trace as a test for Kafka's own suite: its leader's steps as calls of `Partition`, like those of PartitionTest.

The test says what the model with a repair says, at the first step where that differs from what Kafka's own rules say.
So it fails on a release and passes with the repair.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.counterexamples.trace import Trace
from fencepost.kafka.conform.binding import PROTOCOL, REPLICATION
from fencepost.kafka.driver.releases import adapt_classes, classes_in, model_of, select_lines
from fencepost.model.language.errors import DisabledError, DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step, Transition

TEMPLATE = Path(__file__).parent / "PartitionHistoryTest.java.template"
NEWEST = "99.0"
"""Text for this release is the template's own: its classes are where 4.4 has them."""
MARK = re.compile(r" *// (until|since) \d+\.\d+$", re.MULTILINE)
REPAIRS: dict[str, tuple[str, int]] = {
    "hyp-1": ("reset_followers_on_reelection", 1),
    "hyp-3": ("equal_partition_epoch_overwrites", 0),
}
"""Findings with the switch of the model that is their repair."""
BEYOND = ("leader_handles_late_fetch", "leader_learns_change_refused")
"""Steps of a leader, or of one that was, for which the template has no call."""
BROKER_EPOCH = 100
"""Kafka's broker epoch of a model's broker epoch 0."""
INDENT = " " * 8


@dataclass(frozen=True)
class RepairPoint:
    """The first step at which a repair changes what a leader has: its high watermark and the members that it counts."""

    finding: str
    length: int
    leader: int
    high_watermark: int
    counted: list[int]


def kafka_test(trace: Trace, name: str = "", release: tuple[str, Path] | None = None) -> str:
    """Return a Java class with one test, for a release (version and folder of jars) or the newest known."""
    if trace.protocol.name != PROTOCOL:
        raise UsageError(
            f"the trace is of protocol {trace.protocol.name!r}, and only {PROTOCOL!r} is mapped to Kafka's classes."
        )
    model = model_of(release[0] if release is not None else NEWEST)
    constants = REPLICATION.as_built(model, trace.constants)
    REPLICATION.make_sure_drivable(model, constants)
    plain = Interpreter(trace.protocol.machine, constants)
    path = _path(plain, trace.steps)
    if len(path) < len(trace.steps):
        raise UsageError(
            "the model refuses a step of the trace with Kafka's own rules, so Kafka is not expected to take it."
        )
    found = _departure(plain, trace, path)
    if found is None:
        raise UsageError(
            "no repair that is known changes what a leader does in this history, so no test could fail "
            "without and pass with it. "
            f"Repairs are known of {', '.join(REPAIRS)}."
        )
    values: Any = constants
    made = name or f"Partition{''.join(word.capitalize() for word in found.finding.split('-'))}Test"
    text = TEMPLATE.read_text("utf-8")
    for mark, what in (
        (
            "WHY",
            textwrap.fill(
                trace.why or trace.title, 116, initial_indent=" * ", subsequent_indent=" * ", break_long_words=False
            ),
        ),
        ("CLASS", made),
        ("TEST", "test" + "".join(re.findall(r"[A-Z][a-z]*|\d+", trace.title.replace("'", "").title()))),
        ("LEADER", str(found.leader)),
        ("REPLICAS", _list(range(values.brokers))),
        ("MIN_ISR", str(values.min_isr)),
        ("STEPS", "\n".join(INDENT + line for line in _Calls(plain, found.leader).lines(path, found))),
    ):
        text = text.replace(f"@{mark}@", what)
    version, classes = (NEWEST, {}) if release is None else (release[0], classes_in(release[1]))
    return MARK.sub("", adapt_classes(select_lines(text, version), classes))


def _path(plain: Interpreter, steps: tuple[Step, ...]) -> list[Transition]:
    """Return the model's states along a history, as far as it takes its steps."""
    at, found = plain.initial_states()[0], []
    for step in steps:
        try:
            found.append(plain.apply(at, step))
        except (DisabledError, DomainError):
            break
        at = found[-1].after
    return found


def _departure(plain: Interpreter, trace: Trace, path: list[Transition]) -> RepairPoint | None:
    """Return where a repair first changes what a leader has, if one does."""
    values = {name: int(value) for name, value in plain.constants.values.items()}
    for finding, (switch, value) in REPAIRS.items():
        other = Interpreter(trace.protocol.machine, trace.protocol.machine.set_constants({**values, switch: value}))
        for length, (one, two) in enumerate(zip(path, _path(other, trace.steps), strict=False), 1):
            as_is, repaired = plain.schema.restore(one.after), other.schema.restore(two.after)
            for leader, (a, b) in enumerate(zip(as_is.replica, repaired.replica, strict=True)):
                if (a.high_watermark, a.isr | a.proposed_isr) != (b.high_watermark, b.isr | b.proposed_isr):
                    return RepairPoint(finding, length, leader, b.high_watermark, _members(b.isr | b.proposed_isr))
    return None


class _Calls:
    """The calls of one leader's `Partition`. The model renames epochs after each step; here they only rise."""

    def __init__(self, plain: Interpreter, leader: int) -> None:
        self.plain, self.leader = plain, leader
        self.leader_epoch = self.partition_epoch = 0

    def lines(self, path: list[Transition], found: RepairPoint) -> Iterator[str]:
        """Yield the test's statements: the leader's steps as calls, all others as comments."""
        at = self.plain.initial_states()[0]
        start = self.plain.schema.restore(at)
        for broker, epoch in enumerate(_image(start, self.leader).broker_epoch):
            yield f"brokerEpochs.put({broker}, {BROKER_EPOCH + epoch}L);"
        yield self._applied(_image(start, self.leader))
        for step, raw, after in path[: found.length]:
            yield f"// {step.action.label}{self._said(step)}"
            yield from self._calls(step, self.plain.schema.restore(at), self.plain.schema.restore(raw))
            at = after
        yield f'assertEquals({found.high_watermark}L, log.highWatermark(), "high watermark");'
        yield f"assertEquals({_set(found.counted)}, maximalIsr());"

    def _said(self, step: Step) -> str:
        """Return the arguments of a step that are numbers; a message says more than a comment should."""
        named = zip(step.action.params, step.args, strict=True)
        return "".join(
            f" {name}={self.plain.show_argument(kind, value)}"
            for (name, kind), value in named
            if isinstance(value, int)
        )

    def _calls(self, step: Step, before: Any, after: Any) -> Iterator[str]:
        """Yield the calls of the leader's `Partition` for a step; nothing for a step of others."""
        given = dict(zip((name for name, _ in step.action.params), step.args, strict=True))
        name, mine = step.action.name, self.leader
        if name == "broker_applies_metadata" and given["broker"] == mine:
            yield from self._metadata(
                _image(before, mine), before.image[given["index"]], before.replica[mine].partition_epoch
            )
        elif name == "leader_appends" and given["leader"] == mine:
            yield f'append("record-{after.written}");'
        elif name in {"leader_handles_fetch", "leader_reports_divergence"} and given["leader"] == mine:
            yield self._fetch(before, given["follower"])
        elif name == "follower_lags_too_long" and given["leader"] == mine:
            yield "lag();"
        elif name == "leader_requests_shrink" and given["leader"] == mine:
            yield "lag();"
            yield "partition.maybeShrinkIsr();"
        elif (
            name == "leader_learns_change_applied"
            and before.replica[mine].proposed_isr != after.replica[mine].proposed_isr
        ):
            self.partition_epoch += after.replica[mine].partition_epoch - before.replica[mine].partition_epoch
            yield f"answer({self.leader_epoch}, {self.partition_epoch}, {_list(_members(after.replica[mine].isr))});"
        elif given.get("broker" if name.startswith("broker_") else "leader") == mine or name in BEYOND:
            raise UsageError(f"`{step.action.label}` is not among what a test of one `Partition` can do.")

    def _metadata(self, was: Any, now: Any, own: int) -> Iterator[str]:
        for broker in range(len(now.broker_epoch)):
            if was.broker_epoch[broker] != now.broker_epoch[broker]:
                yield f"brokerEpochs.put({broker}, {BROKER_EPOCH + now.broker_epoch[broker]}L);"
            if (was.fenced ^ now.fenced) >> broker & 1:
                yield f"fenced.{'add' if now.fenced >> broker & 1 else 'remove'}({broker});"
        if (was.leader_epoch, was.partition_epoch) != (now.leader_epoch, now.partition_epoch):
            self.leader_epoch += now.leader_epoch - was.leader_epoch
            self.partition_epoch += now.partition_epoch - own
            yield self._applied(now)

    def _applied(self, image: Any) -> str:
        return (
            f"applyMetadata({image.leader}, {self.leader_epoch}, {self.partition_epoch}, {_list(_members(image.isr))});"
        )

    def _fetch(self, before: Any, follower: int) -> str:
        other = before.replica[follower]
        older = _image(before, self.leader).leader_epoch - other.log[other.end - 1].epoch if other.end else 0
        last = self.leader_epoch - older if other.end else -1
        broker_epoch = BROKER_EPOCH + before.image[before.newest].broker_epoch[follower]
        return f"fetch({follower}, {broker_epoch}L, {other.end}L, {self.leader_epoch}, {last});"


def _image(state: Any, broker: int) -> Any:
    return state.image[state.replica[broker].applied]


def _members(bits: int) -> list[int]:
    return [broker for broker in range(bits.bit_length()) if bits >> broker & 1]


def _list(numbers: Iterable[int]) -> str:
    return f"List.of({', '.join(map(str, numbers))})"


def _set(numbers: Iterable[int]) -> str:
    return f"Set.of({', '.join(map(str, numbers))})"
