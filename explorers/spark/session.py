"""Spark sessions, reports of failed starts, tasks, and a shuffle of raw blocks.

PySpark's own `partitionBy` would pickle every block, and could run a receiver on any executor. The shuffle passes
blocks unchanged. To keep receivers on their executors, the shuffle forms the union of the shuffled partitions and a
cached RDD with the same partitioner, because Spark runs each task of the union where the cached partition is.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from fencepost.explorers.running.interrupts import Signals
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext

    Sender = Callable[[int], Iterator[tuple[int, bytes]]]
    Receiver = Callable[[int, list[bytes]], bytes]

    from pyspark import SparkConf

HANDOVER = 100_000
"""Minimum size of a level that makes Spark worth its fixed cost per level."""
ROOM = 1 << 16
"""Free space, in bytes, that Spark needs in the temporary folder to start."""
OLDEST_JAVA = 17
LOGGING = Path(__file__).with_name("log4j2.properties")
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.app.name": "fencepost",
}


@dataclass(frozen=True)
class Cluster:
    """A Spark cluster: its master, settings, and the number of partitions (0 means two per processor)."""

    master: str = ""
    """Address of Spark's master; if empty, the master that `spark-submit` sets, or `local[*]`."""
    conf: tuple[tuple[str, str], ...] = ()
    partitions: int = 0
    handover: int = HANDOVER
    """Minimum size of the first level that Spark searches. The driver searches all earlier levels alone."""

    @property
    def shown(self) -> str:
        return self.master or ("of spark-submit" if "PYSPARK_GATEWAY_PORT" in os.environ else "local[*]")

    @property
    def is_local(self) -> bool:
        """Return whether every executor can read this machine's folders."""
        return not self.master or self.master.startswith("local")


def require_spark() -> None:
    if not all(importlib.util.find_spec(name) for name in ("pyspark", "pyarrow")):
        raise UsageError('Spark is not installed: run `pip install "fencepost[spark]"`.')


@contextmanager
def spark(cluster: Cluster) -> Iterator[SparkContext]:
    require_spark()
    from pyspark import SparkConf, SparkContext

    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        require_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf()
    for name, value in QUIET.items():
        conf.setIfMissing(name, value)
    if cluster.master or not submitted:
        conf.setMaster(cluster.master or "local[*]")
    for name, value in cluster.conf:
        conf.set(name, value)
    if submitted:
        context = SparkContext(conf=conf)
    else:
        for side in ("driver", "executor"):
            conf.setIfMissing(f"spark.{side}.extraJavaOptions", f"-Dlog4j2.configurationFile={LOGGING.as_uri()}")
        context = _started(conf, cluster)
    try:
        _require_executors(context)
        yield context
    finally:
        context.stop()


def _started(conf: SparkConf, cluster: Cluster) -> SparkContext:
    """Start Java and capture its output, to show the message that explains a failure."""
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    with kept_aside() as log:
        try:
            gateway = launch_gateway(conf, {"stderr": log})
            return SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            log.seek(0)
            raise UsageError(
                f"Spark did not start with master {cluster.shown}: {first_cause(log.read() or str(error))} "
                "Check `cluster=` and `conf=`."
            ) from error


def kept_aside() -> IO[str]:
    """Return an empty temporary file; raise UsageError if the disk is full. Java writes a temporary file when it has
    started; pyspark waits forever if Java cannot write the file.
    """
    try:
        made = tempfile.NamedTemporaryFile("w+", prefix="fencepost-spark-", suffix=".log")  # noqa: SIM115 (it stays)
        written = 0
        while written < ROOM:
            written += os.write(made.fileno(), b" " * (ROOM - written))
        os.ftruncate(made.fileno(), 0)
        os.lseek(made.fileno(), 0, os.SEEK_SET)
    except OSError as error:
        raise UsageError(
            f"Spark needs space for temporary files: {error.strerror or error}. Free some space, or set TMPDIR to "
            "another folder."
        ) from error
    return made


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    wanted = f"Spark needs Java {OLDEST_JAVA} or newer"
    if java is None:
        where = f"JAVA_HOME is {home}, but that folder contains no bin/java" if home else "`java` is not installed"
        raise UsageError(
            f"{wanted}, and {where}: install a Java runtime (Debian: openjdk-17-jre-headless) or set JAVA_HOME."
        )
    command = [java, "-version"]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stderr  # noqa: S603 (theirs)
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if not found:
        raise UsageError(
            f"{wanted}, and {java} does not report its version: {text.strip()[:200]!r}. Set JAVA_HOME to another Java."
        )
    release = int(found[2]) if found[1] == "1" else int(found[1])
    if release < OLDEST_JAVA:
        raise UsageError(f"{wanted}, and {java} is Java {release}: install a newer version, or set JAVA_HOME to one.")


def first_cause(text: str) -> str:
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith(("at ", "File "))
    ]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.]*(Error|Exception)\b.*: ", line)]
    sentence = (causes or lines or ["no reason was given"])[-1]
    return sentence if sentence.endswith(".") else f"{sentence}."


def _require_executors(context: SparkContext) -> None:
    def look(numbers: Iterator[int]) -> Iterator[str]:
        del numbers
        try:
            from importlib.metadata import version as version_there

            import fencepost.explorers.spark.work  # noqa: F401 (whether it is there)

            yield version_there("fencepost")
        except Exception as error:  # noqa: BLE001 (sent to the driver)
            yield f"! {error}"

    mine = version("fencepost")
    how = "Install the same version on the executors, or ship it with the job: see docs/use/spark.md."
    try:
        answers = context.parallelize(range(2), 2).mapPartitions(look).collect()
    except Exception as error:
        raise UsageError(
            f"Spark's executors cannot run Fencepost's Python tasks: {first_cause(str(error))} {how}"
        ) from error
    for answer in answers:
        if answer != mine:
            what = f"cannot import it ({answer[2:]})" if answer.startswith("! ") else f"have version {answer}"
            raise UsageError(f"Spark's executors must have Fencepost {mine}, but they {what}. {how}")


Item = TypeVar("Item")
Found = TypeVar("Found")


def run_tasks(
    context: SparkContext, task: Callable[[Item], Found], items: Sequence[Item], done: Callable[[Item, Found], None]
) -> str:
    """Run `task` on executors for each item, one per processor at a time; return why it ended early, or "" otherwise.

    `done` is called in the calling thread, in order of completion; if it raises an error, all tasks are cancelled. A
    signal cancels running tasks and prevents new ones. If an executor is lost, Spark runs the executor's items on
    another one. Raises UsageError if a task fails.
    """
    why = ""
    waiting = list(reversed(items))
    at_once = min(len(waiting), max(1, context.defaultParallelism))

    def ask(reason: str) -> bool:
        nonlocal why
        first, why = not why, why or reason
        if first:
            waiting.clear()
            context.cancelAllJobs()
        return first

    with ThreadPoolExecutor(max(1, at_once)) as pool, Signals(ask):
        running: dict[Future[Found], Item] = {}
        failed: Exception | None = None
        while running or (waiting and failed is None):
            while waiting and len(running) < at_once and failed is None:
                item = waiting.pop()
                running[pool.submit(_one, context, task, item)] = item
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                item, error = running.pop(future), future.exception()
                if error is None:
                    try:
                        done(item, future.result())
                    except UsageError:
                        context.cancelAllJobs()
                        raise
                elif not why:
                    failed = failed or UsageError(f"a Spark job failed: {first_cause(str(error))}")
        if failed is not None:
            raise failed
    return why


def _one(context: SparkContext, task: Callable[[Item], Found], item: Item) -> Found:
    found: Found = context.parallelize([item], 1).map(task).collect()[0]
    return found


ANCHOR = b""
_LONG = struct.Struct(">q")


class Exchange:
    """Partitions that stay on their executors, and a shuffle that sends blocks between them."""

    def __init__(self, context: SparkContext, partitions: int) -> None:
        from pyspark import StorageLevel

        self.context, self.partitions = context, partitions
        jvm = context._jvm
        assert jvm is not None
        self._jvm = jvm
        self._partitioner = jvm.PythonPartitioner(partitions, id(self))
        self._numbers = context.parallelize(range(partitions), partitions)
        level = context._getJavaStorageLevel(StorageLevel.MEMORY_ONLY)
        self._anchors = self._sent(_anchor).persist(level)
        self._anchors.count()

    def run(self, send: Sender, receive: Receiver) -> list[bytes]:
        """Let every partition send blocks and then receive blocks. Return the results in partition order. `send` and
        `receive` may run more than once for a partition, and must return the same result every time.
        """
        from pyspark import RDD
        from pyspark.serializers import NoOpSerializer

        united = self._anchors.union(self._sent(send))
        blocks = RDD(self._jvm.PythonRDD.valueOfPair(united), self.context, NoOpSerializer())

        answers: list[bytes] = blocks.mapPartitionsWithIndex(partial(_answer, receive)).collect()
        return answers

    def _sent(self, send: Sender) -> Any:
        keyed = self._numbers.mapPartitions(partial(_pairs, send))
        keyed._bypass_serializer = True
        found = self._jvm.PairwiseRDD(keyed._jrdd.rdd()).asJavaPairRDD()
        return found.partitionBy(self._partitioner)


def _pairs(send: Sender, numbers: Iterator[int]) -> Iterator[bytes]:
    for number in numbers:
        for target, block in send(number):
            yield _LONG.pack(target)
            yield block


def _answer(receive: Receiver, number: int, found: Iterator[bytes]) -> Iterator[bytes]:
    yield receive(number, [block for block in found if block != ANCHOR])


def _anchor(number: int) -> Iterator[tuple[int, bytes]]:
    yield number, ANCHOR
