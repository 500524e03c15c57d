"""Conversion of a trace to a test for Kafka's own test suite.

A leader's steps become calls to `Partition`, as in PartitionTest, or the controller's steps become calls to its
managers, as in ReplicationControlManagerTest. If the history follows the rules of another protocol or a variant, the
test checks the first step for which Kafka's rules give a different result, and expects Kafka's result: the test passes
on a release and fails if Kafka is changed. If the history follows Kafka's rules, the test expects the first result that
a fix changes: the test fails on a release and passes with the fix. If no fix changes a result, the test expects the
result of a release.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from fencepost.counterexamples.trace import Trace
from fencepost.kafka.conform.binding import PROTOCOL, REPLICATION
from fencepost.kafka.driver.releases import adapt_classes, classes_in, model_of, select_lines
from fencepost.model.cluster.state import AlterPartition
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DisabledError, DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step, Transition
from fencepost.model.language.machine import Machine

TEMPLATE = Path(__file__).parent / "PartitionHistoryTest.java.template"
OF_CONTROLLER = TEMPLATE.with_name("ControllerHistoryTest.java.template")
NEWEST = "99.0"
"""The release for which the template is written."""
MARK = re.compile(r" *// (until|since) \d+\.\d+$", re.MULTILINE)
REPAIRS: dict[str, tuple[str, int]] = {
    "hyp-1": ("reset_followers_on_reelection", 1),
    "hyp-3": ("equal_partition_epoch_overwrites", 0),
    "hyp-10": ("elr_within_replicas", 1),
    "hyp-11": ("elr_judged_by", 2),
    "hyp-12": ("leaderless_elr_is_cleared", 0),
    "hyp-14": ("stale_elr_elects", 0),
}
BEYOND = ("leader_handles_late_fetch", "leader_learns_change_refused")
"""Actions of a current or former leader for which the template has no call."""
DIRECTORIES = ("log_directory", "disk_is", "controller_marks_directory", "controller_assigns_directory")
"""Prefixes of the names of actions on log directories, which no template can call."""
GRANTS = "controller_applies_alter_partition"
"""An action whose rejection is always visible, because a granted request increases the partition epoch."""
BROKER_EPOCH = 100
"""The broker epoch that represents the model's broker epoch 0."""
CONTROLLER = -1
INDENT = " " * 8


@dataclass(frozen=True)
class Decision:
    """The check of a test: the number of steps before it, the node whose state is checked, and the expected model
    state. `who` is the broker whose `Partition` is called, or CONTROLLER. `says` states when the test fails. If
    `is_refused`, the last step must not change the partition epoch.
    """

    length: int
    who: int
    expected: Any
    says: str = ""
    finding: str = ""
    is_refused: bool = False


def kafka_test(trace: Trace, name: str = "", release: tuple[str, Path] | None = None) -> str:
    """Return a Java class with one test for a release, by default the latest."""
    if not _is_ours(trace.protocol.machine):
        raise UsageError(
            f"the trace's protocol is {trace.protocol.name!r}, but only {PROTOCOL!r} and its variants are mapped to "
            "Kafka's classes."
        )
    model = model_of(release[0] if release is not None else NEWEST)
    constants = REPLICATION.as_built(model, trace.constants)
    REPLICATION.make_sure_drivable(model, constants)
    plain, found = _decided(trace, constants)
    path = [item._replace(step=step) for item, step in zip(_path(plain, trace.steps), _ours(trace), strict=False)]
    values = dict(constants.values)
    calls: _ControllerCalls | _Calls
    calls = _ControllerCalls(plain) if found.who == CONTROLLER else _Calls(plain, found.who)
    where = "Controller" if found.who == CONTROLLER else "Partition"
    made = name or f"{where}{''.join(word.capitalize() for word in found.finding.split('-')) or 'History'}Test"
    text = (OF_CONTROLLER if found.who == CONTROLLER else TEMPLATE).read_text("utf-8")
    for mark, what in (
        (" * @SAYS@", _comment(found.says)),
        ("@WHY@", _comment(trace.why or trace.title)),
        ("@CLASS@", made),
        ("@TEST@", "test" + "".join(re.findall(r"[A-Z][a-z]*|\d+", trace.title.replace("'", "").title()))),
        ("@LEADER@", str(found.who)),
        ("@REPLICAS@", _list(range(values["brokers"]))),
        ("@MIN_ISR@", str(values["min_isr"])),
        ("@ELR@", str(int(values["elr"]))),
        ("@UNCLEAN@", str(bool(values["unclean_election"])).lower()),
        ("@STEPS@", "\n".join(INDENT + line for line in calls.lines(path, found))),
    ):
        text = text.replace(mark, what)
    version, classes = (NEWEST, {}) if release is None else (release[0], classes_in(release[1]))
    return MARK.sub("", adapt_classes(select_lines(text, version), classes))


def _comment(text: str) -> str:
    return textwrap.fill(text, 116, initial_indent=" * ", subsequent_indent=" * ", break_long_words=False)


def _is_ours(machine: Machine | None) -> bool:
    """Return whether a machine is that of the replication protocol or of a variant with the same state."""
    ours = REPLICATION.machine
    while machine is not None and machine is not ours:
        machine = machine.base if (machine.state, machine.constants) == (ours.state, ours.constants) else None
    return machine is not None


def _ours(trace: Trace) -> list[Step]:
    mine, ours = trace.protocol.machine.actions, REPLICATION.machine.actions
    if len(mine) == len(ours):
        places = {a.name: b for a, b in zip(mine, ours, strict=True) if len(a.params) == len(b.params)}
    else:
        places = {item.name: item for item in ours}
    for step in trace.steps:
        if step.action.name not in places:
            raise UsageError(f"`{step.action.label}` has no counterpart in {PROTOCOL} with as many parameters.")
    return [Step(places[step.action.name], step.args) for step in trace.steps]


def _path(plain: Interpreter, steps: Iterable[Step]) -> list[Transition]:
    at, found = plain.initial_states()[0], []
    known = {item.name: item for item in plain.machine.actions}
    for step in steps:
        try:
            found.append(plain.apply(at, Step(known[step.action.name], step.args)))
        except (DisabledError, DomainError, LookupError):
            break
        at = found[-1].after
    return found


def _decided(trace: Trace, constants: Constants) -> tuple[Interpreter, Decision]:
    """Return the rules of the history, either Kafka's or the trace's, and the check."""
    machine, values = REPLICATION.machine, {name: int(value) for name, value in constants.values.items()}
    plain, theirs = Interpreter(machine, constants, normalize=trace.normalize), trace.interpreter()
    steps = _ours(trace)
    taken = _path(plain, steps)
    if len(taken) == len(trace.steps):
        for finding, (switch, value) in REPAIRS.items():
            repaired = Interpreter(machine, machine.set_constants({**values, switch: value}), normalize=trace.normalize)
            found = _first_apart(plain, taken, _path(repaired, steps))
            if found is not None:
                says = f"The test fails until {finding.upper()} is fixed ({switch}={value} in the model)."
                return plain, Decision(*found, says, finding)
    path = _path(theirs, trace.steps)
    found = _first_apart(theirs, path, taken)
    is_refused = found is None and len(taken) < len(path) and steps[len(taken)].action.name == GRANTS
    if is_refused:
        stays = taken[-1].after if taken else plain.initial_states()[0]
        found = len(taken) + 1, CONTROLLER, plain.schema.restore(stays)
    if found is not None:
        step = trace.steps[found[0] - 1].action
        if int(dict(trace.constants.values)["any_preferred"]) and step.name == "controller_elects_preferred":
            raise UsageError(
                "the history elects a broker other than the preferred leader (any_preferred), which Kafka never does."
            )
        own = {name: int(value) for name, value in trace.constants.values.items()}
        other = {name: own[name] for name in values if own[name] != values[name]}
        alone = {name: value for name, value in other.items() if _decides(plain, {**values, name: value}, steps, taken)}
        fails = [f"{name}={value}" for name, value in (alone or other).items()]
        if trace.protocol.machine is not machine:
            fails.insert(0, f"the rules of {trace.protocol.machine.name}")
        says = f"The test passes on a release, and fails with {', '.join(fails)}: see {step.label}."
        return theirs, Decision(*found, says, is_refused=is_refused)
    if len(taken) < len(trace.steps):
        raise UsageError(
            f"under Kafka's rules, the model rejects {trace.steps[len(taken)].action.label}, and no leader's or "
            "controller's state differs before this step, so this history cannot become a test."
        )
    last = _last_change(plain, taken)
    if last is None:
        raise UsageError(
            "no step of the history changes the visible state of the controller or a leader, so no test is possible."
        )
    return plain, Decision(*last, "The test shows a release's behaviour, which no known fix changes.")


def _decides(kafka: Interpreter, values: dict[str, int], steps: list[Step], taken: list[Transition]) -> bool:
    try:
        constants = kafka.machine.set_constants(values)
    except UsageError:
        return False  # the value cannot be changed alone
    plain = Interpreter(kafka.machine, constants, normalize=kafka.normalize is not None)
    return _first_apart(plain, _path(plain, steps), taken) is not None


def _shown(state: Any, who: int) -> tuple[Any, ...]:
    if who == CONTROLLER:
        image = state.image[state.newest]
        return image.leader, image.leader_epoch, image.isr, image.missing, image.fenced, state.elr
    r = state.replica[who]
    return r.high_watermark, r.isr | r.proposed_isr


def _apart(one: Any, two: Any) -> int | None:
    """Return the leader whose state differs, or CONTROLLER, or None if no test can detect a difference."""
    for broker, (a, b) in enumerate(zip(one.replica, two.replica, strict=True)):
        if (a.isr or b.isr) and _shown(one, broker) != _shown(two, broker):
            return broker
    return CONTROLLER if _shown(one, CONTROLLER) != _shown(two, CONTROLLER) else None


def _first_apart(plain: Interpreter, path: list[Transition], says: list[Transition]) -> tuple[int, int, Any] | None:
    """Return (step, who, expected state) for the first step after which `path` visibly differs from `says`. If `says`
    ends earlier, the rules of `says` reject the next step, and the state stays the same.
    """
    stays = plain.initial_states()[0]
    for length, (one, two) in enumerate(zip_longest(path, says), 1):
        if one is None:
            return None
        stays = two.after if two is not None else stays
        expected = plain.schema.restore(stays)
        who = _apart(plain.schema.restore(one.after), expected)
        if who is not None:
            return length, who, expected
        if two is None:
            return None
    return None


def _last_change(plain: Interpreter, path: list[Transition]) -> tuple[int, int, Any] | None:
    before = [plain.initial_states()[0], *(item.after for item in path)]
    for length in range(len(path), 0, -1):
        one, two = (plain.schema.restore(before[place]) for place in (length - 1, length))
        who = _apart(one, two)
        if who is not None and (who == CONTROLLER or two.replica[who].isr):
            return length, who, two
    return None


class _Calls:
    """Calls to one leader's `Partition`. The model renumbers epochs after steps; the test's epochs only increase."""

    def __init__(self, plain: Interpreter, leader: int) -> None:
        self.plain, self.leader = plain, leader
        self.leader_epoch = self.partition_epoch = 0

    def lines(self, path: list[Transition], found: Decision) -> Iterator[str]:
        """Yield the test's statements: calls for the leader's steps, and comments for all other steps."""
        at = self.plain.initial_states()[0]
        start = self.plain.schema.restore(at)
        for broker, epoch in enumerate(_image(start, self.leader).broker_epoch):
            yield f"brokerEpochs.put({broker}, {BROKER_EPOCH + epoch}L);"
        yield self._applied(_image(start, self.leader))
        for step, raw, after in path[: found.length]:
            yield f"// {_said(self.plain, step)}"
            yield from self._calls(step, self.plain.schema.restore(at), self.plain.schema.restore(raw))
            at = after
        high_watermark, counted = _shown(found.expected, self.leader)
        yield f'assertEquals({high_watermark}L, log.highWatermark(), "high watermark");'
        yield f"assertEquals({_set(_members(counted))}, maximalIsr());"

    def _calls(self, step: Step, before: Any, after: Any) -> Iterator[str]:
        given = dict(zip((name for name, _ in step.action.params), step.args, strict=True))
        name, mine = step.action.name, self.leader
        was, now = before.replica[mine], after.replica[mine]
        if name == "broker_applies_metadata" and given["broker"] == mine:
            yield from self._metadata(_image(before, mine), before.image[given["index"]], was.partition_epoch)
        elif name == "leader_appends" and given["leader"] == mine:
            yield f'append("record-{after.written}");'
        elif name in {"leader_handles_fetch", "leader_reports_divergence"} and given["leader"] == mine:
            yield self._fetch(before, given["follower"])
        elif name == "follower_lags_too_long" and given["leader"] == mine:
            yield "lag();"
        elif name == "leader_requests_shrink" and given["leader"] == mine:
            yield "lag();"
            yield "partition.maybeShrinkIsr();"
        elif name == "leader_learns_change_applied" and was.proposed_isr != now.proposed_isr:
            self.partition_epoch += now.partition_epoch - was.partition_epoch
            yield f"answer({self.leader_epoch}, {self.partition_epoch}, {_list(_members(now.isr))});"
        elif given.get("broker" if name.startswith("broker_") else "leader") == mine or name in BEYOND:
            raise UsageError(f"`{step.action.label}` cannot be expressed in a test of one `Partition`.")

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


class _ControllerCalls:
    """Calls to the controller's managers. Epochs are relative to the current epochs."""

    def __init__(self, plain: Interpreter) -> None:
        self.plain = plain
        values = dict(plain.constants.values)
        self.fixed = (1 << values["brokers"]) - (1 << values["movable"])
        """Replicas that no operator moves."""

    def lines(self, path: list[Transition], found: Decision) -> Iterator[str]:
        at = self.plain.initial_states()[0]
        start = self.plain.schema.restore(at)
        first = start.image[0]
        replicas = [broker for broker in range(len(first.broker_epoch)) if not first.missing >> broker & 1]
        yield f"start({first.leader}, {_list(replicas)}, {_list(_members(first.isr))});"
        for number, (step, _, after) in enumerate(path[: found.length], 1):
            before = self.plain.schema.restore(at)
            yield f"// {_said(self.plain, step)}"
            if number == found.length:
                yield "int leaderEpoch = partition().leaderEpoch;"
                if found.is_refused:
                    yield "int partitionEpoch = partition().partitionEpoch;"
                expected = found.expected.image[found.expected.newest]
                rise = expected.leader_epoch - before.image[before.newest].leader_epoch
            yield from self._calls(step, before)
            at = after
        leader, _, isr, missing, fenced, elr = _shown(found.expected, CONTROLLER)
        yield f'assertEquals({leader}, partition().leader, "leader");'
        yield f'assertEquals(leaderEpoch + {rise}, partition().leaderEpoch, "leader epoch");'
        if found.is_refused:
            yield 'assertEquals(partitionEpoch, partition().partitionEpoch, "partition epoch");'
        yield f'assertEquals({_set(_members(isr))}, set(partition().isr), "ISR");'
        yield f'assertEquals({_set(_members(elr))}, set(partition().elr), "ELR");'
        replicas = [broker for broker in range(len(first.broker_epoch)) if not missing >> broker & 1]
        yield f'assertEquals({_set(replicas)}, set(partition().replicas), "replicas");'
        yield f'assertEquals({_set(_members(fenced))}, fenced(), "fenced");'

    def _calls(self, step: Step, before: Any) -> Iterator[str]:
        name, newest = step.action.name, before.image[before.newest]
        if name.startswith(DIRECTORIES):
            raise UsageError(
                f"`{step.action.label}` needs log directories, but in the controller's test, a broker has only one "
                "directory."
            )
        calls: dict[str, Callable[..., str]] = {
            "controller_fences_broker": lambda broker: f"fence({broker});",
            "controller_unfences_broker": lambda broker: (
                f"heartbeat({broker}, false, {self._applied(before, broker)});"
            ),
            "controller_begins_shutdown": lambda broker: f"beginShutdown({broker}, {self._applied(before, broker)});",
            "broker_stops": lambda broker: f"heartbeat({broker}, true, {self._applied(before, broker)});",
            "broker_registers": lambda broker, _: (
                f"register({broker}, {str(before.replica[broker].life == 1).lower()});"
            ),
            "controller_elects_preferred": lambda _: "elect();",
            "operator_reassigns_replicas": lambda target: f"reassign({_list(_members(target | self.fixed))});",
            "operator_cancels_reassignment": lambda: "reassign(null);",
            "operator_raises_min_isr": lambda: "changeMinIsr(1);",
            "operator_lowers_min_isr": lambda: "changeMinIsr(-1);",
            "operator_turns_elr_off": lambda: "turnElrOff();",
            "controller_applies_alter_partition": lambda m: self._alter(before, m),
            "controller_finds_replica_ineligible": lambda m: self._alter(before, m),
            "controller_refuses_alter_partition": lambda m: self._alter(before, m),
        }
        if name == "broker_stops":
            for broker, r in enumerate(before.replica):
                is_active = not (newest.fenced | newest.stopping) >> broker & 1
                if broker != step.args[0] and is_active and r.life == 0 and not r.early:
                    yield f"heartbeat({broker}, false, {self._applied(before, broker)});"
        if name in calls:
            yield calls[name](*step.args)

    def _applied(self, before: Any, broker: int) -> str:
        return f"applied({before.newest - before.replica[broker].applied})"

    def _alter(self, before: Any, message: Any) -> str:
        now, m = before.image[before.newest], self.plain.schema.message(AlterPartition, message)
        members = [
            f"{broker}, {'-1L' if m.member_epoch[broker] < 0 else self._epoch(now, broker, m.member_epoch[broker])}"
            for broker in _members(m.isr)
        ]
        epochs = [
            f"partition().{name} - {ago}" if ago else f"partition().{name}"
            for name, ago in (
                ("leaderEpoch", now.leader_epoch - m.leader_epoch),
                ("partitionEpoch", now.partition_epoch - m.partition_epoch),
            )
        ]
        sender = self._epoch(now, m.leader, m.broker_epoch)
        return f"alterPartition({m.leader}, {sender}, {', '.join(epochs)}, Map.of({', '.join(members)}));"

    def _epoch(self, now: Any, broker: int, epoch: int) -> str:
        return f"epoch({broker}, {now.broker_epoch[broker] - epoch})"


def _said(plain: Interpreter, step: Step) -> str:
    named = zip(step.action.params, step.args, strict=True)
    shown = (f" {name}={plain.show_argument(kind, value)}" for (name, kind), value in named if isinstance(value, int))
    return f"{step.action.label}{''.join(shown)}"


def _image(state: Any, broker: int) -> Any:
    return state.image[state.replica[broker].applied]


def _members(bits: int) -> list[int]:
    return [broker for broker in range(bits.bit_length()) if bits >> broker & 1]


def _list(numbers: Iterable[int]) -> str:
    return f"List.of({', '.join(map(str, numbers))})"


def _set(numbers: Iterable[int]) -> str:
    return f"Set.of({', '.join(map(str, numbers))})"
