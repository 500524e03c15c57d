"""The native engine's search with every kind of property: of states on the way, of behaviours on its graph."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.explorers.native.compile import Kernels, compile_watched, generate
from fencepost.explorers.native.search import Search
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.native.compile import Watching
    from fencepost.explorers.native.store import Progress
    from fencepost.model.language.actions import Property
    from fencepost.model.language.constants import Constants
    from fencepost.model.language.machine import Machine


def refuse_compact_behaviours(properties: tuple[Property, ...], options: Options) -> None:
    """Raise UsageError for properties of whole behaviours in a search that keeps no states."""
    for item in properties:
        if item.kind.over_behaviours and options.compact:
            raise UsageError(
                f"property {item.name!r} is about whole behaviours, which are judged on the graph of all states, and "
                "`compact=True` keeps no states: leave it out, or name other properties in `only=`."
            )


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
    summed: bool = False,
) -> Result:
    """Explore every reachable state of a machine and judge the properties; what has to be compiled
    first is reported to `watch`.

    The `usual` properties are compiled with those that are asked for, so that asking for one of them compiles nothing.
    `summed`: the result of a complete search has a digest of its states.
    """
    options = options or Options()
    of_states = tuple(item for item in properties if not item.kind.over_behaviours)
    of_behaviours = tuple(item for item in properties if item.kind.over_behaviours)
    refuse_compact_behaviours(properties, options)
    if options.resume and options.checkpoint:
        from fencepost.explorers.native.checkpoint import require_question

        require_question(machine, constants, properties, options)
    if kernels is None and watch is not None:
        asked = (*usual, *(item for item in of_states if item not in usual))
        source = generate(machine, constants, asked, normalize=options.normalize)
        kernels = compile_watched(machine.name, constants, source, watch, begins=True)
        if of_behaviours:
            from fencepost.explorers.liveness.generated import prepare

            prepare(machine, constants, of_behaviours, watch, normalize=options.normalize)
    made = Search(machine, constants, of_states, options, kernels=kernels, tell=tell)
    began = time.perf_counter()
    result = made.run()
    for item in result.compiled[1:] if watch is not None else ():
        watch.optimized(constants.sized(machine.name), item.seconds)  # type: ignore[union-attr]
    if summed and result.complete:
        result = replace(result, digest=made.digest())
    judged = result
    if of_behaviours:
        from fencepost.explorers.liveness.engine import Engine

        try:
            judged = Engine(made, of_behaviours, began).judge(result, properties)
        except Exception:
            _cross_checked(made, result, result)  # a stored state that differs may be why
            raise
    if result.complete and not judged.complete and not judged.problems:
        judged = made.keep(judged)
    return _cross_checked(made, result, judged)  # last, as no budget of the search is for it


def _cross_checked(made: Search, result: Result, judged: Result) -> Result:
    """Return a judged result with the cross-check of its search, unless that ended in an error of the model."""
    if made.options.cross_check == 0 or result.problems:
        return judged
    from fencepost.explorers.cross_check import cross_check

    checked = cross_check(made, replace(result, seconds=judged.seconds), made.options.cross_check)
    return replace(judged, cross_check=checked)
