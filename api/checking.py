"""Checks: every reachable state of a protocol, and runs of the catalogue with what they must find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fencepost.api.engines import choose_engine, explore
from fencepost.api.places import errors_of_models
from fencepost.api.quantities import DEFAULT_SHARE, default_memory
from fencepost.api.results import CheckResult
from fencepost.api.targets import Question, ask
from fencepost.api.watching import Event, Watch, watched
from fencepost.explorers.interrupts import cancelled_by
from fencepost.explorers.verdict import Cause, Options, Result, cause_of, extended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from fencepost.explorers.spark.session import Cluster
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Constants, Machine, Property


@errors_of_models()
def check(
    what: Machine | Protocol | Question | str | Path,
    properties: Iterable[Property] | None = None,
    *,
    constants: Mapping[str, Any] | Constants | None = None,
    version: str = "",
    only: Iterable[str] = (),
    engine: str = "native",
    workers: int = 0,
    budget: float | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    max_depth: int | None = None,
    compact: bool = False,
    normalize: bool = True,
    stop_on_violation: bool = False,
    deadlock: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
    progress: Watch | Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    **more: Any,
) -> CheckResult:
    """Explore every reachable state and return what was found.

    `what` is the name of a protocol, a machine with its `properties`, or the path of a file that defines both. Constants are
    given by name, as `constants` or as further arguments: numbers, booleans or words; `only` limits the properties by name.

    `budget` is in seconds, `memory` in bytes (80 % of what is available if not given), `workers` 0 stands for all processors.
    `progress` is called with events while the search runs. Once `cancel` returns true, or at Ctrl-C, the result is partial, and
    its `why_stopped` says so. Raises a FencepostError for what does not exist or cannot be done.
    """
    question = (
        what
        if isinstance(what, Question)
        else ask(what, properties, constants=constants, version=version, only=only, more=more)
    )
    options = Options(
        workers=workers,
        compact=compact,
        normalize=normalize,
        stop_on_violation=stop_on_violation,
        deadlock=deadlock,
        max_depth=max_depth,
        max_states=max_states,
        budget=budget,
        memory=default_memory() if memory is None else memory,
        checkpoint=str(checkpoint) if checkpoint else None,
        resume=resume,
    )
    with cancelled_by(cancel):
        found = explore(question, choose_engine(engine), options, watched(progress), cluster)
    if memory is None:
        found = with_memory_explained(found)
    return CheckResult.of_search(found, question, normalize=normalize)


def with_memory_explained(result: Result) -> Result:
    """Return the result; if a memory limit that nobody set ended the search, it says where the limit came from."""
    if cause_of(result.why_stopped) is Cause.MEMORY:
        why = extended(result.why_stopped, f" ({DEFAULT_SHARE:.0%} of what was available; --memory sets another limit)")
        return replace(result, why_stopped=why)
    return result
