"""The pytest plugin, with a fixture that checks protocols, trace files as tests, and a summary of the checks. Pytest
loads the plugin at startup in every project with Fencepost installed, so other modules are imported only when needed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fencepost.api.calls.shrink import ReplayResult
    from fencepost.explorers.verdict import Result
    from fencepost.testing.checks import Search

OPTIONS = (
    ("engine", "NAME", "The search engine: native (the default) or plain."),
    ("workers", "N", "Number of search threads (default: 1 under xdist, otherwise one per processor)."),
    ("budget", "TIME", "Stop each search after this much time, e.g. 30s; its verdict is then undetermined."),
    ("model", "FILE.py", "File that defines the protocol of collected traces."),
    ("trace-dir", "DIR", "Write the trace of each unexpected violation to this folder."),
)
FACT = "fencepost"
"""Name of the property that holds the result of each check in test reports."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fencepost", "Fencepost: models of replication protocols")
    for name, metavar, said in OPTIONS:
        group.addoption(f"--fencepost-{name}", metavar=metavar, help=said, type=int if name == "workers" else str)
    group.addoption("--fencepost-traces", action="store_true", help="Collect .trace files and replay them as tests.")


@pytest.fixture
def fencepost(request: pytest.FixtureRequest) -> Fencepost:
    """Return an object that checks protocols and replays traces, as in `fencepost.check(MACHINE, PROPERTIES)`."""
    return Fencepost(request.node, request.config)


class Fencepost:
    """The checks of one test, with the options of the pytest run."""

    def __init__(self, item: pytest.Item, config: pytest.Config) -> None:
        self.item, self.config = item, config

    def check(self, *what: Any, **given: Any) -> Result:
        """Explore every reachable state; fail the test if a verdict is unexpected or undetermined.

        The arguments are the same as for `fencepost.testing.check`. `search` takes precedence over the options of the
        pytest run. Files are first looked up in the test's folder.
        """
        __tracebackhide__ = True
        from fencepost.model.language.errors import ExpectationError, FencepostError, UndeterminedError
        from fencepost.testing import checks as testing

        given.setdefault("search", self.search())
        try:
            result = testing.check(*map(self.beside, what[:1]), *what[1:], **given)
        except (ExpectationError, UndeterminedError) as error:
            self.note(str(error).partition("\n")[0])
            raise _short(error) from None
        except FencepostError as error:
            raise _short(error) from None
        self.note(testing.describe(result, as_expected=True))
        return result

    def replay(self, file: str | Path, model: str | Path | None = None) -> ReplayResult:
        """Replay a trace file, and fail the test if the replay fails. `model` is the file of a user's own protocol."""
        __tracebackhide__ = True
        from fencepost.model.language.errors import FencepostError
        from fencepost.testing import checks as testing

        try:
            made = testing.replay(self.beside(file), model and self.beside(model))
        except FencepostError as error:
            raise _short(error) from None
        self.note(_replayed(made))
        return made

    def beside(self, what: Any) -> Any:
        """Return the path of a file in the test's folder; return other values unchanged."""
        is_file = isinstance(what, Path) or (isinstance(what, str) and Path(what).suffix in (".py", ".trace"))
        here = self.item.path.parent / what if is_file else None
        return here if here is not None and here.is_file() else what

    def note(self, text: str) -> None:
        self.item.user_properties.append((FACT, text))

    def search(self) -> Search:
        from fencepost.api.asking.quantities import parse_duration
        from fencepost.testing.checks import Search

        option = self.config.getoption
        workers = option("fencepost_workers")
        budget = option("fencepost_budget")
        return Search(
            engine=option("fencepost_engine") or "native",
            workers=workers if workers is not None else int("PYTEST_XDIST_WORKER" in os.environ),
            budget=parse_duration(budget, "--fencepost-budget") if budget else None,
            trace=self.trace(),
        )

    def trace(self) -> Path | None:
        folder = self.config.getoption("fencepost_trace_dir")
        if not folder:
            return None
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Path(folder) / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', self.item.nodeid).strip('-')}.trace"


def pytest_configure(config: pytest.Config) -> None:
    given = [name for name in ("fencepost_engine", "fencepost_budget") if config.getoption(name, None)]
    if given:
        from fencepost.api.asking.quantities import parse_duration
        from fencepost.api.calls.check import choose_engine
        from fencepost.model.language.errors import UsageError

        try:
            choose_engine(config.getoption("fencepost_engine") or "native")
            parse_duration(config.getoption("fencepost_budget") or "1s", "--fencepost-budget")
        except UsageError as error:
            raise pytest.UsageError(f"fencepost: {error}") from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect trace files named on the command line or, with --fencepost-traces, all trace files."""
    if file_path.suffix == ".trace" and (
        parent.config.getoption("fencepost_traces") or parent.session.isinitpath(file_path)
    ):
        return TraceFile.from_parent(parent, path=file_path)
    return None


class TraceFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield TraceItem.from_parent(self, name="replay")


class TraceItem(pytest.Item):
    """The replay of a trace, which passes if every step is enabled and the trace ends as it claims."""

    def runtest(self) -> None:
        from fencepost.model.language.errors import UsageError
        from fencepost.testing import checks as testing

        try:
            made = testing.replay(self.path, self.config.getoption("fencepost_model"))
        except UsageError as error:
            raise UsageError(str(error).replace("`model='FILE.py'`", "--fencepost-model FILE.py")) from error
        self.user_properties.append((FACT, _replayed(made)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the failure of a replay without the stack frames of Fencepost."""
        from fencepost.model.language.errors import FencepostError

        return str(excinfo.value) if isinstance(excinfo.value, FencepostError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, 0, f"{self.path.name}: replay"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print a line for each check, with its verdict and the number of states."""
    lines = [
        f"{report.nodeid}: {value}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == FACT
    ]
    if lines:
        terminalreporter.section("fencepost")
        for line in sorted(lines):
            terminalreporter.write_line(line)


def _short(error: Exception) -> BaseException:
    return pytest.fail.Exception(str(error), pytrace=False)


def _replayed(made: ReplayResult) -> str:
    count = "1 state" if made.path.length == 1 else f"{made.path.length} states"
    return f"{made.trace.protocol.name}: {made.finding}: a trace of {count}, as recorded in the file"
