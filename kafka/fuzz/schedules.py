"""Schedules of a broker's threads: Fray's jars, the JDK that it needs, and the Java process that takes schedules."""

import os
import platform
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver.process import FailedError
from fencepost.kafka.driver.releases import (
    KAFKA,
    Artifact,
    Harness,
    Release,
    compile_driver,
    fetch_jars,
    locate_release,
    move_folder,
    pom,
    run,
)
from fencepost.kafka.fuzz.histories import FLAGS, FUZZ, SCHEDULE, Alarm, Fuzzer, Progress
from fencepost.model.language.errors import UsageError

FRAY = "0.9.2"
JDK = 25
"""The release of Java that Fray controls. In others, it controls only a program's first thread, without an error."""
SCHEDULERS = {
    "mixed": "each seed uses one of the other schedulers",
    "random": "each step is of a random thread",
    "pct": "the thread with the highest priority runs; priorities change up to four times",
    "pos": "operations have random priorities, which change for operations that conflict",
}
JLINK_SECONDS = 600
STARTS = 3
"""Number of attempts to start the process, which may hang while Fray's agent observes a thread that starts."""
START_SECONDS = 240.0
PATIENCE = 120.0
"""Seconds after which a schedule counts as stuck, and the process is killed."""
THREADS = Harness(FUZZ.releases, "fencepost.Schedules", (*FUZZ.sources, KAFKA / "fuzz" / "threads"))
MODULES = "java.se,jdk.unsupported,jdk.management,jdk.zipfs"
HANGS = 20
"""Number of processes that may hang before a run ends."""
FIGURE = "locks"
REPAIRED_IN = {"3.9.2": ("KAFKA-18723", "epoch")}
"""For each release, a race that it fixes, and a word from the message of its violation."""
KINDS = 3
"""Maximum number of violations of one kind that are compared with later releases."""
AGAIN = 300
"""Number of schedules of the same story that are taken on this and on a later release to attribute a violation."""
ENOUGH = 3
"""Minimum number of these schedules that show the violation again on this release."""


def fray() -> Path:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise UsageError(
            f"`threads=` needs Linux on x86_64, where Fray controls threads; this is {platform.system()} on "
            f"{platform.machine()}. Leave out `threads=`."
        )
    group = "org.pastalab.fray"
    needed = [Artifact(group, f"fray-{name}", FRAY) for name in ("core", "runtime", "jvmti-linux-x8664")]
    needed += [Artifact(f"{group}.instrumentation", f"fray-instrumentation-{name}", FRAY) for name in ("agent", "jdk")]
    folder = cache_folder() / "kafka" / f"fray-{FRAY}"
    return fetch_jars(pom("fray", *needed), folder, f"Fray {FRAY}, which `threads=` needs", "leave out `threads=`")


def installed_jdk() -> Path:
    """Return the folder of an installed JDK 25: that of JAVA_HOME, or one where Linux keeps them."""
    home = os.environ.get("JAVA_HOME")
    for folder in [*([Path(home)] if home else []), *sorted(Path("/usr/lib/jvm").glob("*"))]:
        with suppress(OSError):
            told = re.search(r'JAVA_VERSION="(\d+)', (folder / "release").read_text("utf-8"))
            if told is not None and int(told[1]) == JDK and (folder / "bin" / "jlink").is_file():
                return folder
    raise UsageError(
        f"`threads=` needs a JDK {JDK} with jlink, and there is none in JAVA_HOME or /usr/lib/jvm: install one (such "
        f"as temurin-{JDK}-jdk), or leave out `threads=`."
    )


def controlled_jdk(jars: Path) -> Path:
    """Return the folder of a JDK whose classes Fray controls, linked once from an installed JDK."""
    kept = cache_folder() / "kafka" / f"fray-{FRAY}-jdk-{JDK}"
    if kept.is_dir():
        return kept
    jdk = installed_jdk()
    plugin = jars / f"fray-instrumentation-jdk-{FRAY}.jar"
    needed = r"fray-(instrumentation-base|instrumentation-jdk|runtime)|asm|kotlin|annotations"
    path = os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")) if re.match(needed, jar.name))
    with tempfile.TemporaryDirectory(dir=kept.parent) as work:
        made = Path(work) / "jdk"
        command = [
            str(jdk / "bin" / "jlink"), f"-J-javaagent:{plugin}", f"-J--module-path={path}", f"-J--class-path={path}",
            "-J--add-modules=org.pastalab.fray.instrumentation.jdk", f"--output={made}", f"--add-modules={MODULES}",
            "--strip-debug", "--fray-instrumentation",
        ]  # fmt: skip
        done = run(command, JLINK_SECONDS, "jlink")
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()[:300]
            raise UsageError(f"jlink of {jdk} did not make the JDK that `threads=` needs: {said}")
        with zipfile.ZipFile(jars / f"fray-jvmti-linux-x8664-{FRAY}.jar") as jar:
            jar.extract("libjvmti.so", made / "lib")
        move_folder(made, kept)
    return kept


def threads_release(version: str | None, jars: Path | None = None) -> Release:
    known, folder, warning = locate_release(version, jars, THREADS)
    library = fray()
    jdk = controlled_jdk(library)
    classes = compile_driver(known, folder, THREADS.sources, library)
    agents = (
        f"-agentpath:{jdk / 'lib' / 'libjvmti.so'}",
        f"-javaagent:{library / f'fray-instrumentation-agent-{FRAY}.jar'}",
    )
    return Release(
        known, THREADS.model_of(known), folder, classes, THREADS, (library,), warning, ("-Xmx2g", *FLAGS, *agents),
        str(jdk / "bin" / "java"),
    )  # fmt: skip


class Threads(Fuzzer):
    """A process that takes schedules. If it hangs or ends, it is killed, and another continues after the seed at which
    it stopped.
    """

    def __init__(self, release: Release) -> None:
        self.hung = self.out = 0
        """The number of hung processes, and of the method without a lock (see `locks.py`) or 0."""
        for attempt in range(STARTS):
            try:
                super().__init__(release, START_SECONDS)
            except FailedError:
                if attempt == STARTS - 1:
                    raise
            else:
                break
        self.patience = PATIENCE

    def histories(
        self, profile: str, first: int, count: int, seconds: float = 0, verb: str = "run"
    ) -> Iterator[Alarm | Progress]:
        """Take schedules with seeds from `first` on; yield each violation, and the progress from time to time. With the
        verb `find`, end at the first violation.
        """
        before = Progress(0, 0, 0, "0")
        while True:
            last, ended = Progress(0, 0, 0, "0"), 0
            left = max(seconds - before.seconds, 1) if seconds else 0
            try:
                if self.out:
                    self._answered(f"unlock {self.out}")
                for item in super().histories(profile, first + before.histories, count - before.histories, left, verb):
                    if isinstance(item, Progress):
                        last = item
                        yield before.followed(item, before.seconds + item.seconds)
                    else:
                        ended = item.seed - first - before.histories + 1
                        order = list(SCHEDULERS).index(profile)
                        yield replace(item, schedule=f"{SCHEDULE} {item.seed} {order}", drawn=len(item.steps))
            except FailedError:
                self.hung += 1
                last = last._replace(histories=max(ended, last.histories + 1))  # the seed that hangs is not taken again
                before = before.followed(last, before.seconds + last.seconds)
                is_over = before.histories >= count or 0 < seconds <= before.seconds
                if is_over:
                    yield before
                if is_over or self.hung > HANGS or (ended and verb == "find"):
                    return
            else:
                return

    def again(self, scheduler: str, seed: int, count: int = AGAIN) -> list[str]:
        """Return the kinds of violations in this many other schedules of a seed's story."""
        return list(self._answered(f"again {scheduler} {seed} {count}")["again"])


class Later:
    """Later releases, on which the story of a violation runs again to find the release that fixed it."""

    def __init__(self, threads: Threads, scheduler: str) -> None:
        self.threads, self.scheduler = threads, scheduler
        self._stack = ExitStack()
        self._known: dict[str, list[tuple[str, ...] | None]] = {}
        self._processes: dict[str, Threads] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def shortened(self, alarm: Alarm) -> Alarm:
        return alarm

    def explained(self, alarm: Alarm) -> tuple[tuple[str, ...] | None, Alarm]:
        """Return the bug that a later release fixes, or that release (None if unknown), and the alarm. On this release,
        other schedules of the story must show the violation again, and on the later release none of as many.
        """
        names = self._known.setdefault(alarm.kind, [])
        if len(names) < KINDS:
            names.append(self._explained(alarm))
        return names[-1], alarm

    def _explained(self, alarm: Alarm) -> tuple[str, ...] | None:
        later = [version for version in REPAIRED_IN if version > self.threads.release.version]
        if not later or self.threads.again(self.scheduler, alarm.seed).count(alarm.kind) < ENOUGH:
            return None
        for version in later:
            with suppress(UsageError):
                if version not in self._processes:
                    self._processes[version] = self._stack.enter_context(Threads(threads_release(version)))
                if alarm.kind not in self._processes[version].again(self.scheduler, alarm.seed):
                    name, says = REPAIRED_IN[version]
                    return (name if says in alarm.message else f"gone by {version}",)
        return None
