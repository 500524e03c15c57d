"""Histories for comparing builds of Kafka, created once per release line, and their execution on a build. Some walks
cover every transition of a small state graph. Random walks use each set of constants for ablation; together, they use
every budget of the model. Longer walks combine the budgets of brokers, messages and operators. Other histories end with
a step that Kafka's checks reject: the nearest for a check or rule, or a random one. Histories are stored as the
driver's commands, so builds execute them without the model. Each reply is a digest, and a Java agent records which
methods of Kafka were executed.
"""

import gzip
import hashlib
import json
import os
import random
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from fencepost.explorers.program.fingerprint import ends, texts
from fencepost.explorers.running.cache import cache_folder
from fencepost.explorers.running.files import write_file
from fencepost.kafka.clusters.kit import JAVASSIST
from fencepost.kafka.conform.binding import Binding
from fencepost.kafka.conform.guards import groups, variant_rows
from fencepost.kafka.driver.ablation import read_sizes
from fencepost.kafka.driver.chances import Ground
from fencepost.kafka.driver.process import Driver, FailedError
from fencepost.kafka.driver.releases import HERE, Artifact, Release, compile_driver, fetch_jars, pom
from fencepost.kafka.driver.walks import Cover, state_graph, walks
from fencepost.kafka.fuzz.histories import FLAGS
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter, Step, Transition

EDITION = 1
"""Version of the histories; increase it if the model's histories change."""
SOURCES = Path(__file__).parent / "java"
WALKS = 60
DEPTH = 60
WIDE = read_sizes(
    "brokers=3 min_isr=2 max_records=2 metadata_lag=5 crashes=2 clean_stops=1 fences=2 shrinks=1 lags=1 elections=1 "
    "early_starts=1 resends=1 late_fetches=1 alter_partitions=3 max_leader_epoch=6",
    "brokers=3 min_isr=2 max_records=2 metadata_lag=5 crashes=1 clean_stops=2 fences=1 shrinks=2 raises=1 lowers=1 "
    "late_fetches=1 max_leader_epoch=6",
    "brokers=4 movable=4 spare=2 min_isr=2 max_records=1 metadata_lag=7 crashes=1 clean_stops=1 fences=1 shrinks=1 "
    "lags=1 reassignments=2 cancels=1 elections=1 max_leader_epoch=6",
    "brokers=3 elr=0 unclean_election=1 max_records=2 metadata_lag=5 crashes=2 clean_stops=1 fences=2 shrinks=1 "
    "lags=1 elections=1 max_leader_epoch=6",
)
"""Constants of the longer walks. Late answers and log directories occur only in the walks for ablation."""
WIDE_WALKS = 250
MOST = 20_000
"""Maximum number of states per set of constants to search for steps that Kafka rejects."""
PART = 1_000
TRIES = 3
REFUSALS = 5


class History(NamedTuple):
    """The names of a history's steps, and the driver's commands. If `tries` is set, the model rejects the last step."""

    ground: int
    tries: bool
    steps: tuple[tuple[str, tuple[Any, ...]], ...]
    lines: tuple[str, ...]


class Recorder:
    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.lines: list[str] = []

    def ask(self, line: str) -> dict[str, Any]:
        self.lines.append(line)
        return self.driver.ask(line)


def grounds(bound: Binding, model: str) -> list[Constants]:
    machine = bound.machine
    values = dict(machine.version(model).values)
    sizes = [bound.small, *bound.ablation.grounds(machine.set_constants(values)), *WIDE]
    found = [{**values, **bound.rules(model), **item} for item in sizes]
    kept = [machine.set_constants({**item, "elr": values.get("elr", 1) and item.get("elr", 1)}) for item in found]
    return [item for item in kept if not bound.why_not(model, item)]


def suite(bound: Binding, release: Release, tell: Callable[[str], None], until: float | None = None) -> list[History]:
    """Return the histories of a release line from the cache. On first use, they are created by executing this release.
    After the time `until`, the remaining sets of constants are left for the next call.
    """
    known = (EDITION, release.model, release.classes.name, *texts(bound.machine, ()), *ends(bound.machine, ()))
    stem = f"suite-{hashlib.sha256(repr(known).encode()).hexdigest()[:16]}"
    every = grounds(bound, release.model)
    paths = [cache_folder() / "kafka" / release.version / f"{stem}-{place}.json.gz" for place in range(len(every))]
    missing = [place for place, path in enumerate(paths) if not path.is_file()]
    if missing:
        tell(f"creating the histories for {release.model}, which happens once and takes a few minutes")
        with Driver(release) as driver:
            for place in missing:
                if place and until is not None and time.monotonic() > until:
                    return _histories(tuple(paths[:place]))
                tell(f"{place + 1} of {len(every)} sets of constants")
                found = Counter(_kept(paths[place - 1])[0] if place else ())
                wide = place >= len(every) - len(WIDE)
                made = list(_made(bound, driver, every[place], place, found, wide=wide))
                _keep(paths[place], [found, made])
    return _histories(tuple(paths))


def _keep(path: Path, data: Any) -> None:
    write_file(path, gzip.compress(json.dumps(data).encode(), mtime=0))


def _kept(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


@cache
def _histories(paths: tuple[Path, ...]) -> list[History]:
    return [
        History(ground, tries, _tuples(steps), tuple(lines))
        for path in paths
        for ground, tries, steps, lines in _kept(path)[1]
    ]


def _tuples(item: Any) -> Any:
    return tuple(map(_tuples, item)) if isinstance(item, list) else item


def _made(
    bound: Binding, driver: Driver, constants: Constants, place: int, found: Counter[str], *, wide: bool
) -> Iterator[History]:
    plain = Interpreter(bound.machine, constants)
    graph = state_graph(plain, MOST) if place == 0 else None
    drawn = walks(plain, WIDE_WALKS if wide else WALKS, DEPTH, 1)
    for history in (*(Cover(graph).walks() if graph else ()), *drawn):
        yield _recorded(bound, driver, plain, place, list(history), None)
    if place and not wide:
        ground = Ground(bound.ablation, bound.machine, constants, MOST)
        for history, step in _tried(bound, ground, place, found):
            yield _recorded(bound, driver, ground.plain, place, list(history), step)


def _tried(
    bound: Binding, ground: Ground, place: int, found: Counter[str]
) -> Iterator[tuple[tuple[Transition, ...], Step]]:
    """Yield histories, each of which ends with a step on which the model and a variant disagree."""
    for row in variant_rows(bound, ground.constants):
        if found[row.variant.name] < TRIES:
            for variant in {replace(row.variant, others=()), row.variant}:
                for chance in ground.chances(variant, 1):
                    found[row.variant.name] += 1
                    yield chance.history, chance.step
    for variant in groups(bound):
        chances = random.Random(f"{variant.name} {place}")  # noqa: S311 (no secret)
        for chance in ground.refusals(variant, REFUSALS, chances):
            yield chance.history, chance.step


def _recorded(
    bound: Binding, driver: Driver, plain: Interpreter, place: int, history: list[Transition], last: Step | None
) -> History:
    recorder = Recorder(driver)
    execution = bound.follow(recorder, plain)  # type: ignore[arg-type]
    execution.run(plain.initial_states()[0], history)
    steps = [item.step for item in history] + ([last] if last else [])
    if last is not None:
        try:
            line = execution.line_of(last)
            if line and execution.at == (history[-1].after if history else plain.initial_states()[0]):
                recorder.ask(line)
        except FailedError:
            pass
    return History(
        place, last is not None, tuple((step.action.name, step.args) for step in steps), tuple(recorder.lines)
    )


@dataclass
class Executed:
    digests: dict[int, tuple[str, ...]] = field(default_factory=dict)
    methods: dict[int, frozenset[str]] = field(default_factory=dict)


class Player(Driver):
    """A build that executes histories and records which of its methods run, limited to `chosen` methods if given. A
    chosen method may be followed by a tab and the lines to record. `conditions` names both branches of each conditional
    jump in these lines, for methods of loaded classes.
    """

    def __init__(self, release: Release, chosen: Iterable[str] | None = None, compiled: Release | None = None) -> None:
        self._agent = tempfile.TemporaryDirectory(prefix="fencepost-agent-")
        seen = seen_by_agent(release, Path(self._agent.name), chosen, compiled)
        self.conditions: set[str] = set()
        super().__init__(replace(release, **seen))

    def __exit__(self, *error: object) -> None:
        self.close()
        self._agent.cleanup()

    def _start(self) -> None:
        self._names: list[str] = []
        super()._start()

    def play(self, history: History) -> tuple[tuple[str, ...], frozenset[str]]:
        """Execute a history; return the digest of each reply (`broken` for a failure) and the executed methods."""
        try:
            found = self.tell(f"replay {';'.join(history.lines)}")
        except FailedError:
            return ("broken",), frozenset()
        self._failed = found["digests"][-1] == "broken"
        self._names += found["hits"]["names"]
        self.conditions.update(name for name in found["hits"]["names"] if "#" in name)
        return tuple(found["digests"]), frozenset(self._names[number] for number in found["hits"]["hit"])


def javassist() -> Path:
    project = pom("javassist", Artifact("org.javassist", "javassist", JAVASSIST, alone=True))
    return fetch_jars(project, cache_folder() / "kafka" / f"javassist-{JAVASSIST}", f"javassist {JAVASSIST}")


def tools(release: Release) -> tuple[Path, Path]:
    """Return the directories of the programs that inspect classes, and of the library that these programs need."""
    library = javassist()
    return compile_driver(release.version, release.jars, (HERE / "loop", SOURCES), library), library


def seen_by_agent(
    release: Release, folder: Path, chosen: Iterable[str] | None, compiled: Release | None = None
) -> dict[str, Any]:
    """Return a release whose methods report their execution to an agent `compiled` for another release."""
    ours, library = tools(compiled or release)
    with zipfile.ZipFile(folder / "agent.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nPremain-Class: fencepost.conform.Agent\n")
    named = ""
    if chosen is not None:
        (folder / "methods").write_text("".join(f"{name}\n" for name in chosen))
        named = f"={folder / 'methods'}"
    return {
        "classes": Path(f"{release.classes}{os.pathsep}{ours}"),
        "more": (*release.more, library),
        "options": (*release.options, *FLAGS, f"-javaagent:{folder / 'agent.jar'}{named}"),
    }


def executed(release: Release, histories: list[History], tell: Callable[[str], None]) -> Executed:
    folder, paths = cache_folder() / "kafka" / release.version, {}
    for first in range(0, len(histories), PART):
        part = histories[first : first + PART]
        what = repr((EDITION, release.classes.name, [item.lines for item in part]))
        paths[folder / f"executed-{hashlib.sha256(what.encode()).hexdigest()[:16]}.json.gz"] = part
    missing = {path: part for path, part in paths.items() if not path.is_file()}
    if missing:
        tell(f"executing {len(histories):,} histories on Kafka {release.version}, which happens once")
        with Player(release) as player:
            for path, part in missing.items():
                found = [player.play(history) for history in part]
                names = sorted(frozenset().union(*(hit for _, hit in found)))
                numbers = {name: number for number, name in enumerate(names)}
                _keep(path, [names, [[digests, sorted(map(numbers.__getitem__, hit))] for digests, hit in found]])
    done = _executed(tuple(paths))
    if not any(done.methods.values()):
        raise UsageError(
            f"no method of Kafka {release.version} in {release.jars} was executed: check that these are Kafka's jars."
        )
    return done


@cache
def _executed(paths: tuple[Path, ...]) -> Executed:
    found = Executed()
    for path in paths:
        names, rows = _kept(path)
        for digests, hit in rows:
            found.methods[len(found.digests)] = frozenset(names[number] for number in hit)
            found.digests[len(found.digests)] = tuple(digests)
    return found
