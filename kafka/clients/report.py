"""Plays of many histories to one client, several in parallel; results are returned as JSON, failures as files."""

import asyncio
import itertools
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from fencepost.kafka.clients.duties import NAMES
from fencepost.kafka.clients.events import SLACK, Play
from fencepost.kafka.clients.history import (
    DEPTH,
    IDEMPOTENT,
    PROTOCOL,
    SMALL,
    History,
    Source,
    by_name,
    load,
    of_archive,
    page,
    producer_walks,
    settings,
    text_of,
)
from fencepost.kafka.clients.install import (
    OWN,
    PRODUCERS,
    Installed,
    ends_of,
    install_client,
    parse_client,
    releases_between,
)
from fencepost.kafka.clients.play import Player, Session, Times
from fencepost.kafka.clients.rules import BrokenRule, Judge
from fencepost.kafka.clients.sessions import ClientProcess, OwnClient
from fencepost.kafka.clients.stories import story
from fencepost.kafka.clients.telling import UNTIL_THE_END, Telling, as_story
from fencepost.kafka.clients.wire import kio
from fencepost.kafka.formatting import count_histories, many
from fencepost.model.language.errors import UsageError

AT_ONCE = 24
"""Number of histories played in parallel; they spend most of their time waiting."""
ALONE = 4
"""Maximum number of parallel processes that each play a single history."""
NEWS = ("metadata", "omitted", "hint", "preferred")
DIFFERENCES = {
    "the client got different news, because it asked at a different time or asked a different broker": NEWS,
    "the client got the same news, but between different requests": (*NEWS, "request", "answer"),
}
"""How a replay without a violation can differ from the original play, and the events that show the difference."""
AGAIN = 3
"""A history with a violation is replayed this many times, and the violation must recur each time."""


@dataclass
class Failure:
    history: History
    play: Play
    verdict: BrokenRule
    again: int = 0
    plays: int = 0
    kept: Counter[str] = field(default_factory=Counter)
    """How replays without the violation differed from the original play."""

    @property
    def is_steady(self) -> bool:
        return 0 < self.plays == self.again


@dataclass
class ClientOutcome:
    client: Installed
    histories: int = 0
    counted: int = 0
    """Number of histories in which the client could have violated at least one rule."""
    exercised: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    exercised_in: Counter[str] = field(default_factory=Counter)
    """The number of histories in which the client could have violated each rule."""
    undone: Counter[str] = field(default_factory=Counter)
    begun_again: Counter[str] = field(default_factory=Counter)
    """The number of histories that had to be played twice, by reason."""
    deaths: int = 0
    played: list[History] = field(default_factory=list)
    recorded: dict[tuple[str, str], list[bool | None]] = field(default_factory=dict)
    """Whether each play of a history whose file names a rule violated the rule; None if the rule did not apply."""
    wanted: int = 0
    followed: int = 0
    seconds: float = 0.0
    complete: bool = True
    is_interrupted: bool = False

    def add(self, history: History, play: Play) -> None:
        self.histories += 1
        self.played.append(history)
        self.wanted += play.wanted
        self.followed += play.followed
        if play.begun_again:
            self.begun_again[play.begun_again] += 1
        if play.broken and not play.is_dead:
            self.undone[play.broken] += 1
            return
        judge = Judge(play)
        self.counted += bool(+judge.exercised)
        self.exercised.update(judge.exercised)
        self.exercised_in.update(+Counter(dict.fromkeys(+judge.exercised, 1)))
        if rule := history.rule:
            is_broken = rule in {item.rule for item in judge.broken}
            self.recorded.setdefault((history.name, rule), []).append(is_broken if judge.exercised[rule] else None)
        for verdict in judge.broken:
            self.broken[verdict.rule] += 1
            self.failures.setdefault(verdict.rule, []).append(Failure(history, play, verdict))

    def row(self, rule: str) -> dict[str, Any]:
        tried = [found for found in self.failures.get(rule, []) if found.plays]
        steady = sum(found.is_steady for found in tried)
        found = {"rule": rule, "exercised": self.exercised[rule], "histories": self.exercised_in[rule]}
        return {**found, "broken": self.broken[rule], "played_again": len(tried), "steady": steady}

    def story(self, rule: str) -> tuple[Failure, Telling]:
        shown = max(self.failures[rule], key=lambda item: item.is_steady)
        return shown, as_story(shown.play, shown.verdict)

    def again(self, rule: str) -> str:
        row = self.row(rule)
        tried, steady = row["played_again"], row["steady"]
        if not tried:
            return "not replayed"
        if steady == tried:
            return f"recurred in each of {AGAIN} replays"
        kept = sum((item.kept for item in self.failures[rule]), Counter())
        whys = ", ".join(f"{many(times, 'replay')} had {why}" for why, times in kept.most_common())
        if steady:
            return f"recurred in each of {AGAIN} replays, like {steady} of {tried} failures of this rule; {whys}"
        return f"flaky: none of {many(tried, 'failure')} recurred in each of {AGAIN} replays; {whys}"

    @property
    def verdict(self) -> str:
        """`differs` if a violation recurs in every replay, `undetermined` if it recurs only in some."""
        if any(self.row(rule)["steady"] for rule in self.failures):
            return "differs"
        return "undetermined" if self.why_undetermined else "conforms"

    @property
    def why_undetermined(self) -> str:
        """The reasons why we cannot say that the client follows the rules."""
        tried = [self.row(rule)["played_again"] for rule in self.failures]
        reasons = (
            ("the run was interrupted", self.is_interrupted),
            ("the time limit was reached", not (self.complete or self.is_interrupted)),
            ("a violation did not recur in each replay", any(tried)),
            ("a violation was not replayed", not all(tried)),
            ("the client's process crashed", self.deaths),
            ("some histories were not played to the end", self.undone),
            ("no rule applied to the client in any history", not self.counted),
            ("a recorded rule never applied", any(set(found) == {None} for found in self.recorded.values())),
        )
        return ", and ".join(reason for reason, holds in reasons if holds)

    def claims(self) -> Iterator[str]:
        """Yield how often each violation that a file records recurred when the file's history was played."""
        for (name, rule), found in self.recorded.items():
            unable = found.count(None)
            without = f"; the rule did not apply in {'any' if unable == len(found) else unable}" if unable else ""
            again = f"violated in {found.count(True)} of {many(len(found), 'play')}{without}"
            yield f"{name}, recorded as a violation of {rule}: {again}"


class Pool:
    """A pool of clients of one kind, all in the same process: a driver's process, or this one for our own client.

    If the process crashes, all of its clients are lost. A new process starts, and each interrupted history is played
    again in a process of its own, so that a history that crashes clients does not affect the others.
    """

    def __init__(self, client: Installed, times: Times) -> None:
        self.client, self.times = client, times
        self.stack = AsyncExitStack()
        self.room = asyncio.Semaphore(AT_ONCE)
        self.starting = asyncio.Lock()
        self.alone = asyncio.Semaphore(ALONE)
        self.driver: ClientProcess | None = None
        self.deaths = 0

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def _start(self) -> None:
        async with self.starting:
            if self.client.command and (self.driver is None or self.driver.is_over):
                self.deaths += self.driver is not None
                self.driver = await self.stack.enter_async_context(self._process())

    def _process(self) -> ClientProcess:
        return ClientProcess(self.client.command, self.client.environment)

    async def __aexit__(self, *error: object) -> None:
        await self.stack.aclose()

    def session(self) -> Session:
        if self.driver is not None:
            return self.driver.session()
        return OwnClient(self.client.name.removeprefix(OWN).removeprefix("/"))

    async def play(self, history: History) -> Play:
        async with self.room:
            await self._start()
            play = await Player(history, self.session(), self.times).run()
            if not play.broken or self.driver is None:
                return play
            async with self.alone, self._process() as process:
                again = await Player(history, process.session(), self.times).run()
            again.begun_again = play.broken
            return again

    async def play_all(
        self, histories: Iterable[History], take: Callable[[History, Play], None], end: float | None = None
    ) -> bool:
        waiting: Iterator[History] = iter(histories)
        is_over = False

        async def work() -> None:
            nonlocal is_over
            for history in waiting:
                if end is not None and time.monotonic() > end:
                    is_over = True
                    return
                take(history, await self.play(history))

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return not is_over


async def _again(pool: Pool, found: Failure) -> None:
    for _ in range(AGAIN):
        play = await pool.play(found.history)
        found.plays += 1
        is_broken = found.verdict.rule in {item.rule for item in Judge(play).broken}
        found.again += is_broken
        if not is_broken:
            found.kept[_difference(found, play)] += 1


def _difference(found: Failure, kept: Play) -> str:
    rule, event = found.verdict.rule, found.verdict.event
    if kept.broken:
        return "the client did not start"
    if not Judge(kept).exercised[rule]:
        return "no occasion"
    if rule in {item.rule for item in Judge(replace(kept, lag=-SLACK)).broken}:
        return "the same violation, but too soon after the news to be judged"
    for why, kinds in DIFFERENCES.items():
        seen = _exchange(found.play, kinds, event.at)
        if seen != _exchange(kept, kinds)[: len(seen)]:
            return why
    return "the same exchange, which points to a race in the client"


def _exchange(play: Play, kinds: tuple[str, ...], until: float = float("inf")) -> list[tuple[Any, ...]]:
    found = (
        (item.kind, item.api, item.broker, item.partition, item.leader, item.epoch, item.error)
        for item in play.events
        if item.at <= until and item.kind in kinds
    )
    return list(dict.fromkeys(found))


def _verdict_of(play: Play, rule: str) -> BrokenRule | None:
    broken = Judge(play).broken if play.is_dead or not play.broken else []
    return next((item for item in broken if item.rule == rule), None)


async def _shorter(pool: Pool, found: Failure, most: int) -> Failure:
    """Return a failure of the same rule with fewer moves, if possible, that recurs in every replay."""
    plays = 0
    size = max(1, len(found.history.moves) // 2)
    while size and plays < most:
        moves = found.history.moves
        tries = [moves[:place] + moves[place + size :] for place in range(0, len(moves), size)]
        histories = [History(found.history.constants, one, found.history.name) for one in tries]
        played = await asyncio.gather(*(pool.play(one) for one in histories))
        plays += len(tries)
        better = None
        for history, play in zip(histories, played, strict=True):
            verdict = _verdict_of(play, found.verdict.rule)
            if verdict is None:
                continue
            again = await asyncio.gather(*(pool.play(history) for _ in range(AGAIN)))
            plays += AGAIN
            if all(_verdict_of(one, found.verdict.rule) for one in again):
                better = Failure(history, play, verdict)
                break
        if better is None:
            size //= 2
        else:
            found = better
            size = min(size, max(1, len(found.history.moves) // 2))
    return found


def shorten(client: Installed, found: Failure, times: Times | None = None, most: int = 200) -> Failure:
    """Replay a failure, and return the shortest version found in at most `most` plays."""

    async def work() -> Failure:
        async with Pool(client, times or Times()) as pool:
            short = await _shorter(pool, found, most)
            await _again(pool, short)
        is_short = len(short.history.moves) < len(found.history.moves)
        short.history = replace(short.history, name=f"{found.history.name}{' shortened' * is_short}")
        return short

    return asyncio.run(work())


def run(
    client: Installed,
    histories: Iterable[History],
    times: Times | None = None,
    seconds: float | None = None,
    most: int = 20,
) -> ClientOutcome:
    outcome = ClientOutcome(client)

    async def work() -> None:
        async with Pool(client, times or Times()) as pool:
            began = time.monotonic()
            end = None if seconds is None else began + seconds
            try:
                outcome.complete = await pool.play_all(histories, outcome.add, end)
            finally:
                outcome.seconds, outcome.deaths = time.monotonic() - began, pool.deaths
            failures = [found for items in outcome.failures.values() for found in items[:most]]
            await asyncio.gather(*(_again(pool, found) for found in failures))

    try:
        asyncio.run(work())
    except KeyboardInterrupt:
        outcome.complete, outcome.is_interrupted = False, True
    return outcome


FORMAT = 1
PLAYS, WALKS = 10, 100


@dataclass(frozen=True)
class ClientPlan:
    """Histories to play: stories, walks, files or a path cover of SMALL, for at most `seconds` per client."""

    walks: int = 0
    depth: int = DEPTH
    seed: int = 1
    files: tuple[Path, ...] = ()
    stories: tuple[str, ...] = ()
    seconds: float | None = None
    output: Path | None = None
    protocol: str = PROTOCOL

    def histories(self) -> Iterator[History]:
        if self.files or self.stories:
            for file in self.files:
                found = load(file)
                yield from [found] * (AGAIN if found.rule else 1)
            for name in self.stories:
                yield from _named(name)
        elif self.protocol == IDEMPOTENT:
            yield from producer_walks(self.walks or WALKS, self.depth, self.seed)
        elif self.walks:
            yield from Source(settings(), self.seed).walks(self.walks, self.depth)
        else:
            yield from Source(SMALL, self.seed).cover()


def _named(name: str) -> list[History]:
    found = by_name(name) or next((one for one in of_archive() if one.name == name), None)
    if found is not None:
        return [found] * PLAYS
    told = story(name)
    return [told.history] * told.plays


class Change(NamedTuple):
    rule: str
    before: str
    after: str
    is_broken_after: bool
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept, broken = ("kept in", "broken in") if self.is_broken_after else ("broken in", "kept in")
        skipped = f"; not installed: {', '.join(self.unknown)}" if self.unknown else ""
        return f"{self.rule}: {kept} {self.before}, {broken} {self.after}{skipped}"


@dataclass
class ClientReport:
    asked: str
    outcome: ClientOutcome | None = None
    missing: str = ""
    """The reason why the client was not run."""
    traces: dict[str, Path] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    """If this is the last release of a range: the rules that only the first or only the last release violates."""
    both: list[str] = field(default_factory=list)
    """If this is the last release of a range: the rules that the first and the last release violate."""

    @property
    def verdict(self) -> str:
        return self.outcome.verdict if self.outcome is not None else "undetermined"

    @property
    def title(self) -> str:
        return self.outcome.client.title if self.outcome is not None else self.asked

    @property
    def why_undetermined(self) -> str:
        return self.outcome.why_undetermined if self.outcome is not None else "the client was not run"

    def summary(self) -> Iterator[str]:
        outcome = self.outcome
        if outcome is None:
            yield self.missing
            return
        rate = outcome.histories / outcome.seconds if outcome.seconds else 0
        yield f"{count_histories(outcome.histories)}, {outcome.counted:,} of them judged, {rate:.0f} per second"
        if outcome.client.contains:
            yield outcome.client.contains
        if self.traces:
            yield f"written: {many(len(self.traces), 'file')} in {next(iter(self.traces.values())).parent}"
        yield from outcome.claims()
        if outcome.deaths:
            yield f"the client's process crashed {many(outcome.deaths, 'time')}"
        for reasons, verb in ((outcome.begun_again, "restarted alone"), (outcome.undone, "not played to the end")):
            for why, times in sorted(reasons.items()):
                yield f"{count_histories(times)} {verb}: {why}"
        yield from map(str, self.changes)
        if self.both:
            yield f"violated by both ends of the range, so no change was searched for: {', '.join(self.both)}"
        if outcome.failures:
            rows = [outcome.row(rule) for rule in NAMES if outcome.broken[rule]]
            found = (f"{row['rule']} in {row['broken']:,} of {row['histories']:,}{_surely(row)}" for row in rows)
            yield f"violated: {'; '.join(found)}"
        stories = [(rule, *outcome.story(rule)) for rule in outcome.failures]
        for rule, shown, told in sorted(stories, key=lambda item: not item[1].is_steady):
            yield f"{rule}, in {shown.history.name} ({outcome.again(rule)}):"
            yield from (f"  {line}" for line in told.lines())
            if rule in self.traces:
                yield f"  {self.traces[rule]}"
        kept = {name: outcome.exercised_in[name] for name in NAMES if not outcome.broken[name]}
        applied = {name: count for name, count in kept.items() if count}
        never = [name for name in kept if name not in applied]
        if applied:
            yield f"kept: {many(len(applied), 'rule')}, each in at least {count_histories(min(applied.values()))}"
            yield f"histories by kept rule: {', '.join(f'{name} {count:,}' for name, count in applied.items())}"
        if never:
            yield f"rules that never applied: {', '.join(never)}"

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = {"format": FORMAT, "protocol": PROTOCOL, "client": self.asked, "verdict": self.verdict}
        if self.outcome is None:
            return found | {"missing": self.missing}
        outcome = self.outcome
        return found | {
            "client": outcome.client.title, "histories": outcome.histories, "counted": outcome.counted,
            "not_played": _reasons(outcome.undone), "begun_again": _reasons(outcome.begun_again),
            "deaths": outcome.deaths, "requests_waited_for": outcome.wanted, "requests_in_time": outcome.followed,
            "histories_per_second": round(outcome.histories / outcome.seconds, 1) if outcome.seconds else 0.0,
            "complete": outcome.complete, "why_undetermined": outcome.why_undetermined,
            "interrupted": outcome.is_interrupted,
            "rules": [outcome.row(name) for name in NAMES],
            "differences": [self._difference(rule) for rule in outcome.failures],
            "changes": [item._asdict() for item in self.changes], "violated_by_both": self.both,
        }  # fmt: skip

    def _difference(self, rule: str) -> dict[str, Any]:
        assert self.outcome is not None
        shown, told = self.outcome.story(rule)
        trace = str(self.traces[rule]) if rule in self.traces else None
        return {"rule": rule, "history": shown.history.name, "why": shown.verdict.why, "trace": trace, **asdict(told)}


def _surely(row: dict[str, Any]) -> str:
    return "" if row["steady"] else " (flaky)" if row["played_again"] else " (not replayed)"


def _reasons(found: Counter[str]) -> list[dict[str, Any]]:
    return [{"why": why, "histories": count} for why, count in sorted(found.items())]


def conform_clients(clients: Sequence[str], request: ClientPlan, tell: Callable[[str], None]) -> list[ClientReport]:
    """Play the histories to each client in turn. If one of several clients cannot be run, the others still run. For a
    range NAME==A..B, the first and last release are tested; if they differ, releases in between are tested too.
    """
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it would log every connection that a client closes
    ranges = [ends_of(asked) for asked in dict.fromkeys(clients)]
    others = [asked for asked in clients if parse_client(asked)[0].split("/")[0] not in (*PRODUCERS, OWN)]
    if request.protocol == IDEMPOTENT and others:
        raise UsageError(
            f"`clients=` was given {others[0]!r}, which is not tested as an idempotent producer: write one of "
            f"{', '.join(PRODUCERS)}."
        )
    if request.walks and (request.files or request.stories):
        raise UsageError("`walks=` and named histories exclude each other: leave out one or the other.")
    given = list(request.histories()) if request.files or request.stories else []
    kio()
    reports, is_only = [[ClientReport(asked) for asked in ends] for ends in ranges], len(clients) == 1
    try:
        for ends in reports:
            installed: dict[str, Installed] = {}
            for report in ends:  # before any client plays, so that nothing is played if an end is wrong
                with _left_out(report, tell, is_only=is_only):
                    installed[report.asked] = install_client(report.asked)
            for report in ends:
                if client := installed.get(report.asked):
                    with _left_out(report, tell, is_only=is_only):
                        _play(client, report, given or request.histories(), request, tell)
            if len(ends) > 1 and ends[0].outcome and ends[1].outcome:
                ends[1].both = [rule for rule in ends[0].outcome.failures if ends[1].outcome.broken[rule]]
                for change in _bisected(ends[0].outcome, ends[1].outcome, tell):
                    ends[1].changes.append(change)
    except KeyboardInterrupt:
        for report in itertools.chain(*reports):
            report.missing = report.missing or ("" if report.outcome else "not run, because the run was interrupted")
    return [*itertools.chain(*reports)]


@contextmanager
def _left_out(report: ClientReport, tell: Callable[[str], None], *, is_only: bool) -> Iterator[None]:
    """If the client cannot be run, say so and continue, unless it is the only one."""
    try:
        yield
    except UsageError as error:
        if is_only:
            raise
        report.missing = str(error)
        tell(report.missing)


def _play(
    client: Installed,
    report: ClientReport,
    histories: Iterable[History],
    request: ClientPlan,
    tell: Callable[[str], None],
) -> None:
    tell(f"{client.title} plays")
    report.outcome = run(client, histories, seconds=request.seconds)
    if request.output is not None:
        for rule, path in _kept(client, report.outcome, request.output, tell):
            report.traces[rule] = path
    if report.outcome.is_interrupted:
        raise KeyboardInterrupt


def _steady(outcome: ClientOutcome) -> dict[str, list[History]]:
    found = {
        rule: list({item.history.name: item.history for item in items if item.is_steady}.values())
        for rule, items in outcome.failures.items()
    }
    return {rule: histories[:AGAIN] for rule, histories in found.items() if histories}


def _bisected(first: ClientOutcome, last: ClientOutcome, tell: Callable[[str], None]) -> Iterator[Change]:
    """For each rule that only one of two releases always violates, find by bisection where this changed."""
    early, late = _steady(first), _steady(last)
    differing = {rule: found for rule, found in early.items() if not last.broken[rule]}
    differing |= {rule: found for rule, found in late.items() if not first.broken[rule]}
    releases = releases_between(first.client.title, last.client.title) if differing else []
    broken: dict[str, set[str] | None] = {releases[0]: set(early), releases[-1]: set(late)} if releases else {}

    def breaks(release: str) -> set[str] | None:
        if release not in broken:
            try:
                client = install_client(release)
                tell(f"playing {count_histories(sum(map(len, differing.values())))} with {release}")
                outcome = run(client, [one for found in differing.values() for one in found])
                if outcome.is_interrupted:
                    raise KeyboardInterrupt
                broken[release] = set(_steady(outcome))
            except UsageError as error:
                tell(str(error))
                broken[release] = None
        return broken[release]

    for rule in differing:
        low, high, unknown = 0, len(releases) - 1, set[int]()
        while between := [at for at in range(low + 1, high) if at not in unknown]:
            middle = between[len(between) // 2]
            found = breaks(releases[middle])
            if found is None:
                unknown.add(middle)
            elif (rule in found) == (rule in early):
                low = middle
            else:
                high = middle
        skipped = tuple(releases[at] for at in sorted(unknown) if low < at < high)
        yield Change(rule, releases[low], releases[high], rule in late, skipped)


def _kept(
    client: Installed, outcome: ClientOutcome, folder: Path, tell: Callable[[str], None]
) -> Iterator[tuple[str, Path]]:
    """Write one failure of each rule, then shorten them and write them again, so that an interruption loses none."""
    best = {rule: max(found, key=lambda item: (item.is_steady, item.again)) for rule, found in outcome.failures.items()}
    for rule, found in best.items():
        yield rule, _write(client, found, folder)
    for rule, found in best.items() if not outcome.is_interrupted else ():
        if not found.is_steady:
            tell(f"{rule}: not shortened, because it did not recur in each replay")
            continue
        began = time.monotonic()
        tell(f"{rule}: shortening {len(found.history.moves)} moves")
        short = shorten(client, found)
        moves = f"shortened to {many(len(short.history.moves), 'move')}"
        tell(f"{rule}: {moves if short.is_steady else 'not shortened'} in {time.monotonic() - began:.0f} s")
        if short.is_steady:
            _write(client, short, folder)


def _write(client: Installed, found: Failure, folder: Path) -> Path:
    rule, why, again = found.verdict.rule, found.verdict.why, f"{found.again} of {found.plays}"
    path = folder / f"{re.sub('[^0-9A-Za-z.]+', '-', client.title)}-{rule}.history"
    path.write_text(text_of(found.history, client=client.title, rule=rule, why=why, again=again), "utf-8")
    told = "\n\n".join(as_story(found.play, found.verdict).lines())
    last = None if rule in UNTIL_THE_END else found.verdict.event
    text = page(found.history, found.play, rule, told, client.title, last, path.name)
    path.with_suffix(".md").write_text(text, "utf-8")
    return path
