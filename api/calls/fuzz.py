"""Random histories on Kafka's own classes, checked after each step. Known findings are identified by their fixes."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fencepost.api.answers.as_json import table
from fencepost.api.answers.results import Answer
from fencepost.api.asking.arguments import call
from fencepost.api.asking.quantities import counted, show_seconds
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.files import make_sure_folder
from fencepost.explorers.running.files import write_file
from fencepost.explorers.spark.session import Cluster
from fencepost.kafka.clusters.kit import kit
from fencepost.kafka.driver.releases import Release, line_of
from fencepost.kafka.fuzz.histories import PROFILES, Alarm, Fuzzer, Progress, Repaired, Script, Step, fuzz_release
from fencepost.kafka.fuzz.schedules import FIGURE as LOCKS
from fencepost.kafka.fuzz.schedules import SCHEDULERS, Later, Threads, threads_release
from fencepost.kafka.fuzz.sight import OWN, figure_of, sight
from fencepost.model.language.errors import UsageError, nearest

FORMAT = 1
HISTORIES = 1_000
LEAST = 100
"""The measured table of planted bugs applies only to runs of at least this many histories."""
UNKNOWN = ""
SHORTENED = 3
"""Number of violations to shorten per finding."""
LONG_HISTORIES, LONG_SECONDS = 5_000, 300
"""Minimum number of histories, and minimum budget in seconds, of a long run."""
PIECE = 5_000
"""Number of histories per Parquet file."""
UNMEASURED = "; no table shows how many missing locks such a run would overlook"
NOUNS = (("history", "histories"), ("schedule of threads", "schedules of threads"))
"""Nouns for the items that are counted, without and with threads."""
COLUMNS = ("kafka", "seed", "steps", "verdict", "finding", "violated", "script")


@dataclass(frozen=True)
class FuzzResult(Answer):
    """Results of random histories on Kafka's classes.

    `verdict` is `unknown` if some violation has no known cause, `known` if known findings explain all violations,
    `nothing` if there are no violations, and `undetermined` after too few histories. `findings` counts violations of
    each known finding, and `unknown` holds the shortest history of each other violation.
    """

    verdict: str
    kafka: str
    histories: int
    findings: dict[str, int]
    unknown: tuple[Alarm, ...] = field(repr=False)
    sentence: str = field(repr=False)
    sight: str = field(repr=False)

    def _repr_html_(self) -> str:
        return table(self.sentence, ("finding", "times"), self.findings.items())


@call
def fuzz(
    *,
    kafka: str | None = None,
    jars: str | Path | None = None,
    histories: int | None = None,
    budget: float | None = None,
    seed: int = 1,
    profile: str = "mixed",
    replay: str | Path | None = None,
    output: str | Path | None = None,
    threads: bool = False,
    scheduler: str | None = None,
    cluster: Cluster | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
) -> FuzzResult:
    """Run random histories on a controller and brokers built from Kafka's classes, and check them after every step.

    No model chooses the steps, which are drawn at random. Histories are numbered from `seed`, and contain so few faults
    that every loss is a bug. Each violation is shortened, and replayed with the fix of each known finding to identify
    its cause. The run ends after `histories` histories or `budget` seconds. `replay` is the file of a single history to
    execute instead. The shortest histories are written to the folder `output` as scripts. With pyarrow, all histories
    are also written to the folder as Parquet, from which a stopped run continues. If `cluster` is given, Spark runs the
    same histories, with a Java process in each Python worker. If `threads` is set, the brokers' threads race, in one
    schedule per seed, chosen by a `scheduler` (random, pct, pos, or mixed).
    """
    if profile not in PROFILES:
        raise UsageError(f"there is no profile {profile!r}.{nearest(profile, PROFILES, 'The profiles are:')}")
    script = Script.read(Path(replay)) if replay else None
    scheduler = _scheduler(profile, scheduler, script, threads=threads, on_spark=cluster is not None)
    folder, watch = Path(output) if output else None, watched(progress)
    if folder is not None:
        make_sure_folder(folder)
    folder_of_jars = Path(jars) if jars else None
    is_long = (histories or 0) >= LONG_HISTORIES or (budget or 0) >= LONG_SECONDS
    watch.spin("preparing Kafka's classes")
    release = (
        threads_release(kafka, folder_of_jars) if threads else fuzz_release(kafka, folder_of_jars, is_long=is_long)
    )
    if profile in OWN and line_of(release.version) < (3, 8):
        raise UsageError(f"the profile {profile!r} needs Kafka 3.8 or newer: name another profile or release.")
    if script is not None and script.schedule is None and "elr=1" in script.shape and line_of(release.version) < (4, 0):
        raise UsageError(f"the history needs ELR, which Kafka {release.version} does not have: replace elr=1 by elr=0.")
    if release.warning:
        watch.note(release.warning)
    began = time.monotonic()
    explaining: AbstractContextManager[Repaired | Later] = (
        nullcontext(Later(release, scheduler)) if threads else Repaired(release, kit(release.version, release.jars))
    )
    with (Threads if threads else Fuzzer)(release) as fuzzer, explaining as repaired:
        found = _Found(release, scheduler or profile, seed, folder, watch, is_threads=threads)
        found.pieces.read(found.alarms)
        try:
            if script is not None and script.schedule is not None:
                found.is_replay = True
                last, _, first = script.schedule  # the contents of Kafka's static fields depend on earlier schedules
                taken = fuzzer.histories(scheduler, first, last - first + 1)
                found.take((item for item in taken if not isinstance(item, Alarm) or item.seed == last), repaired)
            elif script is not None:
                found.replayed(fuzzer.replayed(script), repaired)
            else:
                count = (histories or (HISTORIES if budget is None else 1 << 40)) - found.pieces.earlier
                if count > 0 and cluster is not None:
                    from fencepost.api.calls.on_spark import Drawn, draw_on

                    drawn = Drawn(kafka, folder_of_jars, profile, found.pieces.next, count, budget or 0)
                    found.stopped = draw_on(cluster, drawn, lambda told: found.take(iter(told), repaired), watch) != ""
                elif count > 0:
                    found.take(fuzzer.histories(found.profile, found.pieces.next, count, budget or 0), repaired)
        except KeyboardInterrupt:
            found.stopped = True
            fuzzer.stop()
        except UsageError:
            found.pieces.write()
            raise
        found.hung = fuzzer.hung
        watch.clear()
    return found.result(time.monotonic() - began)


def _scheduler(profile: str, scheduler: str | None, script: Script | None, *, threads: bool, on_spark: bool) -> str:
    """Return the scheduler, or "" if `threads` is not set. Options that do not apply raise an error."""
    is_schedule = script is not None and script.schedule is not None
    if not threads and (scheduler is not None or is_schedule):
        given = "a schedule as `replay=`" if scheduler is None else "`scheduler=`"
        raise UsageError(f"{given} was given without `threads=`: add `threads=`.")
    if threads and (profile != "mixed" or on_spark or (script is not None and not is_schedule)):
        given = "`profile=`" if profile != "mixed" else "`master=`" if on_spark else "a history as `replay=`"
        raise UsageError(f"{given} does not apply to `threads=`: leave out one of them.")
    if scheduler is not None and scheduler not in SCHEDULERS:
        raise UsageError(f"there is no scheduler {scheduler!r}.{nearest(scheduler, SCHEDULERS, 'The schedulers are:')}")
    if script is not None and script.schedule is not None:
        return SCHEDULERS[script.schedule[1] % len(SCHEDULERS)]
    return (scheduler or "mixed") if threads else ""


class _Pieces:
    """All histories of a release and a profile, numbered from a seed, as Parquet files with PIECE rows each."""

    def __init__(self, release: Release, profile: str, seed: int, folder: Path | None) -> None:
        driver = release.classes.name.rpartition("-")[2]  # a different driver draws different histories
        self.kafka, self.folder, self.name = release.version, folder, f"{release.version}-{profile}-{driver}"
        self.next = seed
        self.earlier = self.steps = 0
        self.rows: list[tuple[Any, ...]] = []

    def _path(self, first: int) -> Path:
        assert self.folder is not None
        return self.folder / f"histories-{self.name}-{first:09}.parquet"

    def read(self, alarms: dict[int, tuple[Alarm, str]]) -> None:
        with suppress(ImportError):
            from pyarrow import parquet

            while self.folder is not None and (path := self._path(self.next)).is_file():
                rows = parquet.read_table(path).to_pylist()
                for row in (row for row in rows if row["verdict"] != "nothing"):
                    script, kind = Script.parse(row["script"], path), re.sub(r"\d+", "#", row["violated"])
                    alarm = Alarm(row["seed"], kind, row["violated"], "", script.shape, tuple(map(Step, script.steps)))
                    alarms[row["seed"]] = (alarm, row["finding"])
                self.steps += sum(row["steps"] for row in rows)
                self.next += len(rows)
                self.earlier += len(rows)

    def add(self, taken: Iterable[int], alarms: dict[int, tuple[Alarm, str]]) -> None:
        for steps in taken:
            seed = self.next + len(self.rows)
            alarm, name = alarms.get(seed, (None, UNKNOWN))
            if alarm is None:
                row = (steps, "nothing", "", "", "")
            else:
                row = (steps, "known" if name else "unknown", name, alarm.message, alarm.script.text())
            self.rows.append((self.kafka, seed, *row))
            if len(self.rows) == PIECE:
                self.write()

    def write(self) -> None:
        with suppress(ImportError):
            import pyarrow as pa
            from pyarrow import parquet

            if self.folder is not None and self.rows:
                columns = [list(column) for column in zip(*self.rows, strict=True)]
                part = self._path(self.next).with_suffix(".part")
                parquet.write_table(pa.table(columns, names=COLUMNS), part)
                part.replace(self._path(self.next))
        self.next += len(self.rows)
        self.rows = []


class _Found:
    def __init__(
        self, release: Release, profile: str, seed: int, folder: Path | None, watch: Watch, *, is_threads: bool = False
    ) -> None:
        self.release, self.profile, self.seed, self.folder, self.watch = release, profile, seed, folder, watch
        self.stopped = self.is_replay = False
        self.is_threads, self.hung = is_threads, 0
        self.alarms: dict[int, tuple[Alarm, str]] = {}
        self.pieces = _Pieces(release, profile, seed, folder)
        self.progress: Progress | None = None

    def take(self, told: Iterator[Alarm | Progress], repaired: Repaired | Later) -> None:
        for item in told:
            if isinstance(item, Alarm):
                self._add(item, repaired)
            else:
                self.progress = item
                self.pieces.add(item.taken, self.alarms)
                each = f"{item.histories:,} histories, {item.steps:,} steps"
                self.watch.spin(f"Kafka {self.release.version}: {each}, {counted(len(self.alarms), 'violation')}")

    def replayed(self, alarm: Alarm | None, repaired: Repaired | Later) -> None:
        self.is_replay = True
        if alarm is not None:
            self._add(alarm, repaired)

    def _add(self, alarm: Alarm, repaired: Repaired | Later) -> None:
        self.watch.spin(f"seed {alarm.seed}: {alarm.message}; comparing with known findings")
        names, short = repaired.explained(alarm)
        name = UNKNOWN if names is None else " and ".join(names).upper()
        if short is alarm and not self.is_replay and sum(n == name for _, n in self.alarms.values()) < SHORTENED:
            short = repaired.shortened(alarm)
        self.alarms[alarm.seed] = (short, name)

    def result(self, seconds: float) -> FuzzResult:
        alarms = list(self.alarms.values())
        self.pieces.write()
        counts = Counter(name for _, name in alarms)
        shortest: dict[tuple[str, str], Alarm] = {}
        for alarm, name in alarms:
            key = (name, alarm.kind if name == UNKNOWN else "")
            if key not in shortest or len(alarm.steps) < len(shortest[key].steps):
                shortest[key] = alarm
        unknown = tuple(alarm for (name, _), alarm in shortest.items() if name == UNKNOWN)
        findings = {name: count for name, count in counts.most_common() if name != UNKNOWN}
        drawn, steps = (self.progress.histories, self.progress.steps) if self.progress else (int(self.is_replay), 0)
        done, steps = self.pieces.earlier + drawn, self.pieces.steps + steps
        enough = done >= LEAST or self.is_replay
        seen = sight(done, LOCKS if self.is_threads else figure_of(self.profile)) if not self.is_replay else None
        verdict = "unknown" if unknown else "undetermined" if not enough else "known" if findings else "nothing"
        scripts = self._write(shortest) if self.folder is not None else []
        data = {
            "format": FORMAT,
            "kafka": self.release.version,
            **({"scheduler": self.profile, "hung": self.hung} if self.is_threads else {"profile": self.profile}),
            "seed": self.seed,
            "histories": done,
            "steps": steps,
            "digest": self.progress.digest if self.progress else "",
            "seconds": round(seconds, 3),
            "stopped": self.stopped,
            "verdict": verdict,
            "findings": [
                {"name": name, "times": times, **shortest[name, ""].data()} for name, times in findings.items()
            ],
            "unknown": [
                {**alarm.data(), "times": sum(a.kind == alarm.kind and n == UNKNOWN for a, n in alarms)}
                for alarm in unknown
            ],
            "sight": seen._asdict() if seen else None,
            "written": scripts,
        }
        names = ", ".join(f"{name} {times:,} times" if times > 1 else name for name, times in findings.items())
        kind, (one, many) = "scheduler" if self.is_threads else "profile", NOUNS[self.is_threads]
        each = f"{counted(done, f'random {one}', f'random {many}')} of Kafka {self.release.version}"
        known = f"Only known findings in {each}: {names}" if findings else f"No violation in {each}"
        sentence = {
            "unknown": f"{counted(len(unknown), 'violation')} that no known finding explains, in {each}"
            + (f"; besides {names}" if names else ""),
            "undetermined": f"{known}; at least {LEAST:,} are needed for a conclusion",
        }.get(verdict, known)
        rate = f", {self.progress.steps:,} steps in {show_seconds(self.progress.seconds)}" if self.progress else ""
        sees = (
            f"; {counted(seen.histories, *NOUNS[self.is_threads])} of {kind} {seen.profile} "
            f"{'finds' if seen.histories == 1 else 'find'} {seen.found} of {seen.planted} "
            f"{'locks removed from' if self.is_threads else 'mistakes planted in'} Kafka {seen.kafka}"
            if seen
            else UNMEASURED
            if self.is_threads and verdict == "nothing" and not self.is_replay
            else ""
        )
        hung = f"; {counted(self.hung, 'process', 'processes')} hung" if self.hung else ""
        early = "ended early; " if find_spec("pyarrow") else "ended early (to continue a run, install pyarrow first); "
        how = f"{early if self.stopped else ''}{kind} {self.profile}{rate}{hung}{sees}"
        return FuzzResult(data, verdict, self.release.version, done, findings, unknown, sentence, how)

    def _write(self, shortest: dict[tuple[str, str], Alarm]) -> list[str]:
        assert self.folder is not None
        written = []
        for number, ((name, _), alarm) in enumerate(shortest.items(), 1):
            path = self.folder / f"{name.lower().replace(' ', '-') or 'unknown'}-{number}.fuzz"
            write_file(path, alarm.script.text(alarm, self.release.version).encode())
            written.append(str(path))
        written += map(str, sorted(self.folder.glob(f"histories-{self.pieces.name}-*.parquet")))
        return written
