"""The audit on Spark and in one process gives the same rows, also after it was killed and resumed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="these tests have an environment of their own: tox -e audit")

from pathlib import Path

from fencepost.api import Cluster, audit
from fencepost.explorers.spark.session import spark
from fencepost.kafka.audit.logs import copies_in
from fencepost.kafka.audit.pipeline import HISTORIES, HISTORY, JUDGED, MetadataLog, judge
from fencepost.kafka.audit.reading import MANIFEST, arrow_schema, command, read
from fencepost.kafka.audit.report import report
from pyspark.sql import SparkSession

from benchmarks.audit_records import planted
from benchmarks.metadata_log import write
from tests.helpers.audits import LOGS, unpack
from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import words
from tests.helpers.places import DOCS
from tests.kafka.kafkas import on_kafka
from tests.spark.sparks import marks

pytestmark = [*marks("audit-spark"), on_kafka, pytest.mark.long]
VARIABLE = ("seconds", "reading_seconds", "output", "read_now")


def fixed(report: Any) -> dict[str, Any]:
    return {name: value for name, value in dict(report.data).items() if name not in VARIABLE}


def test_the_report_is_the_same_on_executors(tmp_path: Path) -> None:
    log = unpack("hyp-10-4.1.2", tmp_path)
    kept = tmp_path / "kept"
    one = audit(log, output=kept, cluster=Cluster("local[2]"))
    again = audit(log, output=kept, resume=True, cluster=Cluster("local[1]"))
    elsewhere = audit(log, cluster=Cluster("local-cluster[2,1,1024]"))
    assert again.data["read_now"] == 0
    assert fixed(one) == fixed(again) == fixed(elsewhere)
    first, second = ((item["sort"], item["offset"]) for item in one.findings[:2])
    assert (first, second) == (("removed-replica-elected", 140), ("elr-without-replica", 118))
    assert one.to_frame().shape[0] == len(one.findings)


def test_both_ways_write_the_same_for_every_archived_log_and_for_copies(tmp_path: Path) -> None:
    planted(tmp_path / "copies", 1, 30)
    sources = [unpack(path.name.removesuffix(".tar.gz"), tmp_path) for path in LOGS.glob("*.tar.gz")]
    comparing = tuple(command(None, None, "Compare"))
    with spark(Cluster("local[2]")) as context:
        session = SparkSession(context)
        for source in (*sources, tmp_path / "copies"):
            made = []
            for number, sql in enumerate((None, session)):
                folder = tmp_path / f"{source.name}-{number}"
                folder.mkdir()
                reading = read([source], folder, None, None, resume=False)
                log = MetadataLog(reading, copies=tuple(copies_in([source])), comparing=comparing)
                data = report(log, judge(log, lambda sql=sql: sql), "low")
                rows = log.kept(HISTORIES, " ".join(arrow_schema(HISTORY).names)).to_pylist()
                made.append((data, sorted(rows, key=str)))
            assert made[0] == made[1], source
    assert len(made[0][0]["replicas"]) == 10


def test_a_name_that_the_system_refuses_is_bad_input() -> None:
    assert "cannot be read: File name too long" in refused("audit", "a/" * 3000)


def killed_once(log: Path, kept: Path, there: str) -> None:
    """Audit a log in a separate process, and kill it and its children by SIGKILL as soon as a file appears."""
    command = words(f"{sys.executable} -m fencepost audit {log} --output {kept} --resume --master local[2]")
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        end = time.monotonic() + 120
        while not any(kept.glob(there)) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        assert process.poll() is None, "it ended before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)


def test_a_run_that_is_killed_at_any_stage_and_resumed_gives_the_same_report(tmp_path: Path) -> None:
    log, kept = tmp_path / "log", tmp_path / "kept"
    write(log, records=60_000, seed=1)
    whole = audit(log, output=tmp_path / "whole", cluster=Cluster("local[2]"))
    killed_once(log, kept, "records")
    assert not (kept / MANIFEST).exists()
    killed_once(log, kept, f"{HISTORIES}/**/*.parquet")
    assert (kept / MANIFEST).exists()
    assert not (kept / JUDGED).exists()
    resumed = audit(log, output=kept, resume=True, cluster=Cluster("local[2]"))
    assert resumed.data["read_now"] == 0
    assert fixed(resumed) == fixed(whole)


def test_a_history_becomes_a_trace_by_the_command(tmp_path: Path) -> None:
    log, file = unpack("hyp-10-4.1.2", tmp_path), tmp_path / "t.trace"
    asked = ("audit", str(log), "--json", "--quiet", "--partition", "t-0", "--trace", str(file))
    made = fencepost(*asked)
    assert made.exit_code == 1
    trace = data_of(made)["trace"]
    assert (trace["partition"], trace["next"], trace["version"], trace["brokers"]) == (
        "t-0", None, "kafka-4.1", [1, 2, 3, 4],
    )  # fmt: skip
    assert "leader-has-acknowledged" in [item["property"] for item in trace["broken"]]
    assert fencepost("replay", str(file)).exit_code == 0
    # the violation is of a lower severity: the verdict has it all the same
    worst = fencepost(*asked, "--until", "118", "--severity", "critical")
    assert (worst.exit_code, data_of(worst)["verdict"], data_of(worst)["milder"] > 0) == (1, "violated", True)
    page = fencepost("show", str(file), "--format", "html")
    assert "offsets 53 to 118" in page.stdout
    assert fencepost(*asked[:-4], "--partition", "t-7", "--trace", str(file)).exit_code == 2


def test_the_command_ends_with_the_status_of_the_contract(tmp_path: Path) -> None:
    quiet = unpack("rolling-4.1.2", tmp_path)
    sarif = tmp_path / "found.sarif"
    fine = fencepost("audit", str(quiet), "--json", "--quiet", "--sarif", str(sarif))
    assert (fine.exit_code, data_of(fine)["verdict"]) == (0, "nothing-found")
    assert json.loads(sarif.read_text())["runs"][0]["results"] == []
    segment = quiet / "00000000000000000000.log"
    segment.write_bytes(segment.read_bytes()[:-9])
    cut = fencepost("audit", str(quiet), "--quiet")
    assert cut.exit_code == 3
    assert "are an incomplete or damaged batch" in " ".join(cut.stdout.split())


def test_two_controllers_that_agree_say_what_one_says(tmp_path: Path) -> None:
    one = unpack("unclean-4.4.0", tmp_path)
    shutil.copytree(one, tmp_path / "two")
    alone = audit(one)
    both = audit(one, tmp_path / "two")
    assert both.data["disagreements"] == {"count": 0, "offset": -1}
    assert both.findings == alone.findings
    assert both.data["changes"] == alone.data["changes"]


def test_a_manifest_that_was_edited_is_refused(tmp_path: Path) -> None:
    log = unpack("rolling-4.1.2", tmp_path)
    kept = tmp_path / "kept"
    audit(log, output=kept)
    text = (kept / MANIFEST).read_text()
    (kept / MANIFEST).write_text(text.replace('"records": ', '"records": 1'))
    assert "no readable records.json" in refused("audit", str(log), "--output", str(kept), "--resume")


def test_the_notebook_shows_what_it_showed() -> None:
    nbformat = pytest.importorskip("nbformat")
    client = pytest.importorskip("nbclient")
    folder = DOCS / "examples"
    committed, executed = (nbformat.read(folder / "audit.ipynb", as_version=4) for _ in range(2))
    resources = {"metadata": {"path": str(folder)}}
    client.NotebookClient(executed, timeout=600, kernel_name="python3", resources=resources).execute()
    assert shown(executed) == shown(committed) != []


def shown(notebook: Any) -> list[str]:
    found = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    told = [output for output in found if output.get("name") != "stderr"]
    return [output.get("data", {}).get("text/plain") or output.get("text", "") for output in told]
