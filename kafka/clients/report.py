"""What a run of clients found, as data, and its failures as files."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fencepost.kafka.clients.history import DEPTH, PROTOCOL, SMALL, Source, by_name, settings
from fencepost.kafka.clients.install import Installed, installed, named
from fencepost.kafka.clients.keep import load, of_archive, page, text_of
from fencepost.kafka.clients.rules import NAMES
from fencepost.kafka.clients.run import Outcome, run, shortened
from fencepost.kafka.clients.stories import story
from fencepost.kafka.clients.wire import kio
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from fencepost.kafka.clients.history import History
    from fencepost.kafka.clients.run import Failure

FORMAT = 1
PLAYS = 10
"""How often a history that is named is played; a story says it itself."""


@dataclass(frozen=True)
class Request:
    """Which histories are played, for at most `seconds` with each client: stories, each many times, walks, files, or a path cover of SMALL."""

    walks: int = 0
    depth: int = DEPTH
    seed: int = 1
    files: tuple[Path, ...] = ()
    stories: tuple[str, ...] = ()
    seconds: float | None = None
    output: Path | None = None

    def histories(self) -> Iterator[History]:
        """Yield the histories, the same each time."""
        if self.files or self.stories:
            yield from map(load, self.files)
            for name in self.stories:
                yield from _named(name)
        elif self.walks:
            yield from Source(settings(), self.seed).walks(self.walks, self.depth)
        else:
            yield from Source(SMALL, self.seed).cover()


def _named(name: str) -> list[History]:
    """Return a story, or a history that the tables of docs/clients.md name, as often as it is played."""
    found = by_name(name) or next((one for one in of_archive() if one.name == name), None)
    if found is not None:
        return [found] * PLAYS
    told = story(name)
    return [told.history] * told.plays


@dataclass
class ClientReport:
    """What a client did, or why it could not be run."""

    asked: str
    outcome: Outcome | None = None
    missing: str = ""
    traces: dict[str, Path] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Conforms, differs or undetermined."""
        return self.outcome.verdict if self.outcome is not None else "undetermined"

    def data(self) -> dict[str, Any]:
        """Return the report as JSON."""
        found: dict[str, Any] = {"format": FORMAT, "protocol": PROTOCOL, "client": self.asked, "verdict": self.verdict}
        if self.outcome is None:
            return found | {"missing": self.missing}
        outcome = self.outcome
        return found | {
            "client": outcome.client.title,
            "histories": outcome.histories,
            "counted": outcome.counted,
            "not_played": _reasons(outcome.undone),
            "begun_again": _reasons(outcome.begun_again),
            "deaths": outcome.deaths,
            "requests_waited_for": outcome.wanted,
            "requests_in_time": outcome.followed,
            "histories_per_second": round(outcome.histories / outcome.seconds, 1) if outcome.seconds else 0.0,
            "complete": outcome.complete,
            "rules": [outcome.row(name) for name in NAMES],
            "differences": [self._difference(rule, found[0]) for rule, found in outcome.failures.items()],
        }

    def _difference(self, rule: str, found: Failure) -> dict[str, Any]:
        trace = self.traces.get(rule)
        return {
            "rule": rule,
            "history": found.history.name,
            "why": found.verdict.why,
            "trace": None if trace is None else str(trace),
        }


def _reasons(found: Counter[str]) -> list[dict[str, Any]]:
    return [{"why": why, "histories": count} for why, count in sorted(found.items())]


def conform_clients(clients: Sequence[str], request: Request, tell: Callable[[str], None]) -> list[ClientReport]:
    """Play the histories with each client, one after the other; a client that is missing does not keep the others from it."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it names each connection that a client has closed
    for asked in clients:
        named(asked)
    given = list(request.histories()) if request.files or request.stories else []
    kio()
    reports = []
    for asked in clients:
        report = ClientReport(asked)
        reports.append(report)
        try:
            client = installed(asked)
            tell(f"{client.title} plays")
            report.outcome = run(client, given or request.histories(), seconds=request.seconds)
        except UsageError as error:
            if len(clients) == 1:
                raise
            report.missing = str(error)
            tell(report.missing)
            continue
        if request.output is not None:
            report.traces = dict(_kept(client, report.outcome, request.output, tell))
    return reports


def _kept(client: Installed, outcome: Outcome, folder: Path, tell: Callable[[str], None]) -> Iterable[tuple[str, Path]]:
    """Write one failure of each rule, shortened, as a file that replays and a page with a diagram."""
    for rule, found in outcome.failures.items():
        best = max(found, key=lambda item: (item.is_steady, item.again))
        began = time.monotonic()
        short = shortened(client, best)
        tell(
            f"{rule}: {len(best.history.moves)} moves shortened to {len(short.history.moves)} in {time.monotonic() - began:.0f} s"
        )
        name = f"{client.name.replace('/', '-')}-{client.version or 'own'}-{rule}"
        path = folder / f"{name}.history"
        told = text_of(
            short.history,
            client=client.title,
            rule=rule,
            why=short.verdict.why,
            again=f"{short.again} of {short.plays}",
        )
        path.write_text(told, "utf-8")
        text = page(short.history, short.play, rule, short.verdict.why, client.title, short.verdict.event, path.name)
        (folder / f"{name}.md").write_text(text, "utf-8")
        yield rule, path
