"""The typed program means what the Python text means: every state, guard, property and error, compared."""

import pytest
from fencepost.explorers.program.ir.program import Function, inside
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.compared import Comparison
from tests.helpers.parameters import few


@pytest.mark.parametrize("name", few(PROTOCOLS, 8))
def test_a_protocol_means_the_same_in_its_first_states(name: str) -> None:
    known = PROTOCOLS[name]
    found = Comparison(known.machine, known.machine.set_constants({}), known.every_property).run(15)
    assert (found.states, found.errors, found.numbers) == (15, [], 0)


def checks(found: Function) -> list[str]:
    return [check.name for item in inside(found.body) for check in sorted(item.checks)]
