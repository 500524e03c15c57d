"""Operations and their measurements: each release lists the findings that it has."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise, product
from typing import Any
from unittest.mock import Mock

import pytest
from fencepost.api.calls.agents import answer
from fencepost.api.topics import operations as rows_of
from fencepost.api.topics.advice_words import headline, lines_of, row_of
from fencepost.api.topics.advising import advise, notes, versions
from fencepost.api.topics.applying import findings_of
from fencepost.api.topics.evidence import outside_models
from fencepost.api.topics.matrices import history_of_faults
from fencepost.api.topics.operations import LOSS, OPERATIONS, question, repairs
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol
from fencepost.kafka.clusters.reproduce import SCENARIOS
from fencepost.model.language.interpreter import Interpreter
from fencepost.site.figures import operations_by_release

from benchmarks.figures.operations import grouped
from tests.helpers.commands import fencepost
from tests.helpers.parameters import words
from tests.helpers.places import ROOT

SIZES = ((2, 1), (2, 2), (3, 1), (3, 2), (3, 3))
HARMFUL = ("lost", "vanished", "leaderless", "out", "behind", "misassigned", "returned")
pytestmark = pytest.mark.xdist_group("operations")


@cache
def everywhere() -> list[tuple[str, bool, int, int, list[Any]]]:
    return [
        (version, elr, *sizes, advise(*sizes, kafka=version, elr=elr).to_dict()["operations"])
        for version, elr, sizes in product(versions(), (True, False), SIZES)
        if not elr or version >= "kafka-4.0"
    ]


class Created(Exception):  # noqa: N818 (a story is stopped, nothing is wrong)
    """The topic that a story creates first."""


def create(replicas: list[int], min_isr: int | None, **_: str) -> None:
    if min_isr is not None:
        raise Created(len(replicas), min_isr)


BESIDE = {item.name for item in SCENARIOS if not item.brokers or item.name == "hyp-36-data"}
"""Scenarios of controllers alone, which are about no topic, and one of a single replica, which no search has."""
MOVING = {"HYP-32"}
"""Findings that need a broker to move to."""


def test_stories_begin_with_the_sizes_that_are_said_of_them() -> None:
    told = {name: tuple(sizes) for item in OPERATIONS for name, sizes in item.scenarios.items()}
    for scenario in SCENARIOS:
        if scenario.name in told:
            stage = Mock(["create", "tell", "delete", "pause", "control"], create=create, control=False)
            with pytest.raises(Created) as created:
                scenario.play(stage)
            assert told[scenario.name] == created.value.args, scenario.name
    seen = {run["finding"] for run in load("clusters")["runs"] if run["verdict"] in HARMFUL}
    assert seen - BESIDE == set(told)


@pytest.mark.long
def test_what_clusters_showed_is_said_of_the_settings_that_have_it_and_of_no_others() -> None:
    shown = set()
    for version, elr, replicas, min_isr, rows in everywhere():
        for row in rows:
            for seen in (item for item in row["evidence"] if item["seen"] == "clusters" and item["outcome"] in HARMFUL):
                shown.add((seen["run"], seen["release"], elr, replicas, min_isr))
                assert f"kafka-{seen['release'].rpartition('.')[0]}" == version
                assert row["outcome"] in HARMFUL
    sizes = {name: tuple(pair) for item in OPERATIONS for name, pair in item.scenarios.items()}
    elr_of = {item.name: item.elr for item in SCENARIOS}
    harmful = [run for run in load("clusters")["runs"] if run["mode"] == "played" and run["verdict"] in HARMFUL]
    expected = set()
    for name, release in ((run["finding"], run["kafka"]) for run in harmful if run["finding"] not in BESIDE):
        elr = release >= "4.1" if elr_of[name] is None else elr_of[name]
        expected.add((name, release, elr, *sizes[name]))
    assert shown == expected


def on_page() -> Iterator[tuple[str, str, set[str], set[bool]]]:
    """Yield the findings on docs/kafka/findings.md: the loss, and the releases with ELR or without."""
    page = (ROOT / "docs" / "kafka" / "findings.md").read_text("utf-8")
    for name, lost, text in re.findall(r"^\| \[(HYP-\d+)\][^|]*\| ([^|]*) \| ([^|]*) \|", page, re.MULTILINE):
        numbers = re.findall(r"\d\.\d", text.partition(";")[0])
        first = "3.5" if text.startswith("to") else numbers[0]
        releases = {item for item in versions() if first <= item.removeprefix("kafka-") <= numbers[-1]}
        yield name, lost, releases, {False} if "no ELR" in text else {True} if "ELR" in text else {False, True}


@pytest.mark.long
def test_explain_has_the_releases_and_the_evidence_of_every_finding_on_the_page() -> None:
    page = (ROOT / "docs" / "kafka" / "findings.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(HYP-\d+)\][^|]*\|[^|]*\| ([^|]*) \| ([^|]*) \| ([^|]*) \|", page, re.MULTILINE)
    assert len(rows) == len(list(on_page()))
    runs = [run for run in load("clusters")["runs"] if run["mode"] == "played"]
    for name, span, by, shown in rows:
        (entry,) = answer("explain", {"name": name})["entries"]
        numbers = re.findall(r"\d\.\d", span.partition(";")[0])
        assert entry["releases"][-1] == numbers[-1], name
        assert span.startswith("to") or entry["releases"][0] == numbers[0], name
        stories = re.findall(r"`(hyp-[^`]*)`: (\d+) of (\d+) runs", shown)
        assert bool(entry["clusters"]) == bool(stories), name
        on_classes = shown == "Kafka's classes" or by in ("random histories", "conformance")
        assert bool(entry["classes"]) >= on_classes, name
        assert shown != "not run" or not entry["classes"], name
        assert by != "model" or entry["runs"], name
        for story, lost, of in stories:
            mine = [run for run in runs if run["finding"] == story and run["expected"] in HARMFUL]
            assert (sum(run["verdict"] in HARMFUL for run in mine), len(mine)) == (int(lost), int(of)), story


def misplaced(*of: str) -> set[tuple[str, str]]:
    """Return the findings that advise names for a release that has them not, or leaves out, whatever the settings."""
    found, pages = set(), [item for item in on_page() if item[0].lower() not in BESIDE]
    plain: dict[str, Any] = {"acks": "all", "unclean_election": False, "brokers": None}
    for version, elr in product(of or versions(), (True, False)):
        if elr and version < "kafka-4.0":
            continue
        has = {name for name, lost, releases, with_elr in pages if version in releases and elr in with_elr}
        losing = {name for name, lost, *_ in pages if name in has and not lost.startswith("no loss")}
        others = [{"acks": "1"}, {"unclean_election": True}, {"brokers": 3}, {"brokers": 4}]
        for (replicas, min_isr), given in [*product(SIZES, ({},)), *product(((3, 2),), others)]:
            made = advise(replicas, min_isr, kafka=version, elr=elr, **{**plain, **given})
            named = {name for row in made.to_dict()["operations"] for name in row["findings"]}
            noted = {name for note in notes(made.settings, made.to_dict()) for name in re.findall(r"HYP-\d+", note)}
            possible = losing - MOVING if given.get("brokers") == replicas else losing
            found |= {(name, version) for name in (named & {item[0] for item in pages}) ^ possible}
            found |= {(name, version) for name in has - named - noted}
    return found


@pytest.mark.long
def test_a_finding_is_named_for_the_releases_and_settings_that_have_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert {f"HYP-{number}" for number in (24, 25, 26)} < {item[0] for item in on_page()}
    assert misplaced() == set()
    known = rows_of._known
    with monkeypatch.context() as planted:
        planted.setattr(rows_of, "_known", lambda asked: {**known(asked), "HYP-17": {"loses": None}})
        found = misplaced("kafka-4.2", "kafka-4.3", "kafka-4.4")
        assert {version for name, version in found if name == "HYP-17"} == {"kafka-4.3", "kafka-4.4"}
    left_out = [replace(item, scenarios={}) if item.name == "create-again" else item for item in OPERATIONS]
    monkeypatch.setattr(rows_of, "OPERATIONS", left_out)
    assert {name for name, _ in misplaced("kafka-3.9", "kafka-4.4")} == {"HYP-26"}  # the others are also in other rows


@pytest.mark.long
def test_no_two_places_count_findings_differently() -> None:
    head, body = operations_by_release()
    column = {f"kafka-{name}": place for place, names in enumerate(head) for name in names.split(", ")}
    table = {row[0]: row for row in body}
    for version, elr, replicas, min_isr, rows in everywhere():
        known = {item["id"] for item in findings_of(version, min_isr, elr=elr)}
        assert {name for row in rows for name in row["findings"]} <= known, (version, elr)
        assert set(outside_models(version)) <= known or not elr, version
        if (replicas, min_isr, elr) == (3, 2, version >= "kafka-4.1"):
            assert all(row_of(row)[1].startswith(table[row["title"]][column[version]]) for row in rows), version


def test_a_disk_is_replaced_only_while_another_broker_leads_where_the_last_replica_can_lose_it() -> None:
    for replicas, min_isr, by in ((3, 2, "B19"), (2, 1, None)):
        rows = advise(replicas, min_isr, kafka="3.9.2").to_dict()["operations"]
        row = next(row for row in rows if row["operation"] == "replace-a-disk")
        assert (by is None or by in row["findings"], row["instead"]) == (True, "while another broker leads")


def settled(before: Any, _: Any) -> bool:
    image, running = before.image[before.newest], [item for item in before.replica if not item.life]
    count = len(before.replica)
    full = image.isr == (1 << count) - 1 & ~image.missing and not image.fenced and len(running) == count
    return full and all(item.applied == before.newest for item in running)


def quiet(before: Any, after: Any) -> bool:
    return all(getattr(before.budget, name) == getattr(after.budget, name) for name in ("clean_stops", "fences"))


KEPT_TO = {
    "after a minute of full ISR": settled,
    "full ISR; recreate no topic": settled,
    "wait until Elr is empty": lambda before, _: not before.elr,
    "while another broker leads": lambda before, _: before.image[before.newest].leader >= 0,
    "start other replicas first": lambda before, _: before.image[before.newest].leader >= 0,
    "keep its path in log.dirs": lambda *_: False,  # the histories take it out
    "stop no broker right after": quiet,
    "cannot be avoided; audit": lambda *_: False,
    "wait 10 s before starting": lambda before, _: not before.budget.early_starts,
}
"""Whether an operator keeps to what `advise` says to do instead, in the state before a step and at the end."""


def kept_to(*changes: Callable[[str, str], str]) -> list[set[tuple[str, str, int, int]]]:
    """Return the histories that lose a record of an operation although it is done as `advise` says with each change."""
    by_name, machine = {item.name: item for item in OPERATIONS}, protocol("replication").machine
    found: list[set[tuple[str, str, int, int]]] = [set() for _ in changes]
    for row in load("operations")["rows"]:
        operation, sizes = by_name[row["operation"]], (row["replicas"], row["min_isr"])
        for item in row["front"]:
            if not operation.takes_part(item) or row["operation"] == "slow-metadata":
                continue
            instead = next((operation.against[name] for name in item["by"] if name in operation.against), None)
            values = question(operation, row["versions"][-1], *sizes, elr=row["elr"])
            constants = machine.set_constants({**values, **repairs(values, row.get("repaired", ()))})
            asked = {"protocol": "replication", "property": {"name": row.get("prop", LOSS)}}
            path = history_of_faults(asked, {"constants": constants.shown}, item).path
            states = list(map(Interpreter(machine, constants).read, path.states))
            kinds = [name for name in operation.kinds if name != "deletions"]  # no budget limits them
            during = [
                before
                for step, (before, after) in zip(item["steps"], pairwise(states), strict=True)
                if step.startswith("leader-deletes-records")
                or any(getattr(before.budget, name) > getattr(after.budget, name) for name in kinds)
            ]
            for change, lost in zip(changes, found, strict=True):
                keeps = KEPT_TO[change(operation.name, instead or operation.instead)]
                if all(keeps(before, states[-1]) for before in during):
                    lost.add((operation.name, "".join(item["by"]), *sizes))
    return found


@pytest.mark.long
def test_no_history_that_loses_a_record_keeps_to_what_is_said_to_do_instead() -> None:
    def planted(name: str, instead: str) -> str:
        return "wait until Elr is empty" if name == "remove-and-add" else instead

    found = {("remove-and-add", "HYP-3", 3, 1), ("remove-and-add", "HYP-3", 3, 2)}
    assert kept_to(lambda _, instead: instead, planted) == [set(), found]


@pytest.mark.long
def test_no_cell_says_more_than_was_measured_of_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for *_, rows in everywhere():
        for row in rows:
            exact = {item["outcome"] for item in row["evidence"]}
            assert row["outcome"] in exact or (row["outcome"] == "not-measured" and exact <= {"safe"})
            assert all(item["differs"] for item in row["elsewhere"])
            assert row["show"] or not row["findings"]
            known = row["measure"] or row["unmodelled"] or row["evidence"]
            assert known or row["operation"] in ("unclean-election", "lose-power")
    monkeypatch.setattr(rows_of, "load", lambda _: {})  # no measurements
    monkeypatch.setattr(rows_of, "_played", lambda _: {})
    rows = advise(3, 2, kafka="4.1").to_dict()["operations"]
    assert {row["operation"] for row in rows if row["outcome"] != "not-measured"} == {"unclean-election", "lose-power"}


def test_a_property_that_was_not_searched_for_leaves_an_operation_unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    def deleting(*rows: dict[str, Any]) -> dict[str, Any]:
        own = {"operation": "delete-records", "replicas": 3, "min_isr": 1, "elr": False, "versions": ["kafka-3.5"]}
        made = [{**own, "most": {}, "states": 7, "undetermined": False, "front": [], **row} for row in rows]
        monkeypatch.setattr(rows_of, "load", lambda name: {"rows": made} if name == "operations" else load(name))
        asked = advise(3, 1, kafka="3.5").to_dict()["operations"]
        return next(row for row in asked if row["operation"] == "delete-records")

    shown = {"prop": "deleted-records-stay-deleted"}
    only, both = deleting({}), deleting({}, shown)
    assert (only["outcome"], both["outcome"], both["measure"]) == ("not-measured", "safe", None)
    said = "Not measured with these settings: whether it shows no deleted record again."
    assert said in lines_of(only)
    assert "deleted-records-stay-deleted" in only["measure"]
    assert [line.partition(" with up to")[0] for line in lines_of(both)[:2]] == [
        f"The model of Kafka 3.5 {does}" for does in ("loses no records", "shows no deleted record again")
    ]
    history = {"faults": {"fences": 1, "deletions": 1}, "length": 3, "steps": [], "by": ["HYP-22"]}
    assert deleting({}, {**shown, "front": [history]})["outcome"] == "returned"
    assert deleting(shown, {"front": [{**history, "faults": {"fences": 1}}]})["outcome"] == "not-measured"  # not by it


def test_a_patch_that_was_not_read_says_so() -> None:
    data = advise(3, 2, kafka="4.1.0").to_dict()
    assert {row["outcome"] for row in data["operations"]} == {"not-measured"}
    said = r"Likely: at least \d+ of 18 operations .*\(seen on 4.1.2, 4.1.0 is not measured, RF 3"
    assert re.match(said, headline(data))
    assert any(" loses" in row_of(row)[1] for row in data["operations"])
    data = advise(3, 2, kafka="3.9.0").to_dict()
    said = r"Yes: at least \d+ of 17 operations (can )?lose (data|records) \(seen on 3.9.2, RF 3, min ISR 2\)."
    assert re.fullmatch(said, headline(data))
    nearest = {row["operation"]: row["elsewhere"][0]["release"] for row in data["operations"] if row["elsewhere"]}
    assert {name for name, of in nearest.items() if "3.9" not in of} == {"change-directory"}  # ran on 4.1 and 4.4 only


def test_another_number_of_replicas_is_named_where_only_that_was_measured() -> None:
    said = headline(advise(5, 3, kafka="4.2.1").to_dict())
    assert said == "RF 5 is not measured; at RF 2 or 3, 15 of 18 operations can lose data (4.2.1)."


@pytest.mark.long
def test_searches_of_operations_are_of_these_constants_and_their_histories_lose_a_record() -> None:
    machine = protocol("replication").machine
    by_name = {item.name: item for item in OPERATIONS}
    counts: Counter[str] = Counter()
    for row in load("operations")["rows"]:
        operation = by_name[row["operation"]]
        groups = list(grouped(operation, row["replicas"], row["min_isr"], elr=row["elr"]))
        mine = [group for group in groups if {*group} & {*row["versions"]}]
        assert sorted(name for group in mine for name in group) == row["versions"]
        for (version, *_), item in product(mine, row["front"]):
            values = question(operation, version, row["replicas"], row["min_isr"], elr=row["elr"])
            values.update(repairs(values, row.get("repaired", ())))
            counts[row["operation"]] += 1
            point = {"constants": machine.set_constants(values).shown}
            asked = {"protocol": "replication", "property": {"name": row.get("prop", LOSS)}}
            history_of_faults(asked, point, item)
    assert {"rolling-restart", "take-a-disk-out", "delete-records"} <= set(counts)


def test_a_broker_to_move_to_is_needed_to_move() -> None:
    rows = {row["operation"]: row for row in advise(3, 2, kafka="4.4", brokers=3).to_dict()["operations"]}
    assert (rows["move"]["outcome"], rows["move"]["instead"]) == ("impossible", "add a broker first")
    assert "Not measured" not in fencepost("advise", *words("--brokers 3 --min-isr 2 --operation move")).stdout
    alone = fencepost("advise", *words("--replicas 1 --operation replace-a-disk")).stdout
    assert alone.startswith("Replace a disk: no, it deletes the only replica (4.4, RF 1, min ISR 1).")
    assert rows["move"]["evidence"] == rows["move"]["elsewhere"] == []
    assert advise(3, 2, kafka="4.4", brokers=4).to_dict()["operations"] != list(rows.values())


@pytest.mark.long
def test_the_first_screen_is_a_sentence_and_a_line_for_each_operation() -> None:
    for version, elr, replicas, min_isr, rows in everywhere():
        if replicas == 3:
            asked = words(f"--replicas 3 --min-isr {min_isr} --kafka {version} --elr {'on' if elr else 'off'}")
            lines = fencepost("advise", *asked).stdout.splitlines()
            assert len(lines) == len(rows) + 2 <= 20, asked
            assert max(map(len, lines)) <= 80, asked


@pytest.mark.parametrize(
    ("asked", "said", "do"),
    [
        ("replace-a-disk", "only with care; it can lose records (4.1.2, RF 3, min ISR 2).", "Start other replicas"),
        ("restart --acks 1", "acks=1 is not modelled; with acks=all only with care", "Wait 10 s before starting."),
        ("cancel", "only with care; it can lose records, seen with RF 2 (", "Wait until Elr is empty. HYP-10:"),
        ("upgrade", "not measured (", "As for a rolling restart."),
        ("change-min-isr", "only with care; a broker can stay down (", "Wait until Elr is empty. HYP-13:"),
        ("move --brokers 3", "no, every broker has a replica already (", "Add a broker first."),
        ("fail-a-disk", "a partition can stay without a leader, seen with RF 2 (", "Stop that broker. HYP-38:"),
        ("take-a-disk-out", "only with care; it can lose records (", "Start other replicas first. HYP-17:"),
        ("delete-records", "only with care; deleted records can reappear (", "Stop no broker right after. HYP-22:"),
        ("full-disk --elr off", "only with care; it can lose records, seen with ELR (", "Free space first. HYP-36:"),
    ],
)
def test_one_operation_is_answered_by_a_sentence_and_what_to_do(asked: str, said: str, do: str) -> None:
    given = f"advise --replicas 3 --min-isr 2 --kafka 4.1.2 --operation {asked}".split()
    text = " ".join(fencepost(*given).stdout.split())
    rows = json.loads(fencepost(*given, "--json").stdout)["operations"]
    title, name = rows[0]["title"], asked.partition(" ")[0]
    assert [item["operation"] for item in rows] == [name]
    assert text.startswith(f"{title[0].upper()}{title[1:]}: {said}")
    assert f" do {do}" in text


def test_every_row_says_what_was_seen_and_how_it_is_shown() -> None:
    text = " ".join(fencepost("advise", "-v", "--replicas", "3", "--min-isr", "2", "--kafka", "4.1.2").stdout.split())
    for wanted in (
        "HYP-17: loses 100 of 100 acknowledged records in 3 of 3 runs on 4.1.2 clusters (3 replicas, min ISR 2,",
        "To reproduce it: `fencepost reproduce hyp-17-cold-start --kafka 4.1.2`.",
        "HYP-10: loses 1,896 of 2,000 acknowledged records in 5 of 5 runs on 4.1.2 clusters (2 replicas,",
        "To measure it: `fencepost faults replication --property leader-has-acknowledged --version kafka-4.1 ",
        "Even with all findings fixed: loses in the model of Kafka 4.1 after 3 expired broker sessions, in 10 steps",
    ):
        assert wanted in text
    for row in advise(3, 2, kafka="4.1.2").to_dict()["operations"]:
        assert all(line in text or "`" in line for line in lines_of(row))
