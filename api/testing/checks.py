"""Checks and replays for your own test suite, and the errors for unexpected results."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.asking.arguments import call
from fencepost.explorers.verdict import PropertyResult, Result
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import ExpectationError, UndeterminedError, UsageError

if TYPE_CHECKING:
    from fencepost.api.answers.results import CheckResult
    from fencepost.api.asking.targets import Question
    from fencepost.api.calls.shrink import ReplayResult
    from fencepost.invariants.protocols import Protocol


@dataclass(frozen=True)
class Search:
    """Limits of a search. `trace` is the file to which the first unexpected violation is written."""

    engine: str = "native"
    workers: int = 0
    """Number of search threads; 0 means one per processor."""
    budget: float | None = None
    """Time limit in seconds. A search that reaches the limit is undetermined, which is an error."""
    compact: bool = False
    normalize: bool = True
    max_states: int | None = None
    trace: Path | None = None


@call
def check(
    what: Machine | Protocol | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | None = None,
    version: str = "",
    only: Iterable[str] = (),
    violated: Iterable[str] | Mapping[str, int] = (),
    unreached: Iterable[str] = (),
    search: Search | None = None,
    **more: Any,
) -> CheckResult:
    """Explore every reachable state and return the result; raise ExpectationError if the result is unexpected.

    `what` is a machine with its `properties`, the name of a protocol, or a file that defines a protocol. Constants are
    given by name, as `constants` or as further arguments: numbers, booleans or words. `only` limits the properties by
    name. Properties named in `violated` must be violated, and witnesses named in `unreached` must not be reached. All
    other properties must hold, and all other witnesses must be reached. If `violated` is a mapping, it gives the length
    of each shortest trace in states. Raises UndeterminedError if the search did not finish, and UsageError for names
    that do not exist. A variant without an effect causes a warning.
    """
    from fencepost.api.answers.results import Base
    from fencepost.api.asking.targets import ask
    from fencepost.api.calls.check import check as explored
    from fencepost.explorers.verdict import ended_by_signal

    how = search or Search()
    question = ask(what, properties, constants=constants, version=version, only=only, more=more)
    expected = _expected(question, violated, unreached)
    result = explored(question, **{name: value for name, value in vars(how).items() if name != "trace"})
    if ended_by_signal(result.why_stopped):
        raise KeyboardInterrupt
    judge(result, expected, how)
    if result.base is Base.SAME:
        warnings.warn(f"{result.protocol}: {result.notes[0]}", stacklevel=2)
    return result


def replay(file: str | Path, model: str | Path | None = None) -> ReplayResult:
    """Replay a trace file. `model` is the file of a user's own protocol. Raises UsageError on failure."""
    from fencepost.api.calls.shrink import replay as take

    return take(file, model=model)


def describe(result: Result, *, as_expected: bool = False) -> str:
    """Return a result on one line: constants, verdict, states, depth, and the reason if it did not finish."""
    values = " ".join(f"{name}={str(value).lower()}" for name, value in result.constants.items())
    reach = "" if result.complete else f"; {result.why_stopped}"
    expected = ", as expected" if as_expected and result.verdict not in ("holds", "proved") else ""
    figures = f"{result.distinct:,} distinct states, depth {result.depth}"
    return (
        f"{result.protocol} {values}: {result.verdict}{expected}; {figures} ({result.engine}, {result.seconds:.2f} "
        f"s){reach}"
    )


def judge(result: CheckResult, expected: Callable[[str], tuple[str, int | None]], how: Search) -> None:
    """Raise an error if the result is unexpected, with all differences and the trace of the first."""
    wrong = [(item, *expected(item.name)) for item in result.properties]
    wrong = [(item, verdict, length) for item, verdict, length in wrong if not _is_as(item, verdict, length)]
    unknown = [item for item, _, _ in wrong if item.verdict in ("undetermined", "not-found")]
    wrong = [way for way in wrong if way[0] not in unknown]
    lines = [describe(result)]
    for item, verdict, length in wrong:
        lines.append(_difference(item, verdict, length))
    lines += [f"{item.name} is {item.verdict}: {result.why_stopped}" for item in unknown]
    for item, _, _ in wrong:
        if item.verdict == "violated" and item.path is not None:
            lines += ["", *_way(result, item.name, how)]
            break
    if wrong:
        raise ExpectationError("\n".join(lines))
    if unknown or not result.complete:
        raise UndeterminedError("\n".join(lines))


def _expected(
    question: Question, violated: Iterable[str] | Mapping[str, int], unreached: Iterable[str]
) -> Callable[[str], tuple[str, int | None]]:
    known = violated if isinstance(violated, Mapping) else {}
    lengths: dict[str, int | None] = {name: known.get(name) for name in violated}
    others = tuple(unreached)
    for name in (*lengths, *others):
        (item,) = question.protocol.select((name,))
        if item not in question.properties:
            asked = ", ".join(one.name for one in question.properties)
            raise UsageError(
                f"an expectation names property {name!r}, which is not checked: add it to only=. Checked: {asked}."
            )

    def verdict(name: str) -> tuple[str, int | None]:
        return ("violated", lengths[name]) if name in lengths else ("unreached" if name in others else "holds", None)

    return verdict


def _is_as(item: PropertyResult, verdict: str, length: int | None) -> bool:
    same = item.verdict == verdict or (verdict == "holds" and item.verdict == "proved")
    return same and (length is None or item.path is None or item.path.length == length)


def _difference(item: PropertyResult, verdict: str, length: int | None) -> str:
    if item.verdict == verdict and item.path is not None:
        return f"{item.name}: the shortest trace has {item.path.length} states, not {length} as expected"
    return f"{item.name}: {item.verdict}, not {verdict} as expected"


def _way(result: CheckResult, prop: str, how: Search) -> Iterable[str]:
    trace = result.traces[prop]
    yield trace.render("text").rstrip()
    if how.trace is not None:
        trace.save(how.trace)
        own = f" --model {result.question.file}" if result.question.file else ""
        yield f"The trace is in {how.trace}: `fencepost replay {how.trace}{own}` replays it."
