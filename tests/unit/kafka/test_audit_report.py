"""The audit's report for an operator who has never seen Fencepost."""

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.cli.views import audit
from fencepost.cli.views.audit import describe_coverage, headline, lines_of, print_audit, print_screen
from fencepost.cli.views.console import results
from fencepost.kafka.audit.findings import SORTS
from fencepost.kafka.audit.logs import files_in
from fencepost.kafka.audit.report import partition_story, warnings_of
from fencepost.model.language.errors import UsageError

from tests.helpers.audits import findings
from tests.unit.kafka.test_audit import DATA, FOUND, STEP, Log


def said(log: Log, sort: str) -> list[tuple[int, int, tuple[int, ...], str]]:
    return [(item.offset, item.end, item.brokers, item.text) for item in findings(log.rows()) if item.sort == sort]


def test_the_last_replica_is_another_one_when_the_isr_has_another_member() -> None:
    log = Log(replicas=(1, 2))
    one = log.change(isr=[1], eligibleLeaderReplicas=[2])
    other = log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1])
    both = log.change(isr=[1, 2], eligibleLeaderReplicas=[])
    assert [item[:3] for item in said(log, "last-replica")] == [(one, other, (1,)), (other, both, (2,))]


def test_a_partition_that_nobody_leads_is_offline_and_has_no_last_replica() -> None:
    log = Log(replicas=(1, 2))
    alone = log.change(isr=[1], eligibleLeaderReplicas=[2])
    gone = log.change(isr=[], leader=-1, eligibleLeaderReplicas=[2, 1], lastKnownElr=[1])
    back = log.change(isr=[2], leader=2, eligibleLeaderReplicas=[1], lastKnownElr=[])
    both = log.change(isr=[1, 2], eligibleLeaderReplicas=[])
    assert said(log, "offline") == [(gone, back, (), "no leader for 2.0 s")]
    assert [item[:3] for item in said(log, "last-replica")] == [(alone, gone, (1,)), (back, both, (2,))]
    assert [item[:2] for item in said(log, "under-min-isr")] == [(alone, gone), (back, both)]
    assert SORTS["offline"].severity == "medium"


def why(log: Log) -> str:
    return [row.why for row in log.rows() if row.election != "end"][-1]


def test_why_a_broker_left_the_isr_is_told_as_far_as_the_log_has_it() -> None:
    fenced, stopped, _, moved, restarted = logs = [Log() for _ in range(5)]
    stopped.event("BROKER_REGISTRATION_CHANGE_RECORD", brokerId=3, brokerEpoch=1, inControlledShutdown=1)
    for log in logs:
        log.change(isr=[1, 2], **({"replicas": [1, 2], "leader": 1} if log is moved else {}))
    for log in (fenced, restarted):
        log.time -= 2000  # in the batch of that change
    fenced.fence(3)
    restarted.event("REGISTER_BROKER_RECORD", brokerId=3, brokerEpoch=99, fenced=True)
    assert [why(log) for log in logs] == [
        "3: the broker was fenced because its heartbeats had stopped", "3: it was shutting down",
        "3: the broker was active, but lagged according to the leader", "3: it is no longer a replica",
        "3: it had restarted",
    ]  # fmt: skip


def test_an_unclean_election_says_what_allowed_it_and_what_prevents_it() -> None:
    for allowed in (True, False):
        log = Log(replicas=(1, 2))
        if allowed:
            log.set("unclean.leader.election.enable", "true")
        since = len(log.events) + len(log.changes) - 2
        log.change(isr=[], leader=-1, eligibleLeaderReplicas=[1, 2], lastKnownElr=[1])
        log.change(isr=[2], leader=2, eligibleLeaderReplicas=[], lastKnownElr=[], leaderRecoveryState=1)
        ((*_, text),) = said(log, "unclean-election")
        told = f" was set for the topic at offset {since}, 1970-01-01" if allowed else ": either server.properties sets"
        assert f"unclean.leader.election.enable=true{told}" in text
    assert "unclean.leader.election.enable=false" in SORTS["unclean-election"].look
    assert SORTS["unclean-election"].page == "docs/kafka/losing-data.md"


# -- the history of a partition


def change(offset: int, leader: int, isr: list[int], election: str = "", **more: Any) -> dict[str, Any]:
    return {**STEP, "offset": offset, "time": 1000 * offset, "leader": leader, "isr": isr, "election": election, **more}


LED = [change(8, 1, [1]), change(9, 2, [2], "unclean")]


def history(*later: dict[str, Any], gaps: tuple[tuple[int, int], ...] = ()) -> dict[str, Any]:
    """Return a partition's history in which leader 1 gives way to 2 at offset 9, in a log that ends at offset 50."""
    return {"earlier": 28, "left_out": 28, **partition_story([*LED, *later], [FOUND], list(gaps), (50, 50_000))}


def test_a_history_goes_on_to_the_end_of_the_log_and_counts_what_is_not_shown() -> None:
    made = history(change(12, 2, [2, 1]), change(40, 1, [2, 1]))
    assert [step["offset"] for step in made["steps"]] == [8, 9, 12, 40]
    assert made["end"] == {"offset": 50, "time": 50_000}
    texts = [line["told"] for line in lines_of(made)]
    assert texts[0].startswith("(28 earlier changes not shown)")
    assert texts[3].startswith("(28 changes before this one not shown)")
    assert texts[-1] == "at the end of the log"
    emptied = [change(12, -1, [], elr=[1, 2]), change(13, -1, [], elr=[2])]
    assert [line["told"] for line in lines_of(history(*emptied))][-2].endswith(" 1 left the ELR")
    assert lines_of(made)[-1]["state"][0] == "1"


@pytest.mark.parametrize(
    ("later", "says"),
    [
        ([change(12, 2, [2, 1])], "rejoined the ISR at offset 12 (00:00:12)"),
        ([], "had not rejoined the ISR by the end of the log (offset 50, 00:00:50)"),
        ([change(12, 2, [2], replicas=[2, 3])], "has not been a replica since offset 12"),
        ([change(12, -1, [], "deleted")], "The topic was deleted at offset 12"),
    ],
)
def test_what_to_do_now_depends_on_what_became_of_the_former_leader(later: list[dict[str, Any]], says: str) -> None:
    (advice,) = history(*later)["advice"]
    assert says in advice
    assert ("'Truncating partition t-0' between 00:00:01 and 00:00:12" in advice) is ("rejoined the ISR at" in advice)


def test_a_gap_is_a_line_of_the_table_and_what_comes_after_it_is_not_taken_for_known() -> None:
    made = history(change(20, -1, [], "unjudged"), gaps=((11, 12),))
    assert [(line["offset"], line["told"]) for line in lines_of(made)][2:] == [
        (11, "offsets 11 to 12 are damaged or missing: changes there are unknown"),
        (20, "(28 changes before this one not shown) not judged: the previous state is unknown"),
        (50, "at the end of the log: unknown"),
    ]


def test_what_goes_on_when_records_are_missing_is_said_as_far_as_it_is_known() -> None:
    log = Log(replicas=(1, 2))
    alone = log.change(isr=[1], eligibleLeaderReplicas=[2])
    moved = log.change(replicas=[2, 1])
    log.change(isr=[2], leader=2)
    log.changes.pop(-2)  # it is in no file
    rows = log.rows((moved, moved))
    assert [(item.sort, item.offset) for item in findings(rows)] == [("last-replica", alone), ("under-min-isr", alone)]
    assert "or longer, because the later records are missing" in findings(rows)[0].text
    assert (rows[-1].election, rows[-1].why) == ("unjudged", "leader 2, ISR [2]")


# -- the head of the report


def of(**more: Any) -> dict[str, Any]:
    return json.loads(json.dumps({**DATA, "omitted": 0, "trace": None, **more}))


def test_the_headline_is_in_an_operators_words() -> None:
    assert headline(of()) == "records of t-0 may be lost (critical, 1970-01-01 00:00:01)"
    passed = headline(of(sorts=[], findings=[]))
    assert passed == "the cluster passed through states in which records could be lost, or were lost"
    mild = headline(of(sorts=[], findings=[], severity="high", milder=1))
    assert mild == "no finding is high or worse; 1 milder finding omitted, and parts of the log were not judged"


def test_the_first_screen_describes_a_finding_by_its_own_text(capsys: pytest.CaptureFixture[str]) -> None:
    late = {**FOUND, "sort": "last-replica", "severity": "medium", "time": 9000, "text": "only [2] was in sync"}
    early = {**late, "sort": "regained-leadership", "time": 1000, "text": "broker 1 regained it", "topic": "u"}
    sorts = [{**DATA["sorts"][0], **one, "count": 1, "first": one["time"]} for one in (late, early)]
    sorts[0]["sentence"] = "Only one replica was in sync."
    data = of(findings=[early, late], sorts=sorts)
    assert headline(data) == "in t-0, only one replica was in sync (medium, 1970-01-01 00:00:09); no loss was found"
    print_screen(results(), data)
    assert "in 1 partition: t-0, 00:00:09, only [2] was in sync" in " ".join(capsys.readouterr().out.split())


def test_damage_is_warned_of_and_logs_of_two_clusters_are_refused() -> None:
    none, damage = {"count": 0, "offset": -1}, [{"unread": True, "text": "cut off", "what": "x", "count": 1}]
    counts = {"unjudged": 3, "unjudged_partitions": 1}
    assert warnings_of(counts, damage, [(111, 111)], none, 0, -1) == [
        "incomplete: offset 111 is damaged or missing; 3 later changes of 1 partition were not judged"
    ]
    assert warnings_of({"unjudged": 0}, damage, [], none, 0, -1) == ["incomplete: cut off"]
    assert warnings_of({"unjudged": 0}, [], [(5, 5)], none, 0, 9) == ["incomplete: offset 5 is damaged or missing"]
    assert warnings_of({"unjudged": 0}, [], [(0, 99)], {"count": 2, "offset": 80}, 87, 100) == []
    (all_of_it,) = warnings_of({"unjudged": 0}, [], [(0, 99)], none, 0, -1)
    assert all_of_it == "incomplete: offsets 0 to 99 are damaged or missing"
    with pytest.raises(UsageError, match="seem to come from different clusters: they differ in 55 of the 87 offsets"):
        warnings_of({"unjudged": 0}, [], [], {"count": 55, "offset": 7}, 87, -1)


def test_every_report_says_what_was_read_and_a_quiet_one_what_it_cannot_see(capsys: pytest.CaptureFixture[str]) -> None:
    assert describe_coverage(of(unjudged=0)) == (
        "Read: /var/00.log: 10 records, offsets 0 to 9, 1970-01-01 00:00:00 to 1970-01-01 00:00:02 UTC. "
        "Judged: 2 changes of 1 partition of 1 topic, 1 election."
    )
    print_audit(results(), of(sorts=[], findings=[], histories=[], verdict="nothing-found"))
    text = " ".join(capsys.readouterr().out.split())
    assert "audit: no broken rule" in text
    assert "replica logs (unless copies are given), rejected requests" in text


def test_the_page_says_what_the_text_says(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.setattr(audit, "timeline", lambda _: "")
    text = audit.page(of())
    told = ["broker 2 was elected", "Keep it down.", "at the end of the log", "and 3 more"]
    for part in (headline(of()), DATA["warnings"][0], describe_coverage(of()), *told):
        assert part in text


# -- files that are no log


def test_what_is_no_log_is_refused_with_what_to_do(tmp_path: Path) -> None:
    for name, content, says in (
        ("log.tar.gz", b"\x1f\x8b\x08", "is an archive: unpack it"),
        ("00000000000000000000.log", b"baseOffset: 0\n", "contains text, not a log"),
        ("other.log", b"\x00\x01", "nor named like a Kafka segment"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=says):
            files_in([tmp_path / name])


def test_logs_of_two_clusters_are_refused_if_their_ids_are_known(tmp_path: Path) -> None:
    folders = [tmp_path / name / "__cluster_metadata-0" for name in ("a", "b", "c")]
    for folder, cluster in zip(folders, ("X", "Y", "X"), strict=True):
        folder.mkdir(parents=True)
        (folder / "00000000000000000000.log").touch()
        (folder.parent / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\n")
    with pytest.raises(UsageError, match=r"belongs to cluster X, but .* belongs to Y, according to their meta"):
        files_in(folders[:2])
    with pytest.raises(UsageError, match="An audit covers one cluster"):
        files_in([tmp_path])
    assert len(files_in([folders[0], folders[2]])[0]) == 2
    (tmp_path / "b/meta.properties").write_text("cluster.id=X\n")
    logs = [folder / "00000000000000000000.log" for folder in folders]
    assert [file for file, _, _ in files_in([tmp_path])[0]] == logs
