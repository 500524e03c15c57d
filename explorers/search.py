"""Search with the native engine for every kind of property. Properties of behaviours are checked on the graph of all
states. The results of catalogue runs are compared with pinned counts and lengths.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fencepost.explorers.native.compile import Kernels, Source, Watching, begin, compile_watched, generate
from fencepost.explorers.native.search import Search
from fencepost.explorers.native.store import Progress
from fencepost.explorers.verdict import (
    Options,
    Result,
    Summed,
    Verdict,
    refuse_negative_limits,
    refuse_symmetric_behaviours,
    require_no_error,
)
from fencepost.invariants.catalogue import Run, values_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.actions import Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError
from fencepost.model.language.machine import Machine


def search(
    machine: Machine,
    constants: Constants,
    properties: tuple[Property, ...] = (),
    options: Options | None = None,
    *,
    kernels: Kernels | None = None,
    usual: tuple[Property, ...] = (),
    watch: Watching | None = None,
    tell: Callable[[Progress], None] | None = None,
    summed: Summed | None = None,
) -> Result:
    """Explore every reachable state of a machine and check the properties. Call `watch` for each compilation.

    The `usual` properties are compiled together with the requested ones, so that later requests need no compilation. If
    `summed` is given, a complete search also returns a digest of the states and of the steps of the summed actions.
    """
    options = options or Options()
    of_states = tuple(item for item in properties if not item.kind.over_behaviours)
    of_behaviours = tuple(item for item in properties if item.kind.over_behaviours)
    if of_behaviours and options.compact:
        raise UsageError(
            f"property {of_behaviours[0].name!r} is about whole behaviours, which are checked on the graph of all "
            "states, but `compact=True` stores no states: omit that option, or name other properties in `only=`."
        )
    refuse_symmetric_behaviours(properties, options)
    refuse_negative_limits(properties, constants)
    if options.resume and options.checkpoint:
        from fencepost.explorers.native.checkpoint import require_question

        require_question(machine, constants, properties, options)
    if kernels is None and watch is not None:
        usual = () if options.symmetry else usual  # the others may distinguish things
        asked = (*usual, *(item for item in of_states if item not in usual))
        source = generate(machine, constants, asked, normalize=options.normalize, symmetry=options.symmetry)
        kernels = compile_watched(machine.name, constants, source, watch, begins=True)
        if of_behaviours:
            from fencepost.explorers.liveness.generated import prepare

            prepare(machine, constants, of_behaviours, watch, normalize=options.normalize)
    made = Search(machine, constants, of_states, options, kernels=kernels, tell=tell)
    began = time.perf_counter()
    result = made.run()
    for item in result.compiled[1:] if watch is not None else ():
        watch.optimized(constants.sized(machine.name), item.seconds)  # type: ignore[union-attr]
    result = digested(made, result, summed)
    judged = result
    if of_behaviours:
        from fencepost.explorers.liveness.engine import Engine

        try:
            judged = Engine(made, of_behaviours, began).judge(result, properties)
        except Exception:
            _cross_checked(made, result, result)  # a wrong stored state may be the cause
            raise
    if result.complete and not judged.complete and not judged.problems:
        judged = made.keep(judged)
    return _cross_checked(made, result, judged)  # last, because the search's budgets do not apply


def digested(made: Search, result: Result, summed: Summed | None) -> Result:
    names = summed(result) if summed and result.complete else None
    if names is None:
        return result
    from fencepost.explorers.liveness.generated import digest_of

    rows = (part.read() for part in made.partitions)
    found = digest_of(made.machine, made.constants, made.kernels, names, rows, made.options.normalize)
    return replace(result, digest=found)


def _cross_checked(made: Search, result: Result, judged: Result) -> Result:
    if made.options.cross_check == 0 or result.problems:
        return judged
    from fencepost.explorers.cross_check import cross_check

    checked = cross_check(made, replace(result, seconds=judged.seconds), made.options.cross_check)
    return replace(judged, cross_check=checked)


def source_of(name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool) -> Source:
    found = protocol(name)
    constants = found.machine.set_constants(values)
    return generate(found.machine, constants, found.compiled_with(found.select(properties)), normalize=normalize)


def sources_of(
    name: str, values: Mapping[str, int], properties: tuple[str, ...], *, normalize: bool, graph: bool
) -> list[Source]:
    """Return every module that a run needs; if `graph` is set, also the modules for properties of behaviours."""
    found = protocol(name)
    sources = [source_of(name, values, properties, normalize=normalize)]
    behaviours = tuple(item for item in found.select(properties) if item.kind.over_behaviours)
    if behaviours and graph:
        from fencepost.explorers.liveness.generated import sources as graph_sources

        sources += graph_sources(found.machine, found.machine.set_constants(values), behaviours, normalize=normalize)[
            :2
        ]
    return sources


def judge(run: Run, options: Options, tell: Callable[[Progress], None] | None = None) -> tuple[Result, tuple[str, ...]]:
    """Run the search of a catalogue run. Return the result and a sentence per difference from the pinned values."""
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
    return result, tuple(_differences(run, result))


def is_compact(run: Run, options: Options) -> bool:
    """Return whether a run stores only fingerprints. `options.compact` spares runs with properties of behaviours."""
    over_behaviours = any(item.kind.over_behaviours for item in protocol(run.protocol).select(run.properties))
    return run.compact or (options.compact and not over_behaviours)


def _differences(run: Run, result: Result) -> Iterator[str]:
    if not result.complete:
        yield f"the search did not finish: {result.why_stopped}"
        return
    for name, wanted, got in (("distinct states", run.distinct, result.distinct), ("depth", run.depth, result.depth)):
        if wanted is not None and wanted != got:
            yield f"{name}: {got:,}, but {wanted:,} are pinned"
    for item in result.properties:
        expected = Verdict.UNREACHED if item.name in run.unreached else Verdict.HOLDS
        if item.name in run.violated:
            expected = Verdict.VIOLATED
        if item.verdict is not expected:
            yield f"{item.name}: {item.verdict}, expected {expected}"
        elif expected is Verdict.VIOLATED and item.path is not None and item.path.length != run.violated[item.name]:
            yield (
                f"{item.name}: the shortest trace has {item.path.length} states, but "
                f"{run.violated[item.name]} are pinned"
            )
        if item.cost is not None and item.name in run.worst:
            worst = str(item.cost.reach) if item.cost.worst is None else item.cost.worst
            if worst != run.worst[item.name]:
                yield f"{item.name}: the worst case is {worst}, but {run.worst[item.name]} is pinned"
    known = {item.name for item in result.properties}
    for name in {*run.violated, *run.unreached, *run.worst} - known:
        yield f"{name}: expected a verdict, but the property was not checked"
