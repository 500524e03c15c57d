"""The catalogue: its runs one after the other, each compared with what it must find, and their figures pinned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.as_json import FORMAT, Printed
from fencepost.api.asking.model_files import is_file
from fencepost.api.asking.quantities import counted
from fencepost.api.asking.watching import watched
from fencepost.api.calls.runs import Runs
from fencepost.explorers.verdict import Problem, ProblemKind, ended_by_signal
from fencepost.invariants.catalogue import Profile, runs
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import FencepostError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from fencepost.api.asking.watching import Event, Watch
    from fencepost.invariants.catalogue import Run


AT_LEAST = 1000
"""Stored states that each run of the full profile expands once more by the plain semantics, or all; others as many as
fit into a tenth of their time.
"""


@dataclass(frozen=True, repr=False)
class CatalogueResult(Printed):
    """Answers of the chosen runs of the catalogue, as JSON objects, and the runs that were not begun."""

    profile: Profile
    runs: tuple[dict[str, Any], ...]
    not_run: tuple[str, ...]
    why_stopped: str = ""
    problems: tuple[Problem, ...] = ()

    def __repr__(self) -> str:
        return f"CatalogueResult({self.profile}: {counted(len(self.runs), 'run')}, {len(self.not_run)} not run)"

    @property
    def differs(self) -> bool:
        """Whether a run that was finished differs from what it must find."""
        return any(item["complete"] and not item["as_expected"] for item in self.runs)

    @property
    def as_expected(self) -> bool:
        """Whether every run was made, and found what it must."""
        return not self.not_run and all(item["as_expected"] for item in self.runs)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "format": FORMAT,
            "profile": str(self.profile),
            "as_expected": self.as_expected,
            "runs": list(self.runs),
            "not_run": list(self.not_run),
        }


def catalogue(
    *protocols: str,
    profile: str = Profile.QUICK,
    workers: int = 0,
    budget: float | None = None,
    memory: int | None = None,
    max_states: int | None = None,
    max_depth: int | None = None,
    compact: bool = False,
    normalize: bool = True,
    stop_on_violation: bool = False,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Watch | Callable[[Event], None] | None = None,
    each: Callable[[Run, dict[str, Any]], bool | None] = lambda *_: None,
) -> CatalogueResult:
    """Make the runs of a profile and the smaller ones, and compare each with its expectations.

    Limits are those of a check; `budget` is for all runs together. `each` is called with every run as it ends, and no
    further one is begun once it returns False. Raises a FencepostError if there is no result at all.
    """
    chosen = choose_runs(profile_named(profile), protocols)
    every = Runs(
        chosen,
        watched(progress),
        workers=workers,
        budget=budget,
        memory=memory,
        max_states=max_states,
        max_depth=max_depth,
        compact=compact,
        normalize=normalize,
        stop_on_violation=stop_on_violation,
        checkpoint=str(checkpoint) if checkpoint else None,
        resume=resume,
        cross_check=AT_LEAST if profile_named(profile) is Profile.FULL else None,
    )
    done: list[dict[str, Any]] = []
    problems: list[Problem] = []
    why = ""
    for run in chosen:
        doing = "preparing the runs"
        try:
            data = every.recalled(run)
            if data is None:
                why = every.out_of_time() or ""
                if why:
                    break
                doing = f"preparing {run.name}"
                data, result = every.check(run)
                why = result.why_stopped if ended_by_signal(result.why_stopped) else ""
                problems += result.problems
                why = "a run could not be kept" if problems else why
        except FencepostError as error:
            if not done:
                raise
            why = f"{run.name} ended in an error"
            problems.append(Problem(ProblemKind.UNANSWERED, str(error), error))
            break
        except KeyboardInterrupt:  # while a machine was compiled: a search that is interrupted has a result
            why = f"SIGINT was received while {doing}"
            break
        done.append(data)
        if each(run, data) is False or why:
            break
    left = tuple(run.name for run in chosen[len(done) :])
    return CatalogueResult(profile_named(profile), tuple(done), left, why, tuple(problems))


def profile_named(name: str) -> Profile:
    """Return the profile of this name; raise UsageError without one."""
    known = [str(item) for item in Profile]
    if name not in known:
        raise UsageError(f"there is no profile {name!r}.{nearest(name, known)} Profiles are: {', '.join(known)}.")
    return Profile(name)


def choose_runs(profile: Profile, names: Sequence[str]) -> tuple[Run, ...]:
    """Return the catalogue's runs of a profile and the smaller ones, of all or of the named protocols."""
    for name in names:
        if is_file(name):
            raise UsageError(
                f"{name} has no runs in the catalogue: leave `profile=` out to check it under constants of your own."
            )
        protocol(name)
    order = list(Profile)
    found = tuple(
        run
        for run in runs()
        if order.index(run.profile) <= order.index(profile) and (not names or run.protocol in names)
    )
    if not found:
        raise UsageError(
            f'profile {profile} has no run of {", ".join(names)}: write `profile="{order[-1]}"`, or leave it out.'
        )
    return found
