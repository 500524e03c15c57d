"""Logs of real clusters, decoded by Kafka's own classes: each story is found with its offsets, and healthy logs have no
findings.
"""

import shutil
from collections import Counter
from itertools import pairwise

import pytest

pytest.importorskip("pyarrow", reason="these tests have an environment of their own: tox -e audit")

from pathlib import Path

from fencepost.counterexamples.replay import Replay, replay
from fencepost.kafka.audit.cluster_context import ClusterContext
from fencepost.kafka.audit.controller_history import (
    ControllerHistory,
    ControllerState,
    controller_history,
    controller_state,
)
from fencepost.kafka.audit.findings import SORTS
from fencepost.kafka.audit.following import Row
from fencepost.kafka.audit.reading import Reading, earlier, read
from fencepost.kafka.audit.reconstruction import reconstruct
from fencepost.kafka.driver.releases import RELEASES

from benchmarks.metadata_log import names, write
from tests.helpers.audits import LOGS, around_and_histories, findings, followed, table, unpack
from tests.kafka.kafkas import on_kafka

pytestmark = [on_kafka, pytest.mark.xdist_group("audit")]
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in LOGS.glob("*.tar.gz"))
SEGMENT = "00000000000000000000.log"
WORST = ("critical", "high")
STORIES = {
    "hyp-10": {"elr-without-replica", "removed-replica-elected"},
    "hyp-10-b": {"elr-without-replica", "removed-replica-elected"},
    "hyp-11": {"late-min-isr", "late-min-isr-elected"},
    "hyp-13": {"cleared-then-deleted"},
    "hyp-17": {"last-replica-down", "elr-not-by-rule", "elr-emptied", "emptied-elr-elected"},
    "hyp-17-cold-start": {"last-replica-down", "elr-not-by-rule", "elr-emptied", "emptied-elr-elected"},
    "unclean": {"last-replica-down", "unclean-election"},
    "last-replica": {"last-replica-down", "last-known-leader-elected"},
    "rolling": set(),
    "reassignment": set(),
}
"""The high and critical findings of each story; before 4.1 the last replica stays in the ISR and needs no special
election."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Every recorded log, and some that were damaged: by name, the files of its folder."""
    folder = tmp_path_factory.mktemp("logs")
    for name in NAMES:
        unpack(name, folder)
    whole = (folder / "hyp-10-4.1.2" / SEGMENT).read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :]
    for name, content in (("cut", whole[:-40]), ("flipped", flipped), ("grown", whole[:5000])):
        shutil.copytree(folder / "hyp-10-4.1.2", folder / name)
        (folder / name / SEGMENT).write_bytes(content)
    return {path.name: sorted(path.iterdir()) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def reading(logs: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Reading:
    """Return the reading of all logs at once: Java takes a second to start."""
    paths = [path for files in logs.values() for path in files]
    return read(paths, tmp_path_factory.mktemp("read"), None, None, resume=False)


def part(reading: Reading, name: str) -> Reading:
    return Reading(reading.folder, [item for item in reading.files if item.path.split("/")[-2] == name], reading.parts)


def followed_alone(reading: Reading, name: str) -> tuple[ClusterContext, list[Row]]:
    one = part(reading, name)
    numbers = {item.number for item in one.files}
    return around_and_histories(one, [row for row in table(reading) if row["file"] in numbers])


def story(reading: Reading, name: str) -> list[tuple[str, int]]:
    _, rows = followed_alone(reading, name)
    return [(item.sort, item.offset) for item in findings(rows) if item.severity in WORST]


@pytest.mark.parametrize("name", NAMES)
def test_a_story_is_named_and_a_peaceful_one_is_not_blamed(reading: Reading, name: str) -> None:
    found = {sort for sort, _ in story(reading, name)}
    wanted = STORIES[name.rpartition("-")[0]]
    before_elr = {"last-known-leader-elected"} if name.endswith("3.9.2") else set()
    assert found == wanted - before_elr


def test_what_is_found_has_the_offset_of_its_record(reading: Reading) -> None:
    assert story(reading, "hyp-10-4.1.2") == [("elr-without-replica", 118), ("removed-replica-elected", 140)]
    assert story(reading, "hyp-13-4.4.0") == [("cleared-then-deleted", 93)]
    emptied = [("elr-not-by-rule", 88), ("elr-emptied", 88)]
    assert story(reading, "hyp-17-4.1.2") == [("last-replica-down", 67), *emptied, ("emptied-elr-elected", 90)]
    assert story(reading, "hyp-11-4.1.2") == [("late-min-isr", 28), ("late-min-isr-elected", 58)]


LOST = {"leader-has-committed", "leader-has-acknowledged"}
BROKEN = {"hyp-10": LOST, "hyp-10-b": LOST}
"""What the way that was found loses. Whether a record was there that HYP-11 or an unclean election could lose, their
logs do not say."""
IN_NO_MODEL = ("hyp-17-4.1.2", "hyp-17-cold-start-4.1.2")
"""Logs with a change that no model makes: assigning a directory empties the ELR."""


OF_MODEL = [name for name in NAMES if name not in IN_NO_MODEL]


def history_of_topic(reading: Reading, name: str) -> tuple[ControllerHistory, list[Row]]:
    around, rows = followed_alone(reading, name)
    return controller_history([row._asdict() for row in rows if row.topic == "t"], around, None), rows


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (not name.endswith("4.4.0"))) for name in OF_MODEL]
)
def test_a_real_history_is_a_way_through_the_model(reading: Reading, name: str, tmp_path: Path) -> None:
    history, _ = history_of_topic(reading, name)
    found = reconstruct(history)
    story, _, release = name.rpartition("-")
    assert found.whole
    assert found.replay.trace.version == RELEASES[release]
    assert LOST & {prop.name for prop, _ in found.broken} == BROKEN.get(story, set())
    file = tmp_path / "t.trace"
    file.write_text(found.replay.text)
    again = replay(file)
    assert again.text == found.replay.text
    assert [shown_by(again, number) for number in range(1, len(found.places) + 1)] == [
        history.points[place].state for place in found.places
    ]


@pytest.mark.parametrize("name", IN_NO_MODEL)
def test_the_way_through_the_model_ends_before_what_it_lacks(reading: Reading, name: str) -> None:
    history, rows = history_of_topic(reading, name)
    found = reconstruct(history)
    emptied = next(item.offset for item in findings(rows) if item.sort == "elr-emptied")
    assert not found.whole
    assert found.recorded.points[found.places[-1]].offset < emptied


def test_a_real_history_can_end_anywhere(reading: Reading) -> None:
    around, rows = followed_alone(reading, "hyp-10-4.1.2")
    for until in [row.offset for row in rows]:
        found = reconstruct(controller_history([row._asdict() for row in rows], around, until), most=500)
        assert (found.whole, found.recorded.points[-1].offset) == (True, until)


def shown_by(made: Replay, number: int) -> ControllerState:
    plain = made.trace.interpreter()
    return controller_state(plain.schema.restore(made.path.states[number]), plain.constants)


@pytest.mark.parametrize(
    ("name", "what", "said", "runs"),
    [
        ("cut", "truncated", "are an incomplete or damaged batch", 1),
        ("flipped", "damaged", "its checksum does not match", 2),
    ],
)
def test_a_log_that_is_cut_off_is_read_up_to_there_and_a_flipped_bit_costs_one_batch(
    name: str, what: str, said: str, runs: int, reading: Reading
) -> None:
    one = part(reading, name)
    (note,) = one.every_note
    assert (note.what, note.unread, said in note.text) == (what, True, True)
    found = one.files[0].runs
    assert (len(found), found[0][0]) == (runs, 0)
    assert one.coverage.gaps == [(before[1] + 1, after[0] - 1) for before, after in pairwise(found)]
    assert name == "flipped" or story(reading, name)[-1][0] == "removed-replica-elected"


def test_reading_goes_on_where_it_ended(logs: dict[str, list[Path]], tmp_path: Path) -> None:
    grown = logs["grown"][0]
    whole = logs["hyp-10-4.1.2"][0]
    begun = read([grown], tmp_path, None, None, resume=False)
    grown.write_bytes(whole.read_bytes())
    ended = read([grown], tmp_path, None, None, resume=True)
    assert 0 < ended.added < 177
    assert begun.added + ended.added == 177 == earlier(tmp_path).records
    assert ended.files[0].runs == [[0, 176]]
    assert sorted(row["offset"] for row in table(ended)) == list(range(177))
    assert ended.every_note == []
    assert read([grown], tmp_path, None, None, resume=True).added == 0


def dump_of(first: int, last: int) -> str:
    head = "baseOffset: {0} lastOffset: {0} count: 1 partitionLeaderEpoch: 1 isControl: false isvalid: true\n"
    record = '| offset: {0} CreateTime: 7 keySize: -1 payload: {{"type":"NO_OP_RECORD","version":0,"data":{{}}}}\n'
    return "".join((head + record).format(offset) for offset in range(first, last + 1))


def test_dumps_are_counted_each_and_read_on_when_they_grow(tmp_path: Path) -> None:
    one, other, folder = tmp_path / "one.txt", tmp_path / "other.txt", tmp_path / "out"
    one.write_text(dump_of(0, 3))
    other.write_text(dump_of(4, 5))
    folder.mkdir()
    begun = read([one, other], folder, None, None, resume=False)
    assert [item.records for item in begun.files] == [4, 2]
    with other.open("a") as file:
        file.write(dump_of(6, 8))
    ended = read([one, other], folder, None, None, resume=True)
    assert (ended.added, [item.records for item in ended.files]) == (3, [4, 5])
    assert sorted(row["offset"] for row in table(ended)) == list(range(9))


def test_an_older_release_names_the_records_that_it_does_not_know(logs: dict[str, list[Path]], tmp_path: Path) -> None:
    found = read(logs["unclean-4.1.2"], tmp_path, "3.9.2", None, resume=False)
    (note,) = found.every_note
    assert (note.what, note.count, note.unread, "type 28" in note.text) == ("unknown", 1, True, True)
    kinds = Counter(row["type"] for row in table(found))
    assert (kinds["UNREAD_28"], kinds["PARTITION_CHANGE_RECORD"]) == (1, 4)


@pytest.mark.long
def test_every_planted_violation_is_found_and_nothing_else(tmp_path: Path) -> None:
    written = write(tmp_path / "log", records=60_000, seed=1, hot=200)
    found = read([tmp_path / "log"], tmp_path / "read", None, None, resume=False)
    assert (found.records, found.every_note) == (written.records, [])
    rows = followed(found, table(found))
    said = {(f"{row.topic}-{row.partition}", item.sort) for row in rows for item in row.findings}
    assert {name for name, sort in said if SORTS[sort].violation} == set(written.planted)
    rare = set(written.exposed.values())
    assert {(name, sort) for name, sort in said if sort in rare} == set(written.exposed.items())
    assert set(written.planted.values()) == set(names())


def test_two_controllers_with_the_same_log_count_once(reading: Reading) -> None:
    both = Reading(reading.folder, [*part(reading, "hyp-10-4.1.2").files, *part(reading, "cut").files], reading.parts)
    assert both.coverage.overlaps == [tuple(part(reading, "cut").files[0].runs[0])]
    assert sum(last - first + 1 for _, first, last in both.coverage.chosen) == 177
