"""Compiled code does what the plain semantics does in each state of random walks; planted defects are caught."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from fencepost.explorers.native.compile import Kernels, load, lowered
from fencepost.explorers.program.ir.nodes import Binary, Compare, Node, Order, Store
from fencepost.explorers.program.ir.program import rebuilt
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options
from fencepost.invariants.catalogue import runs, values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import MismatchError

from tests.helpers import written
from tests.helpers.compared import Comparison
from tests.helpers.engines import Engines
from tests.helpers.parameters import few
from tests.machines import id_sequence, lamps, mailbox

Change = Callable[[Node], Node]

PARTS = [pytest.param(12, id="a twelfth"), pytest.param(1, id="whole", marks=pytest.mark.long)]
"""Share of each walk that is walked."""
SMALL = {item.MACHINE.name: item for item in (id_sequence, lamps, mailbox)}
WALKS: dict[str, tuple[str, dict[str, int], int]] = {
    **{name: (name, {}, 4_000) for name in SMALL},
    "mailbox, forgetful": ("mailbox", {"resends": 0, "deduplicate": 0, "losses": 3}, 4_000),
    **{run.name: (run.protocol, values_of(run), 1_500) for run in runs()[::12]},
}
"""Our machines, and one in twelve runs of the catalogue."""
FIRST = {name: title for title, (name, *_) in reversed(WALKS.items())}  # steps of the walk of each machine in `./test`


def machine_of(name: str) -> tuple[Machine, tuple[Property, ...]]:
    if name in SMALL:
        return SMALL[name].MACHINE, SMALL[name].PROPERTIES
    return PROTOCOLS[name].machine, PROTOCOLS[name].properties


@pytest.mark.parametrize(
    ("name", "values", "steps"),
    [
        pytest.param(*walk, id=title, marks=[pytest.mark.long] * (title not in FIRST.values()))
        for title, walk in WALKS.items()
    ],
)
@pytest.mark.parametrize("part", PARTS)
def test_engines_agree_on_every_state_of_a_random_walk(
    name: str, values: Mapping[str, int], steps: int, part: int
) -> None:
    machine, properties = machine_of(name)
    assert Engines(machine, values, properties).walk(steps // part, seed=steps) > 1


def another_order(before: Order, after: Order) -> Change:
    """Change the order of the first comparison of each guard or property that uses this one."""

    def change(node: Node) -> Node:
        if isinstance(node, Compare) and node.rest[0][0] is before:
            return replace(node, rest=((after, node.rest[0][1]), *node.rest[1:]))
        return node

    return change


def no_change(node: Node) -> Node:
    """Store a sum without its second term."""
    if isinstance(node, Store) and isinstance(node.value, Binary):
        return replace(node, value=node.value.left)
    return node


PLANTED: dict[str, tuple[Change, str]] = {
    "an effect that stores another value": (no_change, "plain semantics"),
    "a property that judges otherwise": (
        another_order(Order.AT_MOST, Order.LESS),
        "property 'ids-are-bounded': the engine and the plain semantics disagree about the last state.",
    ),
}


def planted(change: Change) -> Kernels:
    machine, properties = machine_of("id-sequence")
    program = translate(machine, properties)
    changed = 0

    def anywhere(node: Node) -> Node:
        nonlocal changed
        after = change(rebuilt(node, anywhere))
        changed += after is not node
        return after

    functions = [replace(item, body=tuple(map(anywhere, item.body))) for item in program.functions]
    assert changed
    return load(lowered(replace(program, functions=tuple(functions)), machine.set_constants({}), normalize=True))


@pytest.mark.parametrize(("change", "says"), PLANTED.values(), ids=PLANTED)
def test_what_the_plain_semantics_does_not_confirm_is_never_shown(change: Change, says: str) -> None:
    machine, properties = machine_of("id-sequence")
    options = Options(workers=1, deadlock=True)
    with pytest.raises(MismatchError) as caught:
        search(machine, machine.set_constants({}), properties, options, kernels=planted(change))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", few(PROTOCOLS, 8))
def test_a_protocol_means_the_same_in_its_first_states(name: str) -> None:
    known = PROTOCOLS[name]
    found = Comparison(known.machine, known.machine.set_constants({}), known.every_property).run(15)
    assert (found.states, found.errors, found.numbers) == (15, [], 0)


SEARCH = """
class State(Record):
    x: Annotated[int, Range(0, 3)]
    y: Annotated[int, Range(0, 3)]
    z: Annotated[Array[Annotated[int, Range(0, 3)]], Size(3)]
@action()
def search(s, c):
    a, b = s.x, s.y
    require(a <= b or s.x == 1)
    found = -1
    for j in range(3):
        if s.z[j] == a and found < 0:
            found = j
    require(found <= 1)
    s.x = s.y
"""


def test_a_guard_depends_on_what_led_to_the_locals_that_it_reads() -> None:
    program = translate(written.machine_of(SEARCH)[0])
    reads = {guard.text: {path for _, path in guard.reads} for guard in program.guards}
    assert reads == {"a <= b or s.x == 1": {"x", "y"}, "found <= 1": {"x", "z[]"}}, "found is counted in a loop"
