"""Runs of the catalogue, explored and compared with what they must find."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fencepost.explorers.native.compile import begin, generate
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result, Verdict, require_no_error
from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fencepost.explorers.native.generate import Source
    from fencepost.explorers.native.store import Progress
    from fencepost.invariants.catalogue import Run


def source_of(name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool) -> Source:
    """Return the generated module of a named protocol."""
    found = protocol(name)
    constants = found.machine.set_constants(values)
    return generate(found.machine, constants, found.compiled_with(found.select(properties)), normalize=normalize)


def sources_of(
    name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool, graph: bool
) -> list[Source]:
    """Return every module that a run needs; `graph`: it is asked for properties of whole behaviours, too."""
    found = protocol(name)
    sources = [source_of(name, values, properties, normalize=normalize)]
    behaviours = tuple(item for item in found.select(properties) if item.kind.over_behaviours)
    if behaviours and graph:
        from fencepost.explorers.liveness.generated import sources as graph_sources

        sources += graph_sources(found.machine, found.machine.set_constants(values), behaviours, normalize=normalize)[
            :2
        ]
    return sources


@dataclass(frozen=True)
class Judgement:
    """A run with what was found and how that differs from what was expected, one sentence each."""

    run: Run
    result: Result
    differences: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        """Return whether the run found exactly what it must."""
        return not self.differences

    @property
    def undetermined(self) -> bool:
        """Return whether the run ended without a decision."""
        return not self.result.complete


def judge(run: Run, options: Options, tell: Callable[[Progress], None] | None = None) -> Judgement:
    found = protocol(run.protocol)
    constants = found.machine.set_constants(values_of(run))
    source = source_of(run.protocol, values_of(run), run.properties, normalize=options.normalize)
    result = search(
        found.machine,
        constants,
        found.select(run.properties),
        replace(options, compact=is_compact(run, options)),
        kernels=begin(source),
        tell=tell,
    )
    require_no_error(result)
    return Judgement(run, result, tuple(_differences(run, result)))


def is_compact(run: Run, options: Options) -> bool:
    """Return whether a run keeps fingerprints; whole behaviours need states, whatever the options say."""
    over_behaviours = any(item.kind.over_behaviours for item in protocol(run.protocol).select(run.properties))
    return run.compact or (options.compact and not over_behaviours)


def _differences(run: Run, result: Result) -> Iterator[str]:
    if not result.complete:
        yield f"the search did not finish: {result.why_stopped}"
        return
    for name, wanted, got in (("distinct states", run.distinct, result.distinct), ("depth", run.depth, result.depth)):
        if wanted is not None and wanted != got:
            yield f"{name}: {got:,} where {wanted:,} are pinned"
    for item in result.properties:
        expected = (
            Verdict.VIOLATED
            if item.name in run.violated
            else Verdict.UNREACHED
            if item.name in run.unreached
            else Verdict.HOLDS
        )
        if item.verdict is not expected:
            yield f"{item.name}: {item.verdict} where {expected} is expected"
        elif expected is Verdict.VIOLATED and item.path is not None and item.path.length != run.violated[item.name]:
            yield (
                f"{item.name}: the shortest trace has {item.path.length} states where "
                f"{run.violated[item.name]} are pinned"
            )
        if item.cost is not None and item.name in run.worst:
            worst = str(item.cost.reach) if item.cost.worst is None else item.cost.worst
            if worst != run.worst[item.name]:
                yield f"{item.name}: the worst case is {worst} where {run.worst[item.name]} is pinned"
    known = {item.name for item in result.properties}
    for name in {*run.violated, *run.unreached, *run.worst} - known:
        yield f"{name}: expected, but not among the properties that were checked"
