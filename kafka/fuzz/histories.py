"""Random histories on Kafka's classes, drawn in Java, saved as scripts, and explained by fixes that prevent alarms."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

from fencepost.explorers.running.files import read_named
from fencepost.kafka.clusters.kit import Kit
from fencepost.kafka.driver.process import Driver
from fencepost.kafka.driver.releases import BROKERS, KAFKA, RELEASES, Harness, Release
from fencepost.kafka.driver.releases import release as release_of
from fencepost.model.language.errors import UsageError

OLDER = {"3.7.2": "kafka-3.7", "3.8.1": "kafka-3.8"}
FUZZ = Harness({**OLDER, **RELEASES}, "fencepost.Fuzz", (*BROKERS.sources, KAFKA / "fuzz" / "java"))
PROFILES = {
    "mixed": "each seed uses one of the next four profiles",
    "disks": "a directory fails, is removed from log.dirs, or is replaced with an empty directory",
    "crashes": "a process crashes and loses records that were not flushed",
    "operators": "reassignments, elections, deleted records, recreated topics, changes to min ISR; no fault loses data",
    "all": "failed disks, crashes and operators combined",
    "transactions": "idempotent and transactional producers, with a few faults and operators",
    "sessions": "incremental fetch sessions, with a few faults and operators",
}
REPAIRS = (
    *("hyp-16", "hyp-17", "hyp-12", "hyp-18", "hyp-13", "hyp-3", "hyp-10", "hyp-11", "hyp-14", "hyp-1", "hyp-21"),
    *("hyp-32", "hyp-24", "hyp-25", "hyp-26", "hyp-33", "hyp-34", "hidden-checkpoint", "hyp-28", "hyp-27"),
    *("hyp-37", "hyp-38", "replicated-transaction"),
)
"""Findings fixed by edits to Kafka's classes, most frequent first."""
SWITCHES = ("late-epoch-flush", "hyp-8", "hyp-11", "failed-while-moved", "left-out-start")
"""Findings fixed by replacing a class of the driver. For example, a late flush of a deleted log's epoch cache may empty
the cache of a new log with the same name.
"""
TOGETHER = 2
"""Number of fixes tried together if no single fix prevents a violation."""
FLAGS = ("-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2")
"""A JVM option that makes identity hashes, and thus the iteration order of maps, the same in every process."""
PATIENCE = 600.0
"""Seconds after which a history counts as stuck; on a busy machine, a process may need a minute to start."""
LONG = ("-XX:TieredStopAtLevel=4",)
"""A JVM option that enables the optimizing compiler, which is worthwhile after a few thousand histories."""
REPAIRED_IN = {
    "3.7.1": ("KAFKA-16814", "a topic ID"), "3.8.0": ("KAFKA-15665", "still reassigned"),
    "4.0.1": ("KAFKA-19383", "but its ID is"), "4.0.2": ("KAFKA-19571", "takes a directory"),
    "4.1.0": ("KAFKA-18106", "not know it"), "4.1.2": ("KAFKA-19571", "takes a directory"),
}  # fmt: skip
"""For each release, a bug that it fixes, and words from the message of the bug's violation."""
HEAD = "fencepost fuzz 1"
SCHEDULE = "schedule"
"""The step of a script that stands for a schedule of threads."""
DIGESTED = 31
"""Factor by which a run's digest is multiplied for each history, as in `Fuzz.java`."""


class Step(NamedTuple):
    text: str
    state: str = ""


@dataclass(frozen=True)
class Script:
    shape: str
    steps: tuple[str, ...]

    def line(self) -> str:
        return f"{self.shape}|{';'.join(self.steps)}"

    def text(self, alarm: "Alarm | None" = None, kafka: str = "") -> str:
        lines = [HEAD, self.shape, *self.steps]
        if alarm is not None:
            told = [f"# Kafka {kafka}, seed {alarm.seed}: {alarm.message}"]
            each = [f"{step.text:<20} # {words(step.text)}" for step in alarm.steps]
            if alarm.schedule:
                each = [*(f"# {step.text}" for step in alarm.steps), alarm.schedule]
            lines = [HEAD, *told, self.shape, *each]
        return "\n".join(lines) + "\n"

    @property
    def schedule(self) -> tuple[int, ...] | None:
        """The seed and the scheduler of a schedule, and the first seed of its process; None for a history."""
        verb, *numbers = self.steps[0].split() if self.steps else [""]
        is_whole = verb == SCHEDULE and len(numbers) == 3 and int(numbers[2]) <= int(numbers[0])
        return tuple(map(int, numbers)) if is_whole else None

    @classmethod
    def read(cls, path: Path) -> "Script":
        try:
            text = read_named(path).decode()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(f"{path} cannot be read: {why}. Name a file that was written with `output=`.") from error
        return cls.parse(text, path)

    @classmethod
    def parse(cls, text: str, where: object) -> "Script":
        lines = [line.partition("#")[0].strip() for line in text.splitlines()]
        head, *rest = [line for line in lines if line] or [""]
        wellformed = (
            head == HEAD
            and rest
            and re.fullmatch(r"([a-z-]+=\d+ ?){7}", rest[0])
            and all(
                re.fullmatch(r"[a-z-]+( \d+){0,3}", step) and step.split()[0] in (*WORDS, SCHEDULE) for step in rest[1:]
            )
        )
        if not wellformed:
            raise UsageError(
                f"{where} is not a history of `fencepost fuzz`: its first line is {head[:40]!r}, or a later line is "
                f"not a step. Write {HEAD!r}, then the sizes, then one step per line, as in files that `output=` "
                "writes."
            )
        return cls(rest[0], tuple(rest[1:]))


@dataclass(frozen=True)
class Alarm:
    seed: int
    kind: str
    message: str
    trace: str
    shape: str
    steps: tuple[Step, ...]
    drawn: int = 0
    schedule: str = ""

    @property
    def script(self) -> Script:
        return Script(self.shape, (self.schedule,) if self.schedule else tuple(step.text for step in self.steps))

    @classmethod
    def of(cls, told: dict[str, Any]) -> "Alarm":
        shown = told["shown"] or [""] * len(told["steps"])
        steps = tuple(map(Step, told["steps"], shown))
        drawn = told.get("drawn", len(steps))
        return cls(
            told.get("seed", -1), told["kind"] or "", told["message"] or "", told["trace"], told["shape"], steps, drawn
        )

    def data(self) -> dict[str, Any]:
        return {
            "seed": self.seed,
            "violated": self.message,
            "steps_drawn": self.drawn,
            "cluster": self.shape,
            "steps": [
                {"step": step.text, "words": words(step.text), "state": step.state.strip()} for step in self.steps
            ],
            **({"trace": self.trace.splitlines()} if self.trace else {}),
        }


WORDS = {
    "produce": "a client writes to partition {1} on broker {0}, with acks=all",
    "fetch": "broker {0} fetches from broker {1}", "send": "broker {0} sends a fetch to broker {1}",
    "reread": "broker {1} sends the bytes of its answer to broker {0} after a delay",
    "retry": "a client resends its last write to partition {1} to broker {0}, with the same sequence number",
    "move": "an operator moves the replica of partition {1} on broker {0} to directory d{2}",
    "copy": "broker {0} copies replicas between its directories", "fail-over": "another controller becomes active",
    "serve": "a pending fetch reaches its leader", "follow": "broker {0} handles the answer from broker {1}",
    "publish": "broker {0} reads the metadata log", "answer": "broker {0} handles the answer to its AlterPartition",
    "alter": "the controller handles an AlterPartition request of broker {0}",
    "resend": "broker {0} sends its AlterPartition request again",
    "assign": "broker {0} assigns a replica to a directory (AssignReplicasToDirs)",
    "heartbeat": "broker {0} sends a heartbeat",
    "late-heartbeat": "a heartbeat from an earlier process of broker {0} arrives",
    "checkpoint": "broker {0} writes its checkpoints",
    "roll": "the log of partition {1} on broker {0} starts a new segment",
    "retain": "broker {0} deletes all segments of partition {1} except the last (retention)",
    "fence": "the session of broker {0} expires: it is fenced", "stop": "broker {0} requests a controlled shutdown",
    "kill": "broker {0} is killed; its disks stay intact",
    "crash": "broker {0} crashes and loses the last {1} records of each log, which were not flushed",
    "boot": "broker {0} starts but does not register yet", "register": "broker {0} registers",
    "start": "broker {0} starts and registers", "lag": "follower {2} of partition {1} is too slow for leader {0}",
    "work": "background tasks of broker {0} run", "shrink": "broker {0} removes slow followers from its ISRs",
    "fail": "directory d{1} of broker {0} fails",
    "take": "the operator removes directory d{1} from log.dirs of broker {0}",
    "replace": "the operator replaces directory d{1} of broker {0} with an empty directory",
    "delete": "an operator deletes the records of partition {1} up to the high watermark",
    "elect": "an operator requests a preferred leader election for partition {0}",
    "elect-unclean": "an operator requests an unclean election for partition {0}",
    "balance": "the controller makes preferred replicas leaders again",
    "reassign": "an operator reassigns partition {0} to brokers {1}, {1}+{2}, and so on",
    "cancel": "an operator cancels the reassignment of partition {0}", "recreate": "the topic is deleted and recreated",
    "min-isr": "an operator sets min.insync.replicas to {0}",
    "write": "producer {2} writes to partition {1} on broker {0}", "append": "a leader appends a batch that waits",
    "again": "producer {2} sends its oldest unanswered batch of partition {1} to broker {0}",
    "verify": "a batch of producer {2} for partition {1} is verified on broker {0}, and waits",
    "deny": "broker {0} cannot verify a batch of producer {2} for partition {1}",
    "commit": "producer {0} commits", "abort": "producer {0} aborts",
    "expire": "the transaction of producer {0} times out, or the producer bumps its epoch",
    "mark": "broker {0} gets the end of the transaction of producer {2} for partition {1}",
    "tear": "broker {0} crashes, loses the last {1} records of each log, and tears snapshots that were not flushed",
    "sessions": "leaders use fetch sessions from now on", "open": "a client opens a fetch session on broker {0}",
    "late-fetch": "the last fetch of broker {0} arrives at broker {1} again",
    "cut": "the connection of broker {0} to broker {1} ends before broker {0} gets an answer",
    "elr-off": "an operator turns eligible leader replicas off", "unregister": "an operator unregisters broker {0}",
}  # fmt: skip


def words(step: str) -> str:
    verb, *numbers = step.split()
    return WORDS[verb].format(*numbers, *"000") if verb in WORDS else step


class Progress(NamedTuple):
    """The progress of a run: `digest` covers all states of all histories; `taken` counts recent steps."""

    histories: int
    steps: int
    seconds: float
    digest: str
    taken: tuple[int, ...] = ()

    def followed(self, later: "Progress", seconds: float) -> "Progress":
        digest = int(self.digest, 16) * pow(DIGESTED, later.histories, 1 << 64) + int(later.digest, 16)
        return Progress(
            self.histories + later.histories, self.steps + later.steps, seconds, f"{digest % (1 << 64):x}", later.taken
        )


class Fuzzer(Driver):
    hung = 0  # processes that were replaced

    def __init__(self, release: Release, patience: float = PATIENCE) -> None:
        super().__init__(release, patience)

    def histories(
        self, profile: str, first: int, count: int, seconds: float = 0, verb: str = "run"
    ) -> Iterator[Alarm | Progress]:
        """Execute random histories with seeds from `first` on; yield each alarm, and the progress from time to time."""
        line = f"{verb} {profile} {first} {count} {seconds}"
        told = self._answered(line)
        while True:
            if "seed" in told:
                yield Alarm.of(told)
            else:
                done = told.get("at", told.get("done", 0))
                yield Progress(done, told["steps"], told["seconds"], told["digest"], tuple(told["taken"]))
                if "done" in told:
                    return
            told = self._read(line)

    def replayed(self, script: Script, fixes: tuple[str, ...] = (), *, shortens: bool = False) -> Alarm | None:
        told = self._answered(f"{'shorten' if shortens else 'replay'} {script.line()}|{' '.join(fixes)}")
        return Alarm.of(told) if told["kind"] else None

    def stop(self) -> None:
        self._process.kill()


def fuzz_release(version: str | None, jars: Path | None, *, is_long: bool = False) -> Release:
    return replace(release_of(version, jars, FUZZ), options=(*FLAGS, *(LONG if is_long else ())))


@dataclass
class Repaired:
    release: Release
    kit: Kit
    _stack: ExitStack = field(default_factory=ExitStack)
    _later: dict[str, Fuzzer] = field(default_factory=dict)
    _latest: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Findings that explained the latest violations of each kind."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    @cached_property
    def _plain(self) -> Fuzzer:
        return self._stack.enter_context(Fuzzer(replace(self.release, options=FLAGS)))

    @cached_property
    def _fixed(self) -> tuple[Fuzzer, tuple[str, ...]]:
        """A process in which each replay turns on the fixes that it names, and the names of the fixes that fit the
        release. One process for all fixes is fast: loading Kafka's classes takes seconds; a replay takes 0.1 s.
        """
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-repairs-"))
        fit = self.kit.switched(REPAIRS, Path(folder))
        path = Path(f"{folder}{os.pathsep}{self.release.classes}")
        process = self._stack.enter_context(Fuzzer(replace(self.release, classes=path, options=FLAGS)))
        return process, (*fit, *(name for name in SWITCHES if name not in REPAIRS))

    def explained(self, alarm: Alarm) -> tuple[tuple[str, ...] | None, Alarm]:
        """Return the findings that explain a violation (None if unknown), and the alarm, possibly shortened. A fix that
        prevents the violation in the whole history explains it; otherwise, fixes and pairs are tried on the shortest.
        """
        fit = [(name,) for name in self._fixed[1]]
        tried = [self._latest[alarm.kind]] if alarm.kind in self._latest else []
        for names in (*tried, *fit):
            if self._ends(names, alarm.script):
                self._latest[alarm.kind] = names
                return names, alarm
        short = self.shortened(alarm)
        found: tuple[str, ...] | None = next((names for names in fit if self._ends(names, short.script)), None)
        found = found or self._together(self._fixed[1], short.script)
        return found or self._repaired_in(short.script, short.message), short

    def _together(self, names: tuple[str, ...], script: Script) -> tuple[str, ...] | None:
        """Return at most `TOGETHER` fixes that prevent a violation only together, or None. First, all fixes are
        applied; then they are removed one by one, because trying every pair would take too many replays.
        """
        if not self._ends(names, script):
            return None
        for name in names:
            fewer = tuple(other for other in names if other != name)
            if self._ends(fewer, script):
                names = fewer
        return names if len(names) <= TOGETHER else None

    def _repaired_in(self, script: Script, message: str) -> tuple[str, ...] | None:
        """Find the first later release without the violation; return the bug it fixes, or the release, or None."""
        for version, (name, says) in REPAIRED_IN.items():
            if version > self.release.version:
                with suppress(UsageError):
                    if version not in self._later:
                        self._later[version] = self._stack.enter_context(Fuzzer(fuzz_release(version, None)))
                    if self._later[version].replayed(script) is None:
                        return (name if says in message else f"gone by {version}",)
        return None

    def shortened(self, alarm: Alarm) -> Alarm:
        """Return the alarm with its history shortened, or the same alarm if the violation does not recur."""
        found = self._plain.replayed(alarm.script, shortens=True)
        return alarm if found is None else replace(found, seed=alarm.seed, drawn=len(alarm.steps))

    def _ends(self, repairs: tuple[str, ...], script: Script) -> bool:
        return self._fixed[0].replayed(script, repairs) is None
