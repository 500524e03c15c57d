"""Copies of brokers' logs beside a metadata log: the lost range of real clusters is named, and healthy ones are not
blamed; damage that is planted is found, but for what no file shows."""

import shutil
import tarfile
from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="these tests have an environment of their own: tox -e audit")

from pathlib import Path

from fencepost.api.calls.audit import audit

from benchmarks.audit_records import FIXTURES, KINDS, planted, seen
from tests.helpers.commands import fencepost, refused
from tests.kafka.kafkas import on_kafka

pytestmark = [on_kafka, pytest.mark.xdist_group("audit")]


def unpacked(name: str, into: Path) -> Path:
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as packed:
        packed.extractall(into, filter="data")
    return into


def lost(data: dict[str, Any]) -> list[tuple[int, int, int, bool, list[int]]]:
    names = ("epoch", "first", "last", "acknowledged", "brokers")
    return [tuple(one[name] for name in names) for item in data["replicas"] for one in item["lost"]]


@pytest.mark.parametrize(
    ("name", "range_"),
    [
        ("hyp-1", [(0, 1, 1, False, [1])]),
        ("hyp-10", [(0, 1016, 1999, True, [1, 3])]),
        ("hyp-16", [(0, 0, 99, True, [1])]),
        ("hyp-17", [(0, 0, 99, False, [1])]),
        ("hyp-1-control", []),
        ("hyp-16-control", []),
    ],
)
def test_the_lost_range_of_a_cluster_is_named_from_its_files(name: str, range_: list[Any], tmp_path: Path) -> None:
    data = audit(unpacked(name, tmp_path)).to_dict()
    assert lost(data) == range_
    sort = {True: "records-lost", False: "records-may-be-lost"}
    of_copies = {it["sort"] for it in data["sorts"] if it["sort"].startswith(("records-", "cop", "epochs-", "log-"))}
    assert of_copies == {sort[one[3]] for one in range_}
    assert not any(note["unread"] for note in data["notes"])


def test_planted_damage_is_found_and_health_is_not_blamed(tmp_path: Path) -> None:
    kinds = planted(tmp_path, 3, 30)
    for row in seen(audit(tmp_path).to_dict(), kinds):
        assert (row["found"], row["else"]) == (3 if KINDS[row["kind"]][1] else 0, 0), row


def test_a_reader_is_shown_what_the_leader_lacks_and_who_has_it(tmp_path: Path) -> None:
    unpacked("hyp-16", tmp_path)
    result = fencepost("audit", str(tmp_path), "--quiet", "-v", "--html", str(tmp_path / "page.html"))
    said = " ".join(result.stdout.split())
    assert result.exit_code == 1
    for part in (
        "acknowledged records of t-0 are missing from the leader's log (critical",
        "epoch 0, from offset 0: acknowledged up to offset 99, on 1",
        "the leader lacks: t-0: offsets 0 to 99 of epoch 0, acknowledged",
        "Do not start a broker on a listed disk, because it would truncate the records.",
        "ends at 0, below its high watermark 100: the log's end is missing",
    ):
        assert part in said
    assert "<p>t-0: offsets 0 to 99 of epoch 0, acknowledged" in (tmp_path / "page.html").read_text()


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    unpacked("hyp-16", tmp_path)
    metadata, old, now = (tmp_path / name for name in ("data-100", "before-start-data-1", "data-1"))
    shutil.rmtree(tmp_path / "data-2")
    (now / "meta.properties").unlink()
    (now / "t-0" / "leader-epoch-checkpoint").write_text("0\n5\n0 0\n")
    data = audit(metadata, old / "t-0", now).to_dict()
    texts = " ".join(note["text"] for note in data["notes"])
    assert lost(data) == []
    assert "copy of the leader's log was made after the leader's election: t-0 from broker 2" in texts
    assert "is unknown: copy meta.properties" in texts
    assert "is not a valid checkpoint" in texts
    alone = audit(metadata, old).to_dict()
    assert "there is no other copy of the partition" in " ".join(note["text"] for note in alone["notes"])
    (old / "meta.properties").write_text("cluster.id=another\n")
    assert "An audit covers one cluster" in refused("audit", str(metadata), str(old), "--quiet")
    assert "no metadata log was found" in refused("audit", str(now), "--quiet")
