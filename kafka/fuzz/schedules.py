"""Schedules of a broker's threads: Fray's jars, the JDK that it needs, and the Java process that takes schedules."""

import os
import platform
import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from fencepost.explorers.running.cache import cache_folder
from fencepost.kafka.driver import releases
from fencepost.kafka.driver.process import FailedError
from fencepost.kafka.fuzz.histories import FLAGS, FUZZ, PATIENCE, SCHEDULE, Alarm, Fuzzer, Progress
from fencepost.model.language.errors import UsageError

FRAY = "0.9.2"
JDK = 25
"""The release of Java that Fray controls. In others, Fray controls only the first thread, but reports no error."""
SCHEDULERS = ("mixed", "random", "pct", "pos")
"""Fray's schedulers. With `mixed`, each seed uses one of the others."""
JLINK_SECONDS, START_SECONDS, SCHEDULE_SECONDS = 600, 400.0, 120.0
"""Seconds after which jlink, the start of a process, or a schedule counts as stuck, and the process is killed."""
THREADS = releases.Harness(FUZZ.releases, "fencepost.Schedules", (*FUZZ.sources, releases.KAFKA / "fuzz" / "threads"))
MODULES = "java.se,jdk.unsupported,jdk.management,jdk.zipfs"
HANGS = 20  # processes in a run
FIGURE = "locks"
REPAIRED_IN = {"3.9.2": ("KAFKA-18723", "epoch")}
"""For each release, a race that it fixes, and a word from the message of the race's violation."""
AGAIN, ENOUGH = 300, 3
"""How many schedules of a story are run to attribute a violation, and how many of them must show it again."""


def fray() -> Path:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise UsageError("Fray controls threads only on Linux on x86_64: leave out `threads=`.")
    names = ("core", "runtime", "jvmti-linux-x8664", "instrumentation-agent", "instrumentation-jdk")
    groups = [f"org.pastalab.fray{'.instrumentation' * name.startswith('instrumentation')}" for name in names]
    needed = [releases.Artifact(of, f"fray-{name}", FRAY) for of, name in zip(groups, names, strict=True)]
    folder, what = cache_folder() / "kafka" / f"fray-{FRAY}", f"Fray {FRAY}, which `threads=` needs"
    return releases.fetch_jars(releases.pom("fray", *needed), folder, what, "leave out `threads=`")


def installed_jdk() -> Path:
    """Return the folder of an installed JDK 25: the one in JAVA_HOME, or one from the usual place on Linux."""
    home = os.environ.get("JAVA_HOME")
    for folder in [*([Path(home)] if home else []), *sorted(Path("/usr/lib/jvm").glob("*"))]:
        with suppress(OSError):
            told = re.search(r'JAVA_VERSION="(\d+)', (folder / "release").read_text("utf-8"))
            if told is not None and int(told[1]) == JDK and (folder / "bin" / "jlink").is_file():
                return folder
    raise UsageError(
        f"`threads=` needs a JDK {JDK} with jlink, but JAVA_HOME and /usr/lib/jvm have none: install it (such as "
        f"temurin-{JDK}-jdk) or leave out `threads=`."
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
        done = releases.run(command, JLINK_SECONDS, "jlink")
        if done.returncode != 0:
            said = (done.stdout + done.stderr).strip()[:300]
            raise UsageError(f"jlink from {jdk} failed to build the JDK that `threads=` needs: {said}")
        with zipfile.ZipFile(jars / f"fray-jvmti-linux-x8664-{FRAY}.jar") as jar:
            jar.extract("libjvmti.so", made / "lib")
        releases.move_folder(made, kept)
    return kept


def threads_release(version: str | None, jars: Path | None = None) -> releases.Release:
    known, folder, warning = releases.locate_release(version, jars, THREADS)
    library = fray()
    jdk = controlled_jdk(library)
    classes = releases.compile_driver(known, folder, THREADS.sources, library)
    agent = library / f"fray-instrumentation-agent-{FRAY}.jar"
    opens = (f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "util.concurrent"))
    options = ("-Xmx2g", *FLAGS, *opens, f"-agentpath:{jdk}/lib/libjvmti.so", f"-javaagent:{agent}")
    java = str(jdk / "bin" / "java")
    return releases.Release(
        known, THREADS.model_of(known), folder, classes, THREADS, (library,), warning, options, java
    )


class Threads(Fuzzer):
    """A process that takes schedules. If it hangs or ends, another process continues with the next seed."""

    def __init__(self, release: releases.Release) -> None:
        self.out = 0  # the number of the method without a lock (`locks.py`)
        try:
            super().__init__(release, START_SECONDS)
        except FailedError:  # starting may hang while Fray's agent observes a new thread
            super().__init__(release, START_SECONDS)
        self.patience = SCHEDULE_SECONDS

    def histories(
        self, profile: str, first: int, count: int, seconds: float = 0, verb: str = "run"
    ) -> Iterator[Alarm | Progress]:
        """Take schedules with seeds from `first` on; yield each violation, and the progress from time to time. With the
        verb `find`, end at the first violation.
        """
        before, ended = Progress(0, 0, 0, "0"), 0
        while before.histories < count and self.hung <= HANGS and not (ended and verb == "find"):
            last, ended, start = Progress(0, 0, 0, "0"), 0, first + before.histories
            left = max(seconds - before.seconds, 1) if seconds else 0
            try:
                if self.out:
                    self._answered(f"unlock {self.out}")
                for item in super().histories(profile, start, count - before.histories, left, verb):
                    if isinstance(item, Progress):
                        last = item
                        yield before.followed(item, before.seconds + item.seconds)
                    else:
                        ended = item.seed - start + 1
                        schedule = f"{SCHEDULE} {item.seed} {SCHEDULERS.index(profile)} {start}"
                        yield replace(item, schedule=schedule, drawn=len(item.steps))
            except FailedError:
                self.hung += 1
                last = last._replace(histories=max(ended, last.histories + 1))  # the seed that hangs is not taken again
                before = before.followed(last, before.seconds + last.seconds)
                yield before
            else:
                return

    def again(self, scheduler: str, seed: int) -> list[str]:
        """Return the kinds of violations in other schedules of a seed's story."""
        self.patience = PATIENCE
        return list(self._answered(f"again {scheduler} {seed} {AGAIN}")["again"])


@dataclass
class Later:
    """Later releases, on which the story of a violation runs again to find the release that fixed it."""

    release: releases.Release
    scheduler: str
    _known: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    """The findings by kind of violation; only the first violation of a kind is tried."""

    def shortened(self, alarm: Alarm) -> Alarm:
        return alarm

    def explained(self, alarm: Alarm) -> tuple[tuple[str, ...] | None, Alarm]:
        """Return the bug that a later release fixes, or that release (None if unknown), and the alarm. Other schedules
        of the story must show the violation again on this release; as many on the later release must not show it.
        """
        if alarm.kind not in self._known:
            self._known[alarm.kind] = None
            for version, (name, says) in REPAIRED_IN.items():
                with suppress(UsageError):
                    if version > self.release.version and self._shows(self.release, alarm) >= ENOUGH:
                        gone = self._shows(threads_release(version), alarm) == 0
                        found = name if says in alarm.message else f"gone by {version}"
                        self._known[alarm.kind] = (found,) if gone else None
        return self._known[alarm.kind], alarm

    def _shows(self, release: releases.Release, alarm: Alarm) -> int:
        with Threads(release) as process:
            return process.again(self.scheduler, alarm.seed).count(alarm.kind)
