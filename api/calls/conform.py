"""Comparisons of Kafka with the model: histories on Kafka's classes, checks, changes, clients and clusters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fencepost.api.answers.as_json import table
from fencepost.api.answers.results import Answer
from fencepost.api.asking.arguments import call
from fencepost.api.asking.constants import join_values, make_constants, read_values
from fencepost.api.asking.watching import Event, Watch, watched
from fencepost.api.files import make_sure_folder
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.kafka.clusters.reproduce import Report
    from fencepost.kafka.conform.binding import Binding
    from fencepost.kafka.conform.builds import BuildsReport
    from fencepost.kafka.driver.releases import Release

WORST_FIRST = ("differs", "undetermined", "conforms")


class Comparison(Protocol):
    @property
    def title(self) -> str:
        """The subject of the comparison, with the release or the client."""

    @property
    def verdict(self) -> str:
        """The verdict: conforms, differs or undetermined."""

    def summary(self) -> Iterator[str]:
        """Yield the lines below the verdict, with details indented by two spaces."""

    def data(self) -> dict[str, Any]:
        """Return the comparison as JSON."""


@dataclass(frozen=True)
class ConformResult(Answer):
    """The result of comparing Kafka with the model: the worst verdict, and all comparisons."""

    verdict: str
    runs: tuple[Comparison, ...] = field(repr=False)

    @classmethod
    def of(cls, *runs: Comparison) -> ConformResult:
        """Combine comparisons into one result. The JSON lists several comparisons under `runs`."""
        shown = [run.data() for run in runs]
        verdicts = {run.verdict for run in runs}
        data = shown[0] if len(shown) == 1 else {"format": shown[0]["format"], "runs": shown}
        return cls(data, next(item for item in WORST_FIRST if item in verdicts), runs)

    def _repr_html_(self) -> str:
        rows = [(run.title, run.verdict, " / ".join(map(str.strip, run.summary()))) for run in self.runs]
        return table(f"conform: {self.verdict}", ("compared", "verdict", "what"), rows)


@call
def conform(
    what: str,
    *,
    kafka: str | None = None,
    jars: str | Path | None = None,
    constants: Mapping[str, Any] | None = None,
    version: str = "",
    traces: Iterable[str | Path] = (),
    walks: int | None = None,
    depth: int | None = None,
    seed: int = 1,
    lines: bool = False,
    budget: float | None = None,
    workers: int = 0,
    output: str | Path | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    **settings: Any,
) -> ConformResult:
    """Execute histories of a protocol on the classes of Apache Kafka, and compare the whole state after every step.

    `kafka` is a release such as "4.1.2", whose jars Maven downloads, and `jars` is a folder of jars to use instead. By
    default, the executed walks together take every transition of a small state graph, whose constants can be changed.
    Instead, `walks` executes that many random walks of up to `depth` steps, and `traces` executes histories from files.
    If `lines` is set, the result lists the executed lines of Kafka's classes. `budget` is in seconds, and `workers` is
    the number of processes that run Kafka's classes. Each difference is written to the folder `output`, as a trace.
    """
    from fencepost.kafka.conform import histories

    folder = _folder(output)
    bound, release = _prepare(what, kafka, jars, watched(progress), version)
    files = tuple(map(Path, traces))
    if files:
        reports = [histories.conform_trace(bound, release, file) for file in files]
    else:
        usual = {**bound.rules(release.model), **({} if walks else bound.small)}
        given = read_values(bound.machine, join_values(constants, settings))
        chosen = make_constants(bound.machine, release.model, {**usual, **given})
        depth, workers = depth or histories.DEPTH, workers or os.cpu_count() or 1
        plan = histories.HistoriesPlan(chosen, walks or 0, depth, seed, budget, workers, lines)
        reports = [histories.conform_histories(bound, release, plan, watched(progress).note)]
    if folder is not None:
        for report in reports:
            histories.write_differences(report, folder)
    return ConformResult.of(*reports)


@call
def conform_guards(
    what: str,
    *,
    kafka: str | None = None,
    jars: str | Path | None = None,
    version: str = "",
    ablate: bool = True,
    refusals: int | None = None,
    seed: int = 1,
    progress: Watch | Callable[[Event], None] | None = None,
) -> ConformResult:
    """Remove each of Kafka's checks from a protocol, or change a rule, and test whether the comparison detects it.

    `refusals` is the number of steps to try on Kafka although the model forbids them. `ablate=False` removes no check.
    """
    from fencepost.kafka.conform.guards import conform_guards as compare

    watch = watched(progress)
    bound, release = _prepare(what, kafka, jars, watch, version)
    return ConformResult.of(compare(bound, release, refusals or 0, seed, watch.note, ablate=ablate))


@call
def conform_changes(
    what: str = "replication",
    *,
    kafka: str | None = None,
    jars: str | Path | None = None,
    version: str = "",
    progress: Watch | Callable[[Event], None] | None = None,
) -> ConformResult:
    """Compare each partition change that a controller could make with the result of Kafka's PartitionChangeBuilder."""
    from fencepost.kafka.conform.binding import PROTOCOL
    from fencepost.kafka.conform.changes import conform_changes as compare

    if what != PROTOCOL:
        raise UsageError(
            f"changes of a partition can be compared only for `{PROTOCOL}`, not for {what!r}: Kafka's "
            "PartitionChangeBuilder makes them."
        )
    watch = watched(progress)
    bound, release = _prepare(what, kafka, jars, watch, version)
    base = make_constants(bound.machine, release.model, {})
    return ConformResult.of(compare(release, bound.machine, base, watch.note))


@call
def conform_clients(
    clients: Iterable[str],
    *,
    protocol: str = "leader-discovery",
    walks: int | None = None,
    depth: int | None = None,
    seed: int = 1,
    traces: Iterable[str | Path] = (),
    stories: Iterable[str] = (),
    budget: float | None = None,
    output: str | Path | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
) -> ConformResult:
    """Play histories of leader discovery to clients such as "librdkafka==2.6.1", and check whether they follow the
    rules of KIP-951 and KIP-320.

    The histories come from `traces` and `stories`, or are random `walks` of up to `depth` steps. By default, the
    histories are walks that together take every transition of a small state graph. For protocol `idempotent-producer`,
    random walks (100 by default) are played to idempotent producers. For a range such as "librdkafka==2.4.0..2.8.0",
    the first and the last release are tested. For each rule that only one of the two releases breaks, a bisection finds
    the first release with the change. `budget` is in seconds for each client. One failure per rule is written to the
    folder `output`.
    """
    from fencepost.kafka.clients.history import DEPTH
    from fencepost.kafka.clients.report import ClientPlan
    from fencepost.kafka.clients.report import conform_clients as play

    plan = ClientPlan(
        walks or 0, depth or DEPTH, seed, tuple(map(Path, traces)), tuple(stories), budget, _folder(output), protocol
    )
    return ConformResult.of(*play(tuple(clients), plan, watched(progress).note))


@call
def conform_brokers(
    bootstrap_server: str, *, anywhere: bool = False, progress: Watch | Callable[[Event], None] | None = None
) -> ConformResult:
    """Query a cluster's brokers at HOST:PORT, for instance for epoch end offsets, and compare answers with the model.

    A topic with the prefix `fencepost-conform-` is created, written to, and removed; no broker is stopped. A cluster
    that is not on this machine is queried only with `anywhere=True`.
    """
    from fencepost.kafka.clients.outside import conform_brokers as ask

    return ConformResult.of(ask(bootstrap_server, watched(progress).note, anywhere=anywhere))


@dataclass(frozen=True)
class BuildsResult(Answer):
    """The result of comparing two builds of Kafka: the verdict (same, differs, or not-exercised), and a report."""

    verdict: str
    title: str
    report: BuildsReport = field(repr=False)

    def _repr_html_(self) -> str:
        return table(f"{self.title}: {self.verdict}", ("",), [(line.strip(),) for line in self.report.summary()])


@call
def compare_builds(
    *,
    kafka: Iterable[str] = (),
    jars: Iterable[str | Path] = (),
    draws: int = 0,
    seed: int = 1,
    budget: float | None = None,
    output: str | Path | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
) -> BuildsResult:
    """Execute the same histories on two builds of Kafka, and find the first history after which they differ.

    The builds are two releases (`kafka`), two folders of jars (`jars`), or one of each, in which case the release is A.
    The histories are all histories of `conform` that execute a method whose bytecode differs, and then `draws` random
    histories of `fuzz`, numbered from `seed`. Changed methods that no history executes are listed. The history after
    which the builds differ is written to the folder `output`, as a trace.
    """
    from fencepost.kafka.conform.binding import REPLICATION
    from fencepost.kafka.conform.builds import compare_builds as compare
    from fencepost.kafka.conform.builds import write_trace
    from fencepost.kafka.driver.releases import release

    versions, folders, folder = tuple(kafka), tuple(map(Path, jars)), _folder(output)
    if len(versions) + len(folders) != 2:
        raise UsageError(
            "a comparison needs two builds: write `kafka=` and `jars=` once each, or one of them with two values, "
            'such as `kafka=["4.1.2"]` and `jars=["DIR"]`.'
        )
    watch = watched(progress)
    found = [*(release(item) for item in versions), *(release(None, item) for item in folders)]
    for item in found:
        if item.warning:
            watch.note(item.warning)
    titles = [f"Kafka {item}" for item in versions]
    titles += [f"Kafka {item.version} in {where}" for item, where in zip(found[len(versions) :], folders, strict=True)]
    report = compare(REPLICATION, (found[0], found[1]), (titles[0], titles[1]), watch.note, budget, (draws, seed))
    if folder is not None:
        write_trace(report, folder)
    return BuildsResult(report.data(), report.verdict, report.title, report)


@dataclass(frozen=True)
class ReproduceResult(Answer):
    """The actual and the expected result of reproducing a finding. `lost` lists the keys of lost records."""

    title: str
    verdict: str
    expected: str
    lost: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, report: Report) -> ReproduceResult:
        repairs = report.asked.repairs
        some = bool(repairs) and len(repairs) < len(report.scenario.repairs(report.kit.number))
        repaired = f" (fixed: {', '.join(repairs)})" if some else " (repaired)"
        mode = " (control)" if report.asked.control else repaired if repairs else ""
        title = f"{report.scenario.name} on Kafka {report.kit.version}{mode}"
        return cls(report.data(), title, report.verdict, report.expected, tuple(report.lost))

    def _repr_html_(self) -> str:
        rows = [(item["seconds"], item["kind"], item["text"]) for item in self.data["steps"]]
        return table(f"{self.title}: {self.verdict}", ("seconds", "kind", "what"), rows)


@call
def reproduce(
    finding: str,
    *,
    kafka: str | None = None,
    jars: str | Path | None = None,
    control: bool = False,
    repaired: bool = False,
    repair: Iterable[str] = (),
    budget: float | None = None,
    port: int | None = None,
    output: str | Path | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
) -> ReproduceResult:
    """Reproduce a finding on a cluster on this machine, and compare the readable records with the acknowledged ones.

    `control` omits the trigger of the finding. `repaired` runs Kafka with all fixes for the finding, and `repair` with
    only some of them. `port` is the first port of the cluster, and `budget` limits the run in seconds. Logs, settings
    and disks of all nodes are copied to the folder `output`. The subfolders `before-start-*` contain the disks before
    each node's last restart.
    """
    from fencepost.kafka.clusters.kit import kit
    from fencepost.kafka.clusters.reproduce import PORT, SCENARIOS, SECONDS, Asked, choose_repairs
    from fencepost.kafka.clusters.reproduce import reproduce as play
    from fencepost.kafka.clusters.scenario import named

    if control and (repaired or repair):
        raise UsageError(
            "`control=True` and `repaired=True` exclude each other: a control has nothing to fix. Leave one of the "
            "two arguments out."
        )
    if repaired and repair:
        raise UsageError("`repaired=True` selects all fixes, and `repair=` some of them: write only one of the two.")
    folder, watch = _folder(output), watched(progress)
    scenario = named(finding, SCENARIOS)
    release = kit(kafka, Path(jars) if jars else None)
    if release.warning:
        watch.note(release.warning)
    repairs = choose_repairs(scenario, release, tuple(repair)) if repaired or repair else ()
    asked = Asked(control, repairs, port or PORT, budget or SECONDS, folder)
    return ReproduceResult.of(play(scenario, asked, release, lambda line: watch.note(line.shown())))


def list_findings() -> list[dict[str, str]]:
    """Return the findings that can be reproduced, each with its name, its title, and its trigger."""
    from fencepost.kafka.clusters.reproduce import SCENARIOS

    return [{"name": found.name, "title": found.title, "control": found.control} for found in SCENARIOS]


def _folder(output: str | Path | None) -> Path | None:
    folder = Path(output) if output else None
    if folder is not None:
        make_sure_folder(folder)
    return folder


def _prepare(
    what: str, kafka: str | None, jars: str | Path | None, watch: Watch, version: str
) -> tuple[Binding, Release]:
    from fencepost.kafka.conform.binding import binding
    from fencepost.kafka.driver.releases import release

    bound = binding(what)
    found = release(kafka, Path(jars) if jars else None, bound.harness)
    if found.warning:
        watch.note(found.warning)
    if version:
        known = list(dict.fromkeys(bound.harness.releases.values()))
        named = bound.machine.version(version).name
        if named not in known:
            raise UsageError(
                f"`version=` {version!r} is not a release of Kafka with a driver: write one of {', '.join(known)}."
            )
        found = replace(found, model=named)
    return bound, found
