"""An audit of a cluster's metadata log against the guarantees. Kafka's own classes decode the log, here or on Spark."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import pandas, table
from fencepost.api.answers.results import Answer
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.files import write_text
from fencepost.explorers.running.interrupts import cancelled_by
from fencepost.explorers.verdict import not_kept
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd
    from fencepost.explorers.spark.session import Cluster
    from fencepost.kafka.audit.controller_history import ControllerHistory
    from fencepost.kafka.audit.findings import Severity
    from fencepost.kafka.audit.pipeline import MetadataLog
    from fencepost.kafka.audit.reading import Reading
    from pyspark.sql import SparkSession

SMALL = 1_000_000
"""Maximum number of records to process without Spark: starting Spark takes as long as processing these."""
LARGE = 4 << 30
"""Maximum size in bytes of the broker logs compared in this process."""
MEMORY = (("spark.driver.memory", "2g"), ("spark.sql.shuffle.partitions", "16"))
"""Spark's default settings, which suffice for ten million records on one machine."""


VERDICTS = {
    "violated": "the controller broke one of its own rules",
    "exposed": "the cluster passed through states in which records could be lost, or were lost",
    "undetermined": "nothing was found, but parts of the log were not judged",
    "nothing-found": "no broken rule was found, and no state in which records are at risk",
}


@dataclass(frozen=True)
class _Led:
    """The partition whose history is written as a trace, the trace's file, and the history's last offset."""

    partition: str
    file: Path
    until: int | None


@dataclass(frozen=True, repr=False)
class AuditResult(Answer):
    """The result of an audit: the worst findings, and whether parts of the log could not be read."""

    verdict: str
    findings: tuple[dict[str, Any], ...]

    def __repr__(self) -> str:
        return f"AuditResult({self.verdict}, {counted(len(self.findings), 'finding')})"

    @property
    def answer(self) -> str:
        """Return the worst finding as a sentence that says whether records are lost, may be lost, or are at risk."""
        sentence = headline(self.to_dict())
        return f"{sentence[0].upper()}{sentence[1:]}."

    @property
    def unread(self) -> tuple[str, ...]:
        """The parts that could not be read."""
        return tuple(note["text"] for note in self.data["notes"] if note["unread"])

    def to_frame(self) -> pd.DataFrame:
        return pandas().DataFrame(list(self.findings))

    def _repr_html_(self) -> str:
        rows = [(item["severity"], named(item), item["sort"], item["text"]) for item in self.findings]
        return table(self.answer, ("severity", "partition", "finding", "what"), rows)


def headline(data: dict[str, Any]) -> str:
    """Return the worst finding of an audit as a clause for operators, given the audit's JSON."""
    from fencepost.kafka.formatting import when

    if not data["sorts"]:
        if data["milder"]:
            omitted = f"{counted(data['milder'], 'milder finding')} omitted"
            omitted += ", and parts of the log were not judged" if data["warnings"] else ""
            return f"no finding is {data['severity']} or worse; {omitted}"
        return VERDICTS[data["verdict"]]
    worst = data["sorts"][0]
    severity, lost = worst["severity"], any(item["sort"] == "records-lost" for item in data["sorts"])
    moment = when(min(item["first"] for item in data["sorts"] if item["severity"] == severity))
    serious = [item for item in data["findings"] if item["severity"] == severity]
    mine = [item for item in serious if severity in ("critical", "high") or item["sort"] == worst["sort"]]
    names = list(dict.fromkeys(map(named, mine or serious)))
    if lost:
        names = [named(it) for it in data["replicas"] if any(one["acknowledged"] for one in it["lost"])]
    places = ", ".join(names[:3]) + (f" and {counted(len(names) - 3, 'more partition')}" if len(names) > 3 else "")
    if lost:
        return f"acknowledged records of {places} are missing from the leader's log (critical, {moment})"
    if severity == "critical":
        return f"records of {places} may be lost (critical, {moment})"
    if severity == "high":
        return f"records of {places} are at risk (high, {moment})"
    sentence, moment = worst["sentence"].rstrip("."), when(worst["first"])
    return f"in {places}, {sentence[0].lower()}{sentence[1:]} ({severity}, {moment}); no loss was found"


def named(item: dict[str, Any]) -> str:
    """Return the name of a finding's partition, such as `orders-3`."""
    return f"{item['topic']}-{item['partition']}"


@call
def audit(
    *paths: str | Path,
    output: str | Path | None = None,
    resume: bool = False,
    severity: Severity = "low",
    within: float = 60.0,
    min_isr: int = 1,
    partition: str | None = None,
    trace: str | Path | None = None,
    until: int | None = None,
    kafka: str | None = None,
    jars: str | Path | None = None,
    cluster: Cluster | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
) -> AuditResult:
    """Follow every partition through a cluster's metadata log, and report broken invariants and risks of loss.

    `paths` are the `__cluster_metadata-0` folders of one or more controllers, or files with the output of
    kafka-dump-log.sh. Copies of brokers' disks, or of partitions' folders on them, are compared too, to find the
    acknowledged records that the leader lacks. `output` is a folder for records, histories and findings as Parquet. If
    `resume` is set, the audit in that folder continues. A change within `within` seconds after min ISR is raised or
    leadership is lost is reported as suspicious. `min_isr` is the value of min.insync.replicas in server.properties.
    The history of `partition` (such as "orders-3") up to the offset `until` is written to the file `trace`, as a trace
    of `replication` in which the brokers' steps explain the history.
    """
    from fencepost.explorers.spark.session import Cluster
    from fencepost.kafka.audit.findings import SEVERITIES
    from fencepost.kafka.audit.logs import copies_in
    from fencepost.kafka.audit.pipeline import MetadataLog
    from fencepost.kafka.audit.reading import command

    asked = cluster or Cluster()
    _require_libraries(asked)
    if not paths:
        raise UsageError(
            "no log was named: name a __cluster_metadata-0 folder, or a file with the output of kafka-dump-log.sh."
        )
    if severity not in SEVERITIES:
        raise UsageError(f"there is no severity {severity!r}: write one of {', '.join(SEVERITIES)}.")
    if (partition is None) is not (trace is None) or (until is not None and trace is None):
        raise UsageError(
            "`partition=`, `trace=` and `until=` belong together: write `partition='TOPIC-NUMBER'`, `trace='FILE'` "
            "and optionally `until=OFFSET`."
        )
    led = None if partition is None else _Led(partition, Path(str(trace)), until)
    folder = _folder(Path(output) if output else None, resume=resume)
    cluster = replace(asked, conf=(*MEMORY, *asked.conf))
    files, classes = [Path(path) for path in paths], Path(jars) if jars else None
    began = time.perf_counter()
    watch = watched(progress)
    try:
        with cancelled_by(cancel):
            with watch.busy("reading the log"):
                reading = _read(files, folder, kafka, classes, resume=resume)
                copies = copies_in(files, [Path(item.path) for item in reading.files])
                comparing = command(kafka, classes, "Compare") if copies else []
            read_in = time.perf_counter() - began
            size = sum(copy.bytes for copy in copies)
            log = MetadataLog(reading, int(within * 1000), min_isr, tuple(copies), tuple(comparing))
            with ExitStack() as stack:

                @cache
                def start() -> SparkSession | None:
                    wanted = _wants_spark(asked, reading.records, size)
                    return stack.enter_context(_started(cluster, watch)) if wanted else None

                data, history = _judge(log, start, severity, watch, led)
            text = _find_in_model(data, history, led, watch) if led and history else ""
        seconds = {"seconds": round(time.perf_counter() - began, 2), "reading_seconds": round(read_in, 2)}
        result = AuditResult.read({**data, **seconds, "output": str(output) if output else None})
        if led:
            try:
                write_text(led.file, text)
            except UsageError as error:
                return replace(result, problems=(not_kept(error),))
        return result
    finally:
        if not output:
            shutil.rmtree(folder, ignore_errors=True)


def _wants_spark(cluster: Cluster, records: int, size: int) -> bool:
    large = records > SMALL or size > LARGE
    return bool(large or cluster.master or cluster.conf or "PYSPARK_GATEWAY_PORT" in os.environ)


def _require_libraries(cluster: Cluster) -> None:
    from fencepost.explorers.spark.session import require_java, require_spark

    if not all(importlib.util.find_spec(name) for name in ("pyarrow", "pandas")):
        raise UsageError('PyArrow and pandas are not installed: run `pip install "fencepost[audit]"`.')
    if _wants_spark(cluster, 0, 0):
        require_spark()
        require_java()


def _folder(output: Path | None, *, resume: bool) -> Path:
    if output is None:
        if resume:
            raise UsageError("`resume=True` needs an audit to continue: also name its folder as `output=`.")
        return Path(tempfile.mkdtemp(prefix="fencepost-audit-"))
    try:
        output.mkdir(parents=True, exist_ok=True)
        empty = not any(output.iterdir())
    except OSError as error:
        raise UsageError(
            f"`output=` {output} cannot be used: {error.strerror}. Choose a folder that you may write to."
        ) from error
    if not empty and not resume:
        raise UsageError(
            f"{output} is not empty: write `resume=True` to continue the audit in it, or choose another folder."
        )
    return output.absolute()


def _read(paths: Sequence[Path], folder: Path, kafka: str | None, jars: Path | None, *, resume: bool) -> Reading:
    from fencepost.kafka.audit.reading import read

    reading = read(paths, folder, kafka, jars, resume=resume)
    if not reading.parts:
        first, *others = [note.text for note in reading.every_note] or ["its files are empty"]
        notes = first + f"; and {counted(len(others), 'other note')}" * bool(others)
        raise UsageError(
            f"no record of the log could be read: {notes}. Run the audit as a user who may read it, or on a complete "
            "copy."
        )
    return reading


@contextmanager
def _started(cluster: Cluster, watch: Watch) -> Iterator[SparkSession]:
    from fencepost.api.calls.on_spark import started
    from fencepost.explorers.spark.session import first_cause
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with started(cluster, watch) as context:
        try:
            yield SparkSession(context)
        except (Py4JError, PySparkException) as error:
            raise UsageError(
                f"a Spark job failed: {first_cause(str(error))} If it lacks disk space or memory, provide more; "
                "otherwise choose another folder as `output=`."
            ) from error


def _judge(
    log: MetadataLog, start: Callable[[], SparkSession | None], severity: Severity, watch: Watch, led: _Led | None
) -> tuple[dict[str, Any], ControllerHistory | None]:
    from fencepost.kafka.audit.pipeline import history_of, judge
    from fencepost.kafka.audit.report import report

    with watch.busy(f"following the partitions through {log.reading.records:,} records"):
        judged = judge(log, start)
    with watch.busy("summing up"):
        data = report(log, judged, severity)
    return data, history_of(log, led.partition, led.until) if led else None


def _find_in_model(data: dict[str, Any], history: ControllerHistory, led: _Led, watch: Watch) -> str:
    from fencepost.kafka.audit.reconstruction import reconstruct

    with watch.busy(f"searching the model for the history of {led.partition}"):
        made = reconstruct(history)
    data["trace"] = made.data(str(led.file))
    return made.replay.text
