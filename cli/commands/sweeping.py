"""What `fencepost sweep` does: the grid as cells, the walks on Spark, and traces of what they violated."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.engines import Question, kernels_of, source_of
from fencepost.api.files import make_sure_folder, make_sure_writable, write_text
from fencepost.api.grids import Setting, axes_of, settings_of
from fencepost.api.quantities import parse_duration
from fencepost.api.targets import find_protocol
from fencepost.api.traces import trace_of_path, write_trace
from fencepost.cli.commands.request import Request
from fencepost.cli.commands.shrink import shortened
from fencepost.cli.commands.simulate import weight_of
from fencepost.cli.commands.sweep_data import sweep_data
from fencepost.cli.status import Exit, exit_of, worst_exit
from fencepost.cli.views.console import print_json, results
from fencepost.cli.views.display import Display
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from fencepost.counterexamples.trace import Trace
    from fencepost.explorers.spark.session import Cluster
    from fencepost.explorers.spark.summary import Summary, Violation
    from fencepost.explorers.spark.sweep import Swept
    from fencepost.explorers.spark.walking import Sweep
    from fencepost.invariants.protocols import Protocol


@dataclass(frozen=True)
class Asked:
    """A sweep as it was asked for."""

    found: Protocol
    names: tuple[str, ...]
    """The properties that are judged."""
    axes: dict[str, list[int]]
    settings: dict[str, Setting]
    """By cell."""
    refused: tuple[Setting, ...]
    """Those whose constants make no sense together."""
    given: dict[str, Any]


@dataclass(frozen=True)
class Shown:
    """A violation with its trace, shortened if that was asked for."""

    violation: Violation
    trace: Trace
    length: int
    shortest: bool
    file: str


def run_sweep(given: dict[str, Any]) -> Exit:
    """Sweep, and tell what was found."""
    given["weights"] = dict(map(weight_of, given["weights"]))
    asked, cluster = _asked(given), _request(given).cluster()
    _request(given).expected()
    if not cluster.is_local and not given["output"]:
        raise UsageError(
            f"with --master {given['master']} the walks are kept in a folder that all executors see: "
            "write --output with such a folder, or a URL such as hdfs://host/folder."
        )
    if given["resume"] and not given["output"]:
        raise UsageError("--resume was given without walks to go on with: write --output DIR --resume.")
    if given["html"]:
        make_sure_writable(Path(given["html"]))
    if given["trace"]:
        make_sure_folder(Path(given["trace"]))
    temporary = "" if given["output"] else tempfile.mkdtemp(prefix="fencepost-sweep-")
    try:
        with Display(quiet=given["quiet"]) as display:
            return _swept(asked, cluster, temporary or given["output"], display)
    finally:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)


def _request(given: dict[str, Any]) -> Request:
    own = ("settings", "version", "with_", "without", "properties", "normalize", "expect", "master", "conf")
    return Request(protocols=(given["protocol"],), engine="spark", **{name: given[name] for name in own})


def _asked(given: dict[str, Any]) -> Asked:
    from fencepost.explorers.spark.walking import cell_of

    found = find_protocol(given["protocol"])
    ((_, question),) = _request(given).questions(walks=True)
    axes = axes_of(found.machine, given["grid"])
    settings: dict[str, Setting] = {}
    refused = []
    for setting in settings_of(found.machine, question.constants, axes):
        if setting.constants is None:
            refused.append(setting)
        else:
            settings[cell_of(dict(setting.constants.shown()))] = setting
    if not settings:
        raise UsageError(f"every cell of the grid is refused; the first: {refused[0].refused}")
    names = tuple(item.name for item in question.properties)
    return Asked(found, names, axes, settings, tuple(refused), given)


def _swept(asked: Asked, cluster: Cluster, folder: str, display: Display) -> Exit:
    from fencepost.explorers.spark import sweep as sweeping
    from fencepost.explorers.spark.session import look_for_java, spark
    from fencepost.explorers.spark.summary import summarise

    given = asked.given
    budget = parse_duration(given["budget"], "--budget") if given["budget"] else None
    look_for_java()
    plan = _plan(asked, display)
    sweeping.prepare(folder, plan, resume=given["resume"])
    with ExitStack() as stack:
        with display.busy(f"{asked.found.name}: starting Spark with master {cluster.shown}"):
            context = stack.enter_context(spark(cluster))
        from pyspark.sql import SparkSession

        sql = SparkSession(context)
        tell = display.telling_walks(asked.found.name, given["walks"] * len(asked.settings))
        swept = sweeping.run(sql, plan, given["walks"], folder, budget=budget, tell=tell)
        display.clear()
        rows = sweeping.rows_of(sql, folder)
        if rows is None:
            raise UsageError("no walk was walked: give the sweep more time with --budget.")
        with display.busy("summing up"):
            summary = summarise(sql, rows.where(rows["cell"].isin(list(asked.settings))))
    shown = _traces(asked, plan, summary, display)
    return _tell(asked, swept, summary, shown)


def _plan(asked: Asked, display: Display) -> Sweep:
    """Compile every shape of the grid here first, so that executors on this machine find it compiled."""
    from fencepost.explorers.spark.machines import Origin
    from fencepost.explorers.spark.walking import Sweep

    given, name = asked.given, asked.given["protocol"]
    text = Path(name).read_text() if name.endswith(".py") or "/" in name else ""
    properties = asked.found.select(asked.names)
    origins = []
    for cell, setting in asked.settings.items():
        assert setting.constants is not None
        question = Question(asked.found.machine, setting.constants, properties)
        kernels_of(question, source_of(question, Options(normalize=given["normalize"])), display)
        origins.append((cell, Origin(asked.found.name, text, tuple(setting.values.items()), asked.names, given["normalize"])))
    return Sweep(tuple(origins), given["seed"], given["depth"], tuple(given["weights"].items()))


def _traces(asked: Asked, plan: Sweep, summary: Summary, display: Display) -> list[Shown]:
    """Return for each property that is violated the trace of its shortest walk, replayed here and shortened."""
    from fencepost.explorers.spark.walking import walker_of

    shown = []
    best: dict[str, Violation] = {}
    for item in summary.violations:
        if item.property not in best or item.length < best[item.property].length:
            best[item.property] = item
    for prop, violation in sorted(best.items()):
        setting = asked.settings[violation.cell]
        assert setting.constants is not None
        walker = walker_of(plan.by_cell[violation.cell])
        judged = next(item for item in walker.properties if item.name == prop)
        steps = violation.length - 1 - (1 if judged.over_steps else 0)
        way = walker.way(violation.walk, seed=plan.seed, steps=steps, weights=walker.weights(dict(plan.weights)))
        path = walker.confirm(way, judged)
        trace = trace_of_path(asked.found, setting.constants, prop, path, normalize=asked.given["normalize"])
        shrunk = shortened(trace, display, 0) if asked.given["shrinks"] else None
        made = shrunk.trace if shrunk else trace
        file = ""
        if asked.given["trace"]:
            file = str(Path(asked.given["trace"]) / f"{asked.found.name}-{prop}.trace")
            write_trace(made, Path(file))
        length = shrunk.path.length if shrunk else path.length
        shown.append(Shown(violation, made, length, bool(shrunk and shrunk.shortest), file))
    return shown


def _tell(asked: Asked, swept: Swept, summary: Summary, shown: list[Shown]) -> Exit:
    data = sweep_data(asked, swept, summary, shown)
    if asked.given["html"]:
        from fencepost.cli.views.sweep_page import page

        write_text(Path(asked.given["html"]), page(data))
    if asked.given["json"]:
        print_json(data)
    else:
        from fencepost.cli.views.sweep import print_sweep

        print_sweep(results(), data, coverage=asked.given["coverage"])
    verdict = Verdict.VIOLATED if summary.violations else Verdict.NOT_FOUND
    early = [] if swept.complete else [Exit.UNDETERMINED]
    return worst_exit([exit_of(verdict, _request(asked.given).expected()), *early])
