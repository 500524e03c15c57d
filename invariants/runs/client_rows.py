"""How the runs of the client models are written down: a title, constants as text, and what has to be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.invariants.catalogue import Case, Profile, Run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fencepost.model.language import Machine


def rows(
    machine: Machine, ids: Mapping[str, str], unreached: Callable[[Mapping[str, int]], tuple[str, ...]]
) -> Callable[..., Run]:
    """Return what makes the runs of a machine. `ids` gives the property that decides each id; `unreached` the witnesses
    that cannot be reached under given constants.
    """  # noqa: D205 (one sentence)
    declared = machine.constants.declared()

    def run(
        title: str,
        more: str,
        distinct: int,
        depth: int,
        fails: str = "",
        *,
        version: str = "",
        profile: Profile = Profile.CI,
        trace: str = "",
        never: str = "",
        only: str = "",
        worst: str = "",
        why: str = "",
    ) -> Run:
        """Return one run. `fails` gives ids with the states of the shortest trace, `trace` ids with the rest of the archived
        file's name, `never` further witnesses that are not reached. `only` are the ids that are judged, where not all
        are, and `worst` gives ids with the cost of the dearest way.
        """  # noqa: D205 (one paragraph)
        found = dict(word.split("=") for word in more.split())
        constants = {name: int(declared[name].parse(value)) for name, value in found.items()}
        base = dict(machine.version(version).values) if version else {}
        shown = machine.set_constants({**base, **constants})
        values = {name: int(getattr(shown, name)) for name in declared}
        return Run(
            machine.name,
            constants,
            version=version,
            profile=profile,
            distinct=distinct,
            depth=depth,
            violated={ids[name]: int(length) for name, length in pairs(fails)},
            unreached=tuple(never.split()) if only else (*unreached(values), *never.split()),
            properties=tuple(ids[name] for name in only.split(", ")) if only else (),
            worst={ids[name]: int(cost) if cost.isdigit() else cost for name, cost in pairs(worst)},
            why=why,
            title=title,
            trace={ids[name]: f"{machine.name}-{slug}.trace" for name, slug in pairs(trace)},
        )

    return run


def pairs(text: str) -> list[tuple[str, str]]:
    """Return the pairs of a text such as `TOK-S1 14, TOK-S2 7`."""
    return [(name, rest) for name, rest in (item.split() for item in text.split(",") if item.strip())]


def casebook(runs: tuple[Run, ...], ids: Mapping[str, str]) -> Callable[[str], tuple[Case, ...]]:
    """Return what makes cases from lines `title: id, id`; the title is the run's name without the protocol's."""
    by_name = {run.name.partition(" ")[2]: run for run in runs}

    def cases(text: str) -> tuple[Case, ...]:
        """Return the cases of all lines."""
        found = []
        for line in filter(None, map(str.strip, text.splitlines())):
            title, _, names = line.rpartition(": ")
            found += [Case(by_name[title], ids[name]) for name in names.split(", ")]
        return tuple(found)

    return cases
