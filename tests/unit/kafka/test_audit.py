"""The audit without Kafka and Spark: records are judged by the model's rules, and unknowns are reported."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.calls.audit import VERDICTS, audit
from fencepost.cli.builds.sarif import audit_sarif
from fencepost.cli.views.audit import print_audit
from fencepost.cli.views.console import results
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.kafka.audit import judging
from fencepost.kafka.audit.cluster_context import ClusterContext, LogRecord, gather_context
from fencepost.kafka.audit.controller_history import ControllerHistory, controller_history
from fencepost.kafka.audit.findings import SEVERITIES, SORTS
from fencepost.kafka.audit.following import Row, follow
from fencepost.kafka.audit.logs import Coverage, File, Note
from fencepost.kafka.audit.reading import Reading, earlier, lines, read, take_notes
from fencepost.kafka.audit.reconstruction import reconstruct
from fencepost.kafka.formatting import when
from fencepost.model.language.errors import UsageError

from tests.helpers.audits import findings, followed, table
from tests.helpers.commands import fencepost
from tests.helpers.places import ROOT

THREE = judging.Core((1, 2, 3), (1, 2, 3), (), (), 1, 0, (), ())
ELR = judging.Rules(2, elr=True)
OLD = judging.Rules(2, elr=False)
STAYS = judging.PartitionChange(None, None, None, None, judging.SAME_LEADER, None, None, None)


# -- changes, by the model's rules


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        (STAYS._replace(isr=(1, 2)), ()),
        (STAYS._replace(isr=(1,), elr=(2, 3)), ()),
        (STAYS._replace(isr=(1,)), ("elr-not-by-rule",)),
        (STAYS._replace(isr=(1, 2), elr=(3,)), ("isr-not-sane", "elr-not-by-rule")),
        (STAYS._replace(isr=(2, 3), leader=2), ()),
        (STAYS._replace(isr=(2, 3)), ("isr-not-sane",)),
        (STAYS._replace(isr=(1, 2, 9)), ("isr-not-sane",)),
        (STAYS._replace(leader=1), ("epoch-without-reason",)),
        (STAYS._replace(replicas=(1, 2), isr=(1, 2), leader=1), ()),
        (STAYS._replace(replicas=(1, 2), isr=(1, 2)), ("epoch-not-opened",)),
        (STAYS._replace(isr=(9,), leader=9), ("isr-not-sane", "not-electable")),
        (STAYS._replace(isr=(), leader=-1, elr=(1, 2, 3), last_known=(1,)), ()),
    ],
)
def test_a_change_is_the_models_controllers_or_named(change: judging.PartitionChange, broken: tuple[str, ...]) -> None:
    found = judging.judge_change(THREE, change, ELR).broken
    assert tuple(sort for sort in found if sort != "elr-not-by-rule" or sort in broken) == broken


def test_before_3_6_an_isr_that_shrinks_opens_a_leader_epoch() -> None:
    shrink = STAYS._replace(isr=(1, 2), leader=1)
    assert judging.judge_change(THREE, shrink, OLD).broken == ("epoch-without-reason",)
    assert judging.judge_change(THREE, shrink, judging.Rules(2, elr=False, opens_on_shrink=True)).broken == ()


def test_an_unclean_restart_leaves_the_elr() -> None:
    alone = judging.judge_change(THREE, STAYS._replace(isr=(1,), elr=(2, 3)), ELR).core
    gone = STAYS._replace(elr=(3,))
    assert judging.judge_change(alone, gone, ELR).broken == ("elr-not-by-rule",)
    assert judging.judge_change(alone, gone, ELR, (2,)).broken == ()


@pytest.mark.parametrize(
    ("before", "change", "election"),
    [
        (THREE, STAYS._replace(isr=(2, 3), leader=2), "isr"),
        (THREE._replace(isr=(), elr=(2,), leader=-1), STAYS._replace(isr=(2,), elr=(), leader=2), "elr"),
        (THREE._replace(isr=(), leader=-1, last_known=(3,)), STAYS._replace(isr=(3,), leader=3, recovering=1),
            "last-known"),
        (THREE._replace(isr=(), elr=(1,), leader=-1), STAYS._replace(isr=(3,), elr=(), leader=3, recovering=1),
            "unclean"),
        (THREE._replace(isr=(1,)), STAYS._replace(leader=3), "none-of-them"),
    ],
)  # fmt: skip
def test_an_election_is_told_by_where_the_leader_came_from(
    before: judging.Core, change: judging.PartitionChange, election: str
) -> None:
    assert judging.judge_change(before, change, ELR).election == election


def test_brokers_are_judged_by_the_models_predicates() -> None:
    assert judging.standing(THREE._replace(isr=(1,), elr=(9,)), ELR) == ("elr-without-replica",)
    assert not judging.with_inactive(THREE, ELR, (2,))
    assert judging.with_inactive(THREE._replace(isr=(2,), leader=-1), OLD, (2,))
    assert not judging.with_stale(THREE, ELR, 2)
    assert judging.with_stale(THREE._replace(isr=(2,)), OLD, 2)
    assert judging.electable(THREE._replace(leader=-1), ELR, (2, 3)) == 2
    assert judging.electable(THREE._replace(leader=-1, isr=(), elr=(3,)), ELR, (2,)) == -1


# -- histories


class Log:
    """Records of a log, written one after the other, two seconds apart."""

    def __init__(self, *, elr: bool = True, replicas: tuple[int, ...] = (1, 2, 3)) -> None:
        self.events: list[LogRecord] = []
        self.changes: list[tuple[Any, ...]] = []
        self._offset = itertools.count()
        self.time = 0
        self.event("FEATURE_LEVEL_RECORD", name="eligible.leader.replicas.version", featureLevel=int(elr))
        for broker in replicas:
            self.register(broker)
        self.event("TOPIC_RECORD", name="t", topicId="T")
        self.set("min.insync.replicas", "2")
        fields = {"replicas": replicas, "isr": replicas, "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
        self.change(creates=True, **fields)

    def event(self, kind: str, **fields: Any) -> None:
        self.time += 2000
        self.events.append(LogRecord(next(self._offset), False, self.time, kind, json.dumps(fields)))

    def register(self, broker: int) -> None:
        self.event("REGISTER_BROKER_RECORD", brokerId=broker, brokerEpoch=len(self.events), fenced=True)
        self.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=broker, brokerEpoch=1, fenced=-1)

    def fence(self, broker: int) -> None:
        self.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=broker, brokerEpoch=1, fenced=1)

    def set(self, name: str, value: str) -> None:
        self.event("CONFIG_RECORD", resourceType=2, resourceName="t", name=name, value=value)
        self.event("CLEAR_ELR_RECORD", topicName="t")

    def change(self, *, creates: bool = False, snapshot: bool = False, **fields: Any) -> int:
        self.time += 2000
        offset = next(self._offset)
        fields = {"partitionId": 0, "topicId": "T", **fields}
        self.changes.append(("T", 0, offset, self.time, 1, creates, snapshot, json.dumps(fields)))
        return offset

    def followed(self, *missing: tuple[int, int]) -> tuple[ClusterContext, list[Row]]:
        self.event("NO_OP_RECORD")
        end = self.events[-1]
        around = gather_context(self.events, gaps=list(missing), end=end.offset, until=end.time, min_isr=1)
        return around, list(follow(around, 60_000, iter(self.changes)))

    def rows(self, *missing: tuple[int, int]) -> list[Row]:
        return self.followed(*missing)[1]

    def found(self, *missing: tuple[int, int]) -> set[str]:
        return {item.sort for item in findings(self.rows(*missing))}


def test_hyp_10_is_seen_before_and_after_the_election() -> None:
    log = Log(replicas=(1, 2))
    log.change(replicas=[1, 3, 2], addingReplicas=[3])
    log.change(isr=[1], eligibleLeaderReplicas=[2])
    log.change(isr=[1, 3], eligibleLeaderReplicas=[])
    removed = log.change(replicas=[1, 2], addingReplicas=[], isr=[1], eligibleLeaderReplicas=[3], leader=1)
    log.change(replicas=[1, 3, 2], addingReplicas=[3])
    elected = log.change(isr=[3], leader=3, eligibleLeaderReplicas=[1])
    bad = {item.sort: item.offset for item in findings(log.rows()) if item.severity in ("critical", "high")}
    assert bad == {"elr-without-replica": removed, "removed-replica-elected": elected}


def test_a_broker_is_not_accused_of_what_it_was_before_a_gap() -> None:
    log = Log()
    log.fence(3)
    first = len(log.events) + 1
    log._offset = itertools.count(first + 10)
    fields = {"replicas": (1, 2, 3), "isr": (1, 2, 3), "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
    log.change(creates=True, snapshot=True, **fields)
    log.time += 100_000
    assert "inactive-member" in log.found()
    assert "inactive-member" not in log.found((first, first + 9))
    assert "inactive-member" not in log.found((0, first + 9))


def test_hyp_11_needs_a_min_isr_that_was_just_raised() -> None:
    for pause, wanted in ((0, {"late-min-isr", "late-min-isr-elected"}), (100_000, set())):
        log = Log()
        log.set("min.insync.replicas", "3")
        log.time += pause
        log.change(isr=[1, 2], eligibleLeaderReplicas=[3])
        log.change(isr=[1], eligibleLeaderReplicas=[3, 2])
        log.change(isr=[3], leader=3, eligibleLeaderReplicas=[2, 1])
        assert {sort for sort in log.found() if sort.startswith("late")} == wanted


def test_hyp_12_is_a_change_of_min_isr_while_nobody_leads() -> None:
    log = Log(replicas=(1, 2))
    log.change(isr=[1], eligibleLeaderReplicas=[2])
    log.change(isr=[], leader=-1, eligibleLeaderReplicas=[2, 1], lastKnownElr=[1])
    log.fence(1)
    log.fence(2)
    log.set("min.insync.replicas", "1")
    assert "cleared-while-leaderless" in log.found()
    assert log.rows()[-1].elr == ()


def test_hyp_13_is_a_topic_that_is_deleted_after_its_elr_was_cleared() -> None:
    for joins_again in (False, True):
        log = Log()
        log.change(isr=[1, 2])
        log.change(isr=[1], eligibleLeaderReplicas=[2])
        log.set("min.insync.replicas", "1")
        if joins_again:
            log.set("min.insync.replicas", "2")
            log.change(isr=[1, 2])
            log.change(isr=[1], eligibleLeaderReplicas=[2])
            log.change(isr=[1, 2], eligibleLeaderReplicas=[])
        log.event("REMOVE_TOPIC_RECORD", topicId="T")
        said = [item.brokers for item in findings(log.rows()) if item.sort == "cleared-then-deleted"]
        assert said == ([] if joins_again else [(2,)])


def test_hyp_14_is_an_elr_that_stays_when_it_is_turned_off() -> None:
    for registers in (False, True):
        log = Log(replicas=(1, 2))
        log.change(isr=[1], eligibleLeaderReplicas=[2])
        log.fence(2)
        log.change(isr=[], leader=-1, eligibleLeaderReplicas=[2, 1], lastKnownElr=[1])
        log.time -= 2000  # in the batch of that change, as below
        log.fence(1)
        log.event("FEATURE_LEVEL_RECORD", name="eligible.leader.replicas.version", featureLevel=0)
        if registers:
            log.register(2)
        else:
            log.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=2, brokerEpoch=1, fenced=-1)
        log.time -= 2000
        log.change(isr=[2], leader=2, eligibleLeaderReplicas=[], lastKnownElr=[])
        bad = {item.sort for item in findings(log.rows()) if item.severity in ("critical", "high")}
        assert bad == {"last-replica-down", "elr-left-behind", *(["stale-elr-elected"] if registers else [])}


def test_hyp_17_is_a_last_known_leader_after_an_assignment_has_emptied_the_elr() -> None:
    for assigns in (False, True):
        log = Log(replicas=(1, 2))
        log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1])
        log.change(isr=[], leader=-1, eligibleLeaderReplicas=[2, 1], lastKnownElr=[2])
        log.change(eligibleLeaderReplicas=[1])
        emptied = log.change(eligibleLeaderReplicas=[], **({"directories": ["A", "B"]} if assigns else {}))
        elected = log.change(isr=[2], leader=2, leaderRecoveryState=1, lastKnownElr=[])
        bad = {item.sort: item.offset for item in findings(log.rows())}
        assert ("elr-emptied" in bad) is assigns
        assert bad["emptied-elr-elected" if assigns else "last-known-leader-elected"] == elected
        assert bad.get("elr-emptied", emptied) == emptied
        assert "elr-not-by-rule" in bad


def test_leadership_that_comes_back_without_a_restart_is_hyp_1() -> None:
    for restarts in (False, True):
        log = Log()
        log.change(leader=2)
        if restarts:
            log.change(isr=[2, 3])
            log.register(1)
            log.change(isr=[1, 2, 3])
        log.change(leader=1)
        assert ("regained-leadership" in log.found()) is not restarts


def test_who_is_fenced_or_registers_again_must_leave_the_isr() -> None:
    fenced, registered, left = Log(), Log(), Log()
    fenced.fence(2)
    assert fenced.found() == {"inactive-member"}
    registered.register(2)
    assert registered.found() == {"stale-member", "inactive-member"}
    left.change(isr=[1, 3])
    left.fence(2)
    left.register(2)
    left.change(isr=[1, 3, 2])
    assert left.found() == set()


def test_an_assignment_that_leaves_the_elr_as_it_is_is_nothing_and_a_partition_that_could_be_led_must_be() -> None:
    log = Log(replicas=(1, 2))
    log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1])
    log.change(directories=["A", "B"])
    assert not {"elr-emptied", "elr-not-by-rule"} & log.found()
    log = Log()
    log.change(leader=-1)
    assert "nobody-elected" in log.found()


def test_a_deleted_topic_takes_its_settings_along_and_may_come_back() -> None:
    log = Log()
    log.event("REMOVE_TOPIC_RECORD", topicId="T")
    log.change(isr=[1])
    assert log.found() == {"unknown-partition"}
    again = Log()
    again.event("REMOVE_TOPIC_RECORD", topicId="T")
    again.event("TOPIC_RECORD", name="t", topicId="U")
    fields = {"replicas": [1, 2], "isr": [1], "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0, "partitionId": 0}
    again.changes.append(("U", 0, 99, again.time, 1, True, False, json.dumps({**fields, "topicId": "U"})))
    row = next(row for row in again.rows() if row.topic_id == "U")
    assert (row.topic, row.min_isr) == ("t", 1)


def test_a_snapshot_must_agree_with_the_records_and_fills_gaps() -> None:
    fields = {"replicas": [1, 2, 3], "isr": [1, 2], "leader": 1, "leaderEpoch": 0}
    log = Log()
    log.change(isr=[1, 2])
    log.change(creates=True, snapshot=True, **fields, partitionEpoch=1)
    assert log.found() == set()
    log.change(creates=True, snapshot=True, **fields, partitionEpoch=7)
    assert log.found() == {"snapshot-differs"}
    other = Log()
    last = other.change(isr=[1, 2])
    before = (*other.changes.pop()[:2], last + 10, *other.changes[-1][3:5])
    other.changes.append((*before, True, True, json.dumps({**fields, "partitionEpoch": 9})))
    assert other.found((last, last + 5)) == set()


def test_a_partition_without_a_beginning_is_not_judged() -> None:
    log = Log()
    log.changes = log.changes[1:]
    offset = log.change(isr=[1])
    assert [row.election for row in log.rows((0, offset - 1))] == ["unjudged"]
    assert log.found((0, offset - 1)) == set()


def test_a_partition_is_not_judged_by_settings_that_a_gap_may_hide() -> None:
    log = Log()
    log.change(isr=[1], eligibleLeaderReplicas=[2, 3])
    at = next(item.offset for item in log.events if item.type == "CONFIG_RECORD")
    log.events = [item for item in log.events if item.offset != at]
    assert "isr-not-sane" in log.found(), "min ISR is taken for 1"
    assert {row.election for row in log.rows((at, at))} == {"unjudged"}
    log.events.insert(0, log.events[0]._replace(offset=at + 1, snapshot=True))
    assert "isr-not-sane" in log.found((at, at)), "a snapshot repeats the settings"
    assert [Log(elr=False).followed(*gap)[0].release["elr"] for gap in ((), ((3, 3),))] == [False, None]


def test_an_aborted_transaction_changes_nothing() -> None:
    log = Log()
    log.event("BEGIN_TRANSACTION_RECORD", name="x")
    log.fence(2)
    log.event("ABORT_TRANSACTION_RECORD", reason="x")
    assert log.found() == set()


# -- the way through the model


def led(log: Log, until: int | None = None) -> ControllerHistory:
    around, rows = log.followed()
    return controller_history([row._asdict() for row in rows], around, until)


def test_a_history_that_the_rules_forbid_is_found_up_to_there_and_no_further() -> None:
    log = Log()
    shrunk = log.change(isr=[1, 3])
    log.change(isr=[1, 3], eligibleLeaderReplicas=[2])
    found = reconstruct(led(log), most=60)
    assert not found.whole
    assert (found.data("x")["last"], found.data("x")["next"]) == (shrunk, shrunk + 1)
    assert [step.action.name for step in found.replay.path.steps][-2:] == [
        "leader_requests_shrink", "controller_applies_alter_partition",
    ]  # fmt: skip
    assert found.replay.trace.recorded == f"t-0, offsets 10 to {shrunk}"
    assert reconstruct(led(log, shrunk)).whole
    last = found.data("x")["steps"][-1]
    assert (last["step"], last["offset"]) == (found.replay.path.length - 1, shrunk)


def test_a_restart_leaves_room_for_what_was_before_only_if_the_model_has_it() -> None:
    log = Log(replicas=(1, 2))
    for _ in range(7):
        for leader, isr in ((2, [2]), (2, [1, 2]), (1, [1, 2])):
            log.change(leader=leader, isr=isr)
    history = led(log)
    assert "leader epochs, but the model supports at most 12" in history.left_out
    assert history.points[-1].state.leader_epoch <= 12
    assert history.points[0].offset > log.changes[0][2]


def test_what_the_model_lacks_is_named() -> None:
    with pytest.raises(UsageError, match="6 brokers have replicas, but the model supports at most 5"):
        led(Log(replicas=(1, 2, 3, 4, 5, 6)))
    late = Log(elr=False)
    late.event("FEATURE_LEVEL_RECORD", name="eligible.leader.replicas.version", featureLevel=1)
    late.change(isr=[1])
    assert "eligible leader replicas were turned on later" in led(late).left_out


def test_a_single_replica_is_followed_too() -> None:
    log = Log(replicas=(1,))
    log.change(isr=[], leader=-1, eligibleLeaderReplicas=[1], lastKnownElr=[1])
    log.time -= 2000
    log.fence(1)
    log.event("REGISTER_BROKER_RECORD", brokerId=1, brokerEpoch=99, fenced=True)
    log.time -= 2000
    log.change(eligibleLeaderReplicas=[])
    log.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=1, brokerEpoch=99, fenced=-1)
    log.time -= 2000
    log.change(isr=[1], leader=1, lastKnownElr=[], leaderRecoveryState=1)
    found = reconstruct(led(log))
    assert found.whole
    assert found.data("x")["brokers"] == [1]


def test_min_isr_goes_up_one_by_one_in_the_model() -> None:
    log = Log()
    log.change(isr=[1], eligibleLeaderReplicas=[2, 3])
    log.set("min.insync.replicas", "1")
    log.set("min.insync.replicas", "3")
    history = led(log)
    assert [point.state.min_isr for point in history.points[-4:]] == [2, 1, 2, 3]
    assert reconstruct(history).whole


# -- files


def segment(number: int, *runs: list[int]) -> File:
    return File(number, f"{number}.log", "segment", runs=list(runs))


def test_every_offset_is_taken_once_and_gaps_are_named() -> None:
    files = [segment(0, [0, 9], [20, 29]), segment(1, [5, 15])]
    covered = Coverage.of(files)
    assert covered.chosen == [(0, 0, 9), (1, 10, 15), (0, 20, 29)]
    assert covered.overlaps == [(5, 9)]
    assert covered.gaps == [(16, 19)]


def test_what_the_decoder_notes_is_kept_over_runs() -> None:
    item = segment(0)
    told = {"position": 10, "size": 12, "grown": 30, "records": 5, "last": 4, "failed": ""}
    take_notes({0: item}, [{"file": 0, "note": "run", "offset": 0, "after": -1}, {"file": 0, "note": "read", **told}])
    assert (item.position, item.runs) == (10, [[0, 4]])
    assert [(note.what, note.unread) for note in item.notes] == [("grew", False)]
    again = {**told, "position": 30, "size": 30, "last": 9}
    take_notes({0: item}, [{"file": 0, "note": "run", "offset": 5, "after": -1}, {"file": 0, "note": "read", **again}])
    assert (item.position, item.runs, item.notes) == (30, [[0, 9]], [])


DUMPED = """\
Dumping 00000000000000000000.log
Log starting offset: 0
baseOffset: 0 lastOffset: 0 count: 1 baseSequence: -1 partitionLeaderEpoch: 1 isControl: true isvalid: true
| offset: 0 CreateTime: 5 keySize: 4 valueSize: 19 sequence: -1 headerKeys: [] LeaderChange: {}
baseOffset: 1 lastOffset: 2 count: 2 baseSequence: -1 partitionLeaderEpoch: 1 isControl: false isvalid: false
| offset: 1 CreateTime: 7 keySize: -1 valueSize: 3 sequence: -1 payload: {"type":"NO_OP_RECORD","version":0,"data":{}}
| offset: 2 CreateTime: 7 keySize: -1 valueSize: 3 sequence: -1 headerKeys: [] payload: garbage
what is this
"""


def test_what_kafkas_own_tool_prints_is_read_too(tmp_path: Path) -> None:
    path, runs, notes = tmp_path / "dump.txt", list[list[int]](), list[Note]()
    path.write_text(DUMPED)
    assert list(lines(path, 3, runs, notes)) == [b"3\t1\t2\t1\t7\tNO_OP_RECORD\t0\t\t-1\t{}\n"]
    assert runs == [[0, 1]]
    assert [note.what for note in notes] == ["damaged", "refused", "strange"]
    assert list(lines(path, 3, [], [], after=1)) == [], "read before"
    path.write_text(2 * DUMPED)
    runs, notes = list[list[int]](), list[Note]()
    assert len(list(lines(path, 3, runs, notes))) == 1
    assert (runs, notes[-1].what, notes[-1].count) == ([[0, 1]], "repeated", 1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere does not exist. Name the __cluster_metadata-0 directory"),
        ([".", "--resume"], "`--resume` needs an audit to continue"),
        ([".", "--partition", "t-0"], "`--partition`, `--trace` and `--until` belong together"),
        ([".", "--until", "3"], "`--partition`, `--trace` and `--until` belong together"),
        ([".", "--output", "."], "is not empty: write `--resume`"),
        ([".", "--severity", "awful"], "'awful' is not one of"),
    ],
)
def test_bad_input_ends_with_one_message(words: list[str], says: str) -> None:
    pytest.importorskip("pyarrow")
    found = fencepost("audit", *words)
    assert (found.exit_code, found.stdout, says in found.stderr) == (2, "", True)
    with pytest.raises(UsageError, match="no log was named"):
        audit()


def test_what_kafkas_own_tool_prints_is_audited_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    log = Log(elr=False, replicas=(1, 2))
    log.change(isr=[1])
    log.change(isr=[2], leader=2, leaderRecoveryState=1)
    known = [(item.offset, item.time, item.type, item.fields) for item in log.events]
    for *_, offset, time, _epoch, creates, _snapshot, fields in log.changes:
        known.append((offset, time, "PARTITION_RECORD" if creates else "PARTITION_CHANGE_RECORD", fields))
    payload = '{{"type":"{}","version":0,"data":{}}}'
    text = [record(offset, payload.format(kind, fields), time) for offset, time, kind, fields in sorted(known)]
    (tmp_path / "dump.txt").write_text("".join([BATCH, *text]))
    with pytest.raises(UsageError, match="t-0 begins only at offset"):
        audit(tmp_path / "dump.txt", partition="t-0", trace=tmp_path / "t.trace", until=0)
    found = audit(tmp_path / "dump.txt")
    assert [item["sort"] for item in found.findings][:2] == ["unclean-election", "last-replica"]
    assert found.data["release"] == {"version": "kafka-4.4", "supported": None, "metadata_version": None, "elr": False}
    possible = {item["sort"]: not item["why_not"] for item in found.data["looked_for"]}
    assert (possible["removed-replica-elected"], possible["min-isr-above-isr"], len(possible)) == (False, True, 35)
    (tmp_path / "dump.txt").write_text("".join([BATCH, text[-1]]))
    cut = fencepost("audit", str(tmp_path / "dump.txt"))
    assert (cut.exit_code, cut.stdout.partition("\n")[0]) == (3, f"N{VERDICTS['undetermined'][1:]}.")
    (tmp_path / "00000000000000000000.log").write_bytes(b"\0" * 100)
    with pytest.raises(UsageError, match=r"Output of kafka-dump-log.sh can be read without Java"):
        audit(tmp_path / "00000000000000000000.log")


# -- what is said


def test_every_sort_has_a_page_and_a_guarantee() -> None:
    assert {sort.severity for sort in SORTS.values()} == set(SEVERITIES)
    assert "replication" in PROTOCOLS
    opened = SORTS["epoch-not-opened"]  # by metadata.version, for any controllers
    assert opened.rule_of("kafka-4.4", "kafka-3.5") != opened.rule == opened.rule_of("kafka-4.4", "kafka-3.7")
    assert SORTS["elr-emptied"].rule_of("kafka-4.2", "kafka-4.2").endswith("wrongly empties the ELR.")
    for sort in SORTS.values():
        assert (ROOT / sort.page.partition("#")[0]).is_file()
        assert sort.look.endswith(".")


FOUND = {
    "sort": "unclean-election", "kind": "exposure", "severity": "critical", "about": "G-S1", "topic": "t",
    "partition": 0, "offset": 9, "time": 1000, "end": 9, "lasted": -1, "brokers": [2], "text": "broker 2 was elected",
}  # fmt: skip
STEP = {
    "offset": 8, "time": 0, "leader": 1, "leader_epoch": 0, "replicas": [1, 2], "isr": [1], "elr": [], "adding": [],
    "removing": [], "min_isr": 1, "election": "created", "why": "",
}  # fmt: skip
DATA: Any = {
    "verdict": "exposed", "first": 0, "last": 9, "records": 10, "topics": 1, "partitions": 1, "changes": 2,
    "elections": 1, "seconds": 1.0, "findings": [FOUND], "unjudged": 3, "gaps": [[4, 5]], "by_topic": [],
    "sorts": [{**FOUND, "count": 4, "partitions": 1, "first": 1000, "last": 1000, "longest": -1, "page": "docs/x.md",
        "rule": "Leaders come from the ISR.", "sentence": "A leader was elected uncleanly.",
        "look": "Compare the logs."}],
    "histories": [{"topic": "t", "partition": 0, "earlier": 0, "left_out": 0, "gaps": [],
        "steps": [STEP, {**STEP, "offset": 9, "leader": 2, "isr": [2], "election": "unclean"}],
        "end": {"offset": 9, "time": 2000}, "advice": ["Keep it down."]}],
    "by_broker": [], "replicas": [],
    "release": {"version": "kafka-4.1", "supported": 27, "metadata_version": 27, "elr": False},
    "looked_for": [
        {**FOUND, "rule": "Leaders come from the ISR.", "count": 1, "why_not": ""},
        {**FOUND, "sort": "created-twice", "rule": "A partition is created only once.", "count": 0, "why_not": ""},
        {**FOUND, "sort": "elr-emptied", "rule": "The ELR stays.", "count": 0, "why_not": "ELR was never on"},
    ],
    "warnings": ["incomplete: offsets 4 to 5 are damaged or missing"], "severity": "low", "milder": 0, "began": 0,
    "inputs": [{"path": "/var/00.log", "kind": "segment", "records": 10, "first": 0, "last": 9}], "until": 2000,
    "notes": [{"what": "damaged", "text": "a batch is damaged", "count": 1, "unread": True}],
    "disagreements": {"count": 2, "offset": 7}, "unjudged_partitions": 2,
    "trace": {
        "file": "t.trace", "partition": "t-0", "version": "kafka-4.4", "brokers": [1, 2], "first": 3, "left_out": "",
        "last": 8, "next": 9, "recorded": 4, "steps": [{"step": 6, "offset": 8, "time": 0}], "states": 20,
        "broken": [{"property": "leader-has-acknowledged", "sentence": "The leader has it.", "step": 7}],
        "searched": 30,
    },
}  # fmt: skip


def test_the_report_says_what_happened_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    print_audit(results(), DATA)
    text = " ".join(capsys.readouterr().out.split())
    for part in (
        "A leader was elected uncleanly.", "What to do: Compare the logs.", "1970-01-01 00:00:01", "... and 3 more",
        "2 elected uncleanly", "a batch is damaged", "no file contains offsets 4 to 5", "files differ at 2 offsets",
        "3 changes to partitions whose previous state is missing from the files",
        "No path leads to offset 9", "The rules of kafka-4.4 allow", "ELR: eligible leader replicas",
        "rules of kafka-4.1, controllers support metadata.version 27, it is at 27; ELR was never on",
        "found 1 unclean-election: Leaders come from the ISR.",
        "not found created-twice: A partition is created only once.",
        "ELR was never on elr-emptied: The ELR stays.", "Rule of kafka-4.1: Leaders come from the ISR.",
        "violated from step 7 on: The leader has it. (leader-has-acknowledged)",
    ):  # fmt: skip
        assert part in text


def test_dashboards_get_a_rule_for_each_sort_and_a_result_for_each_finding() -> None:
    run = json.loads(audit_sarif(DATA))["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["unclean-election"]
    [result] = run["results"]
    assert (result["level"], result["message"]["text"]) == ("error", "t-0, offset 9: broker 2 was elected.")
    assert run["invocations"][0]["executionSuccessful"] is False


def test_the_page_has_a_timeline_and_says_the_same_as_the_report() -> None:
    pytest.importorskip("plotly")
    from fencepost.cli.views.audit import page

    data = {**DATA, "omitted": 0, "findings": [{**FOUND, "text": "</script><b>"}]}
    text = page(data)
    assert "</script><b>" not in text
    for part in ("A leader was elected uncleanly.", "Compare the logs.", "2 elected uncleanly", "rangeslider"):
        assert part in text
    assert page({**data, "findings": [], "sorts": [], "histories": []}).count("<script") == 0


# -- what nobody's controller has written


BATCH = "baseOffset: 0 lastOffset: 9 count: 10 partitionLeaderEpoch: 1 isControl: false isvalid: true\n"


def audited(text: str, folder: Path) -> Reading:
    (folder / "dump.txt").write_text(text, encoding="utf-8", errors="surrogatepass")
    found = read([folder / "dump.txt"], folder / "read", None, None, resume=False)
    if rows := table(found):
        assert all(when(row.time) for row in followed(found, rows))
    return found


def record(offset: object, payload: str, time: object = 1) -> str:
    return f"| offset: {offset} CreateTime: {time} keySize: -1 payload: {payload}\n"


@pytest.mark.parametrize(
    "payload",
    [
        "[" * 100_000, '{"type":"A","version":0,"data":' + '{"a":' * 5000 + "1" + "}" * 5001,
        '{"type":"A","version":1e400,"data":{}}', '{"type":"A","version":99999,"data":{}}',
        '{"type":"A\\tB\\nC","version":0,"data":{}}', '{"type":"A","version":0,"data":{"partitionId":"x"}}',
        '{"type":"A","version":0,"data":{"topicId":"a\\tb"}}',
        '{"type":"A","version":0,"data":{"x":' + "9" * 5000 + "}}",
    ],
)  # fmt: skip
def test_what_is_no_record_is_told(payload: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    found = audited(BATCH + record(0, payload), tmp_path)
    assert [note.what for note in found.every_note] == ["refused"]


def test_nothing_but_an_audit_is_removed_from_the_folder_of_one(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "dump.txt").write_text(BATCH + record(0, '{"type":"A","version":0,"data":{}}'))
    mine = tmp_path / "mine/records/diary.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("dear")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/records").symlink_to(mine.parent)
    (tmp_path / "beside/records").mkdir(parents=True)
    (tmp_path / "beside/histories").mkdir()
    for name in ("mine", "linked", "beside"):
        with pytest.raises(UsageError, match="choose another"):
            read([tmp_path / "dump.txt"], tmp_path / name, None, None, resume=True)
    assert mine.read_text() == "dear"
    (tmp_path / "begun/records").mkdir(parents=True)
    (tmp_path / "begun/records/part-00000.parquet").touch()
    taken = read([tmp_path / "dump.txt"], tmp_path / "begun", None, None, resume=True)
    assert taken.added == 1
    (tmp_path / "other.txt").write_text(BATCH + record(0, '{"type":"B","version":0,"data":{}}'))
    refused = read([tmp_path / "other.txt"], tmp_path / "begun", None, None, resume=True)
    refused.undo()
    assert (len(refused.files), earlier(tmp_path / "begun").files) == (2, taken.files)
