"""Comparison of two builds of Kafka: which methods differ, and the first history that ends differently."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fencepost.counterexamples.replay import write
from fencepost.counterexamples.states import changes
from fencepost.counterexamples.trace import Trace
from fencepost.invariants.figures.store import load
from fencepost.invariants.protocols import protocol as named_protocol
from fencepost.kafka.conform.binding import FORMAT, Binding
from fencepost.kafka.conform.histories import fewest, transitions
from fencepost.kafka.conform.suite import Executed, History, Player, executed, grounds, seen_by_agent, suite, tools
from fencepost.kafka.driver.execute import Execution, SetAsideError
from fencepost.kafka.driver.process import Driver, FailedError
from fencepost.kafka.driver.releases import Release, run, tool
from fencepost.kafka.formatting import count_histories, many, seconds
from fencepost.kafka.fuzz.histories import FLAGS, Alarm, Fuzzer, Script, fuzz_release, words
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, UsageError
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import Key

SHOWN = 8
COMPARE_SECONDS = 120
FIGURE = "builds"
WAYS = {"+": "always jumps", "-": "never jumps"}
DID = "did"
"""The key in a driver's answer that says whether the command succeeded or why it failed."""
RAFT = "org.apache.kafka.raft."
PROFILE = "mixed"
"""Limits for random histories: number of brokers, partitions and steps."""
WRITTEN = 0.2
"""Interval, in seconds, between the agent's reports of executed methods."""


@dataclass(frozen=True)
class ChangedMethod:
    owner: str
    change: str
    name: str = "its fields"
    descriptor: str = ""
    file: str = ""
    lines_a: tuple[int, ...] = ()
    lines_b: tuple[int, ...] = ()
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()
    code: bool = False
    """Whether the member has code to execute; abstract methods and fields have none."""
    before: str = ""
    """The method's key in build A, which may number lambdas differently; empty if A lacks the method."""

    @property
    def key(self) -> str:
        return f"{self.owner}.{self.name} {self.descriptor}"

    @property
    def shown(self) -> str:
        lines = self.lines_b or self.lines_a
        span = f" ({self.file}:{lines[0]}{f'-{lines[-1]}' if len(lines) > 1 else ''})" if lines else ""
        sides = [f"only {side} uses {', '.join(names[:SHOWN])}" for side, names in self.sides if names]
        return f"{self.owner}.{self.name}{span} {self.change}{': ' if sides else ''}{'; '.join(sides)}"

    @property
    def sides(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("A", self.only_a), ("B", self.only_b)


def changed_methods(a: Release, b: Release) -> list[ChangedMethod]:
    ours, library = tools(a)
    path = ":".join((str(ours), f"{library}/*", f"{a.jars}/*"))
    words = [tool("java"), "-cp", path, "fencepost.conform.Methods", str(a.jars), str(b.jars)]
    done = run(words, COMPARE_SECONDS, "the comparison of classes")
    if done.returncode != 0:
        raise UsageError(f"the classes in {a.jars} and {b.jars} cannot be compared: {done.stderr.strip()[-300:]}")
    rows: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    for row in rows:
        row |= {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    return [ChangedMethod(**row) for row in rows]


class DepartsError(Exception):
    def __init__(self, line: str, a: dict[str, Any], b: dict[str, Any]) -> None:
        super().__init__(line)
        self.line, self.a, self.b = line, a, b


class Pair:
    """Two drivers that receive the same commands. The first driver runs build A."""

    def __init__(self, a: Driver, b: Driver) -> None:
        self.drivers = a, b
        self.lines: list[str] = []

    def ask(self, line: str) -> dict[str, Any]:
        self.lines.append(line)
        answers, failures = [], []
        for driver in self.drivers:
            try:
                answers.append(driver.ask(line))
            except FailedError as error:
                failures.append(error)
                answers.append({DID: error.why})
        if len(failures) == len(answers):
            raise failures[0]
        if answers[0] != answers[1]:
            raise DepartsError(line, *answers)
        return answers[0]


@dataclass(frozen=True)
class Departure:
    """The first answer that differs between two builds: the answer to the last of `steps`, which the model may reject.
    `rows` lists the differences as (part of the state, value in A, value in B). `model` says which side agrees with the
    model, `moved` lists guarantees that only one side violates, and `lines` lists the driver's commands.
    """

    constants: Any
    steps: tuple[Step, ...]
    shown: tuple[str, ...]
    refused: bool
    rows: tuple[tuple[str, str, str], ...]
    model: str
    moved: tuple[str, ...]
    lines: tuple[str, ...]
    normalize: bool


class Side:
    def __init__(self, bound: Binding, pair: Pair, plain: Interpreter, *, normalize: bool) -> None:
        self.bound, self.pair, self.plain, self.normalize = bound, pair, plain, normalize
        self.execution: Execution = bound.follow(pair, plain)  # type: ignore[arg-type]

    def step(self, named: tuple[str, tuple[Any, ...]]) -> Step:
        return Step(self.plain.machine.action(named[0]), named[1])

    def departure(self, steps: Sequence[Step], *, tries: bool) -> Departure | None:
        initial = self.plain.initial_states()[0]
        history = transitions(self.plain, initial, steps[: len(steps) - tries])
        if history is None:
            return None
        self.pair.lines.clear()
        taken: list[Step] = []
        expected: tuple[Key, ...] = (initial,)
        refused = False
        try:
            if self.execution.begin(initial) is not None:
                return None
            for item in history:
                taken.append(item.step)
                expected = item.raw, item.after
                if self.execution.step(taken[:-1], item) is not None:
                    return None
            if tries:
                taken.append(steps[-1])
                took = transitions(self.plain, expected[-1], taken[-1:])
                refused = took is None
                expected = (
                    (took[0].raw, took[0].after)
                    if took
                    else (expected[-1], *self.bound.ablation.refused(expected[-1], taken[-1]))
                )
                self.execution.ask(self.execution.line(taken[-1]))
        except DepartsError as found:
            return self._told(found, tuple(taken), expected, refused=refused)
        except (FailedError, SetAsideError, ValueError):
            pass  # ValueError: the message of the last step is not in flight
        return None

    def by_lines(self, history: History) -> Departure | None:
        """Execute a history's recorded commands on both builds, even if A differs from the model."""
        self.pair.lines.clear()
        steps = tuple(map(self.step, history.steps))
        try:
            for line in history.lines:
                self.pair.ask(line)
        except DepartsError as found:
            return self._told(found, steps, self.plain.initial_states()[:1], refused=history.tries)
        except FailedError:
            pass
        return None

    def shortened(self, found: Departure) -> Departure:
        def attempt(steps: tuple[Step, ...]) -> Departure | None:
            again = self.departure(steps, tries=found.refused)
            return again if again is not None and again.steps[-1].action == found.steps[-1].action else None

        return fewest(found, lambda item: item.steps, attempt)

    def _told(
        self, found: DepartsError, steps: tuple[Step, ...], expected: Sequence[Key], *, refused: bool
    ) -> Departure:
        keys = [self._key(answer, expected[0]) for answer in (found.a, found.b)]
        rows = [
            (name, str(found.a.get(key)), str(found.b.get(key)))
            for name, key in (("the step", DID), ("its answer", "why"))
            if found.a.get(key) != found.b.get(key)
        ]
        if keys[0] and keys[1]:
            rows += [
                (f"{item.label}.{item.name}".strip("."), item.old or "-", item.new or "-")
                for item in changes(self.plain.machine.state, keys[0], keys[1])
            ]
        if not rows and "state" in found.a and "state" in found.b:
            a, b = found.a["state"], found.b["state"]
            rows = [(name, str(a[name]), str(b[name])) for name in a if a[name] != b.get(name)]
        like = [side for side, key in zip("AB", keys, strict=True) if key in expected]
        shown = tuple(self.plain.show(step) for step in steps)
        model = f"{like[0]} agrees with the model" if len(like) == 1 else "the model agrees with both builds or neither"
        moved = tuple(self._moved(keys))
        lines = tuple(self.pair.lines)
        constants = self.plain.constants
        return Departure(constants, steps, shown, refused, tuple(rows), model, moved, lines, self.normalize)

    def _key(self, answer: dict[str, Any], expected: Key) -> Key | None:
        if "state" not in answer:
            return None
        seen = self.execution.seen
        kept = list(seen.images), seen.state
        try:
            seen.take(answer["state"])
            found: Key | None = seen.key(expected)
        except (LookupError, ValueError, TypeError):
            found = None
        finally:
            seen.images, seen.state = kept
        return found

    def _moved(self, keys: list[Key | None]) -> Iterator[str]:
        if keys[0] is None or keys[1] is None:
            return
        for item in named_protocol(self.bound.protocol).properties:
            if item.kind is Kind.ALWAYS:
                try:
                    holds = [self.plain.holds(item, key) for key in keys if key is not None]
                except (DomainError, LookupError):
                    continue
                if holds[0] != holds[1]:
                    yield f"{item.name} is violated only in {'B' if holds[0] else 'A'}"


@dataclass
class BuildsReport:
    """The report on two builds. `other` counts differing methods in classes that no history uses."""

    bound: Binding
    a: Release
    b: Release
    titles: tuple[str, str]
    methods: list[ChangedMethod] = field(default_factory=list)
    executed: set[str] = field(default_factory=set)
    lines: set[str] = field(default_factory=set)
    unseen: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """If the builds agree: for each executed method, the differing lines that no history executes."""
    one_way: list[dict[str, Any]] = field(default_factory=list)
    """If the builds agree: conditional jumps in differing lines that always took the same branch."""
    driven: set[str] = field(default_factory=set)
    """Classes with at least one method that a history executes."""
    histories: int = 0
    relevant: int = 0
    played: int = 0
    unconfirmed: int = 0
    departure: Departure | None = None
    drawn: dict[str, Any] = field(default_factory=dict)
    complete: bool = True
    seconds: float = 0.0
    trace: str = ""

    @property
    def reachable(self) -> list[ChangedMethod]:
        own = [item for item in self.methods if item.code]
        return [item for item in own if item.owner.partition("$")[0] in self.driven or item.owner.startswith(RAFT)]

    @property
    def missed(self) -> list[ChangedMethod]:
        return [item for item in self.reachable if item.key not in self.executed and item.change != "removed"]

    @property
    def title(self) -> str:
        return f"{self.titles[0]} and {self.titles[1]}"

    @property
    def verdict(self) -> str:
        """`differs` if a difference is confirmed, `not-exercised` if changed code never ran, otherwise `same`."""
        if self.departure is not None or self.drawn.get("differs"):
            return "differs"
        missing = self.missed or self.unseen or self.one_way or self.unconfirmed
        return "not-exercised" if missing or not self.complete else "same"

    def data(self) -> dict[str, Any]:
        found, driven = self.departure, set(self.reachable)
        data: dict[str, Any] = {
            "format": FORMAT,
            "verdict": self.verdict,
            "protocol": self.bound.protocol,
            "a": {"kafka": self.a.version, "title": self.titles[0]},
            "b": {"kafka": self.b.version, "title": self.titles[1]},
            "methods": [
                {**asdict(item), "driven": item in driven, "executed": item.key in self.executed}
                for item in self.methods
            ],
            "lines_not_executed": self.unseen,
            "conditions_one_way": self.one_way,
            "drawn": self.drawn or None,
            "seconds": round(self.seconds, 3),
            "difference": None,
            **{name: getattr(self, name) for name in ("histories", "relevant", "played", "unconfirmed", "complete")},
        }
        if found is not None:
            data["difference"] = {
                "constants": found.constants.shown,
                "steps": list(found.shown),
                "rows": [{"field": name, "a": a, "b": b} for name, a, b in found.rows],
                "trace": self.trace or None,
                **{name: getattr(found, name) for name in ("refused", "model", "moved", "lines")},
            }
        return data

    def summary(self) -> Iterator[str]:
        driven = self.reachable
        yield (f"methods that differ: {len(self.methods):,}; {len(driven):,} are in classes that histories execute")
        first = [item for item in driven if item.key in self.executed]
        for item in first[:SHOWN]:
            yield f"  {item.shown}"
        if len(first) > SHOWN:
            yield f"  and {len(first) - SHOWN:,} more methods that histories execute"
        if self.methods:
            yield (
                f"{self.relevant:,} of {count_histories(self.histories)} execute a method that differs; "
                f"{self.played:,} were executed on B in {seconds(round(1000 * self.seconds))}"
            )
        if self.departure is not None:
            yield from self._departed(self.departure)
        if self.drawn:
            yield from _drawn_lines(self.drawn)
        if self.missed:
            yield f"not exercised: {many(len(self.missed), 'changed method')} that no history executes"
        for item in self.missed[:SHOWN]:
            yield f"  {item.shown}"
        for key, lines in list(self.unseen.items())[:SHOWN]:
            name = key.partition(" ")[0]
            yield f"not exercised: {many(len(lines), 'changed line')} of {name}, {lines[0]} to {lines[-1]}"
        for method in list(dict.fromkeys(item["method"] for item in self.one_way))[:SHOWN]:
            ways = [item for item in self.one_way if item["method"] == method]
            where = ["" if len(item["sides"]) > 1 else f" in {item['sides'][0].upper()}" for item in ways]
            shown = [
                f"line {item['line']}, {item['condition']}, {item['went']}{side}"
                for item, side in list(zip(ways, where, strict=True))[:SHOWN]
            ]
            more = f"; and {len(ways) - SHOWN:,} more" if len(ways) > SHOWN else ""
            name = f"{many(len(ways), 'condition')} of {method.partition(' ')[0]} that always took the same branch"
            yield f"not exercised: {name}: {'; '.join(shown)}{more}"
        if any(item.owner.startswith(RAFT) for item in self.missed):
            yield ("  `conform` with protocol quorum executes the raft client and compares it with the model")
        figure = load(FIGURE)
        rows = [row for row in figure.get("rows", ()) if row["changes"] and row["verdict"] != "unfit"]
        if rows:
            found, named = (sum(row["verdict"] == verdict for row in rows) for verdict in ("differs", "not-exercised"))
            yield (
                f"of {len(rows)} planted changes to Kafka {figure['kafka']}, this comparison finds {found} and "
                f"reports {named} as not exercised"
            )
        elif self.methods:
            yield (
                "this comparison has not been measured on planted changes, so a result without differences proves "
                "little"
            )
        if self.unconfirmed:
            yield (
                f"{count_histories(self.unconfirmed)} ended differently on B, but not when both builds executed them "
                "side by side, so no difference is confirmed"
            )
        if not self.complete:
            yield (
                "the time limit ended the run before all histories were created and executed: run it again to continue"
            )

    def _departed(self, found: Departure) -> Iterator[str]:
        last = "the model refuses the last step" if found.refused else "the builds differ after the last step"
        yield f"after {many(len(found.steps), 'step')} ({last})"
        for number, step in enumerate(found.shown, 1):
            yield f"  {number}  {step}"
        for name, a, b in found.rows[:SHOWN]:
            yield f"  {name}: {a} in A, {b} in B"
        yield f"  {found.model}{''.join(f'; {item}' for item in found.moved)}"
        if self.trace:
            yield f"  {self.trace}"


def _drawn_lines(drawn: dict[str, Any]) -> Iterator[str]:
    yield f"{count_histories(drawn['histories'])} were drawn at random (profile {drawn['profile']})"
    if drawn.get("differs"):
        yield f"  the builds differ in the history with seed {drawn['seed']}, after {many(len(drawn['steps']), 'step')}"
        for number, step in enumerate(drawn["steps"], 1):
            yield f"  {number}  {step}"
        for side in "ab":
            yield f"  {side.upper()}: {drawn[side]}"


def compare_builds(
    bound: Binding,
    builds: tuple[Release, Release],
    titles: tuple[str, str],
    tell: Callable[[str], None],
    budget: float | None = None,
    drawn: tuple[int, int] = (0, 1),
) -> BuildsReport:
    """Compare two builds on histories that execute differing methods, and on `drawn` random histories."""
    began = time.monotonic()
    a, b = builds
    report = BuildsReport(bound, a, b, titles, changed_methods(a, b))
    if report.methods:
        histories = suite(bound, a, tell, None if budget is None else began + budget / 2)
        report.complete = histories[-1].ground == len(grounds(bound, a.model)) - 1
        done = executed(a, histories, tell)
        keys = {item.key for item in report.methods}
        before = {item.before: item.key for item in report.methods}
        relevant = [place for place in done.methods if not done.methods[place].isdisjoint(before)]
        report.histories, report.relevant = len(histories), len(relevant)
        every = frozenset().union(*done.methods.values())
        report.driven = {key.partition(" ")[0].rpartition(".")[0].partition("$")[0] for key in every}
        report.executed = {key for name, key in before.items() if name in every}
        tell(f"{len(relevant):,} of {len(histories):,} histories execute one of the {len(keys):,} methods that differ")
        order = sorted(relevant, key=lambda place: (not histories[place].tries, -histories[place].ground, place))
        _play(report, histories, done, order, None if budget is None else began + budget)
        if report.departure is None and drawn[0]:
            tell(f"{drawn[0]:,} random histories run on both builds")
            _draw(report, drawn, None if budget is None else began + budget)
    report.seconds = time.monotonic() - began
    return report


class Drawer(Fuzzer):
    def drawn(self, seed: int) -> tuple[str, ...]:
        """Execute a random history; return its digest and its last state."""
        try:
            found = list(self.histories(PROFILE, seed, 1))
        except FailedError as error:
            return (error.why,)
        kinds = [item.kind for item in found if isinstance(item, Alarm)]
        return *kinds, next(item.digest for item in reversed(found) if not isinstance(item, Alarm))

    def told(self, script: Script) -> list[tuple[str, str]]:
        """Replay a script; return each step with the state after it, and the end of the history."""
        try:
            found = self._answered(f"replay {script.line()}")
        except FailedError as error:
            return [("", error.why)]
        return [*zip(found["steps"], found["shown"], strict=True), ("", found["message"] or "it ends well")]


def _draw(report: BuildsReport, drawn: tuple[int, int], end: float | None) -> None:
    keys = {item.key for item in report.methods}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        releases = [fuzz_release(None, side.jars) for side in (report.a, report.b)]
        watched = replace(releases[1], **seen_by_agent(releases[1], Path(folder), keys, report.a))
        drawers = [stack.enter_context(Drawer(item)) for item in (releases[0], watched)]
        report.drawn = {"profile": PROFILE, "histories": 0, "differs": False}
        for seed in range(drawn[1], drawn[1] + drawn[0]):
            if end is not None and time.monotonic() > end:
                break
            a, b = threads.map(lambda item, seed=seed: item.drawn(seed), drawers)
            report.drawn["histories"] += 1
            script = _script(releases[0], seed) if a != b else None
            found = None if script is None else _shortest_apart(drawers, script)
            if found is not None:
                steps = [words(step) for step in found[0].steps]
                report.drawn |= {"differs": True, "seed": seed, "steps": steps, "a": found[1], "b": found[2]}
                break
        time.sleep(2 * WRITTEN)
        hit = Path(folder) / "methods.hit"
        report.executed |= set(hit.read_text().splitlines()) & keys if hit.is_file() else set()
        for item in drawers:
            item.stop()


def _script(release: Release, seed: int) -> Script | None:
    ours, _ = tools(release)
    harness = replace(release.harness, main="fencepost.conform.Drawn")
    one = replace(release, classes=Path(f"{release.classes}{os.pathsep}{ours}"), harness=harness)
    with tempfile.TemporaryDirectory() as folder:
        done = run([*one.command(folder), PROFILE, str(seed)], COMPARE_SECONDS, "drawing a history")
    shape, mark, steps = done.stdout.strip().partition("|")
    return Script(shape, tuple(steps.split(";"))) if mark else None


def _shortest_apart(drawers: list[Drawer], script: Script) -> tuple[Script, str, str] | None:
    def attempt(steps: tuple[str, ...]) -> tuple[Script, str, str] | None:
        return _first_apart(drawers, Script(script.shape, steps))

    found = attempt(script.steps)
    return None if found is None else fewest(found, lambda item: item[0].steps, attempt)


def _first_apart(drawers: list[Drawer], script: Script) -> tuple[Script, str, str] | None:
    a, b = (item.told(script) for item in drawers)
    for place, (one, other) in enumerate(zip(a, b, strict=False)):
        if one != other:
            taken = tuple(step for step, _ in a[: place + 1] if step)
            return Script(script.shape, taken or script.steps), one[1].strip(), other[1].strip()
    return None


def _lines_of(methods: list[ChangedMethod], side: str) -> dict[str, str]:
    sides = {
        "a": [(item.before, item.lines_a) for item in methods],
        "b": [(item.key, item.lines_b) for item in methods],
    }
    return {key: "\t".join(filter(None, (key, ",".join(map(str, lines))))) for key, lines in sides[side] if key}


def _look_at_lines(
    report: BuildsReport, histories: list[History], order: list[int], end: float | None, conditions: set[str]
) -> None:
    lines = {f"{item.before}:{line}" for item in report.methods if item.key in report.executed for line in item.lines_a}
    seen: set[str] = set()
    with Player(report.a, _lines_of(report.methods, "a").values(), report.a) as player:
        for place in order:
            if lines | player.conditions <= seen:
                break
            if end is not None and time.monotonic() > end:
                report.complete = False
                return
            seen |= player.play(histories[place])[1]
        report.one_way = list(_one_way(report, {"a": (player.conditions, seen), "b": (conditions, report.lines)}))
    for item in report.methods:
        if item.key in report.executed:
            found = [line for line in item.lines_a if f"{item.before}:{line}" not in seen]
            found += [line for line in item.lines_b if f"{item.key}:{line}" not in report.lines and line not in found]
            if found:
                report.unseen[item.key] = tuple(sorted(found))


def _one_way(report: BuildsReport, sides: dict[str, tuple[set[str], set[str]]]) -> Iterator[dict[str, Any]]:
    """Yield the conditions that took at most one branch on both builds, except on lines reported as never executed."""
    keys = {item.before: item.key for item in report.methods}
    found: dict[tuple[str, str, str], list[str]] = {}
    for side, (names, seen) in sides.items():
        for name in sorted({name[:-2] for name in names}, key=_place_in_code):
            place, _, condition = name.partition("#")
            went = [words for mark, words in WAYS.items() if f"{name} {mark}" in seen]
            if len(went) < len(WAYS) and place in seen:
                method, _, line = place.rpartition(":")
                method = keys.get(method, method) if side == "a" else method
                row = f"{method}:{line}", condition.partition(" ")[2], went[0] if went else "was not reached"
                found.setdefault(row, []).append(side)
    for (place, condition, way), where in found.items():
        method, _, line = place.rpartition(":")
        yield {"method": method, "line": int(line), "condition": condition, "went": way, "sides": where}


def _place_in_code(condition: str) -> tuple[str, int, int]:
    place, _, rest = condition.partition("#")
    method, _, line = place.rpartition(":")
    return method, int(line), int(rest.partition(" ")[0])


def _play(report: BuildsReport, histories: list[History], done: Executed, order: list[int], end: float | None) -> None:
    """Execute histories on B until one ends differently than on A; confirm and shorten the difference."""
    keys = {item.key for item in report.methods}
    with Player(report.b, _lines_of(report.methods, "b").values(), report.a) as player, ExitStack() as stack:
        pair: Pair | None = None
        for place in order:
            if end is not None and time.monotonic() > end:
                report.complete = False
                return
            digests, hit = player.play(histories[place])
            report.played += 1
            report.executed |= hit & keys
            report.lines |= hit
            if digests != done.digests[place]:
                pair = pair or Pair(*(stack.enter_context(Driver(alike(side))) for side in (report.a, report.b)))
                report.departure = confirm(report.bound, report.a, pair, histories[place])
                if report.departure is not None:
                    return
                report.unconfirmed += 1
    _look_at_lines(report, histories, order, end, player.conditions)


def alike(release: Release) -> Release:
    """Return a release whose driver iterates over maps in a fixed order, as the histories require."""
    return replace(release, options=(*release.options, *FLAGS))


def confirm(bound: Binding, a: Release, pair: Pair, history: History) -> Departure | None:
    plain = Interpreter(bound.machine, grounds(bound, a.model)[history.ground], normalize=not history.tries)
    side = Side(bound, pair, plain, normalize=not history.tries)
    found = side.departure([side.step(item) for item in history.steps], tries=history.tries)
    return side.shortened(found) if found is not None else side.by_lines(history)


def write_trace(report: BuildsReport, folder: Path) -> None:
    """Write the history on which two builds differ as a trace; omit the last step if the model rejects it."""
    found = report.departure
    if found is None:
        return
    path = folder / f"{report.bound.protocol}-{report.a.version}-compared.trace"
    told = "; ".join(f"{name} is {a} in A and {b} in B" for name, a, b in found.rows)
    last = f" The next step is {found.shown[-1]}, which the model does not allow." if found.refused else ""
    trace = Trace(
        title=f"{report.title} differ",
        protocol=named_protocol(report.bound.protocol),
        constants=found.constants,
        prop=None,
        steps=found.steps[:-1] if found.refused else found.steps,
        version=report.a.model,
        normalize=found.normalize,
        why=f"A is {report.titles[0]}, B is {report.titles[1]}.{last} Then {told}.",
        source="fencepost compare",
        kafka=report.b.version,
    )
    write(path, trace)
    report.trace = str(path)
