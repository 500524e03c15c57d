"""Properties that are judged only on request are evaluated then: none holds because it was not judged."""

import pytest
from fencepost.api.asking import targets
from fencepost.api.asking.targets import Question
from fencepost.counterexamples import shrink
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.search import search, source_of
from fencepost.explorers.verdict import Options
from fencepost.explorers.walk.walker import Walker
from fencepost.invariants.catalogue import Run, runs, values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import MismatchError

from tests.helpers.commands import data_of, fencepost


def violating() -> dict[str, Run]:
    """Return the smallest run with an archived trace for each state or step property that is judged on request."""
    found: dict[str, Run] = {}
    for run in sorted(runs(), key=lambda run: run.distinct or 0):
        for item in PROTOCOLS[run.protocol].on_request:
            if item.name in run.trace and item.name in run.violated and not item.kind.over_behaviours:
                found.setdefault(item.name, run)
    return found


@pytest.mark.parametrize("name", violating())
def test_what_is_named_is_judged(name: str) -> None:
    run = violating()[name]
    options = [f"--set={key}={value}" for key, value in run.constants.items()]
    version = [f"--version={run.version}"] if run.version else []
    done = fencepost("check", run.protocol, *version, *options, "--property", name, "--engine", "native", "--json")
    [judged] = data_of(done)["properties"]
    assert (judged["verdict"], judged["length"]) == ("violated", run.violated[name])


@pytest.mark.parametrize("name", violating())
def test_what_is_named_is_compiled_for_every_use(name: str) -> None:
    run = violating()[name]
    found, file = PROTOCOLS[run.protocol], ARCHIVE / run.trace[name]
    asked, constants = found.select((name,)), found.machine.set_constants(values_of(run))
    sources = (
        targets.source_of(Question(found, constants, asked), Options()),
        source_of(run.protocol, values_of(run), (name,), normalize=True),
        shrink.source_of(replay(file).trace),
        targets.source_of(Question(found, constants, asked), Options(), masked=True),
    )
    assert all(asked[0] in source.state_properties + source.step_properties for source in sources)


def test_a_property_that_is_not_compiled_cannot_be_asked() -> None:
    found = PROTOCOLS["kip101"]
    constants = found.machine.set_constants({"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 0})
    first, *others = found.properties
    kernels = compiled(found.machine, constants, (first,), normalize=True)
    assert search(found.machine, constants, (first,), kernels=kernels).complete
    with pytest.raises(MismatchError, match=others[0].name):
        search(found.machine, constants, found.properties, kernels=kernels)
    with pytest.raises(MismatchError, match=others[0].name):
        Walker(found.machine, constants, found.properties, kernels=kernels)
