"""The typed program means what the Python text means: every state, guard, property and error, compared."""

import pytest
from fencepost.explorers.program.ir import nodes
from fencepost.explorers.program.ir.nest import Compute, Guarded, Over, nest
from fencepost.explorers.program.ir.program import Function, Program, inside, text
from fencepost.explorers.program.ir.translate import translate
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.compared import Comparison
from tests.helpers.parameters import few
from tests.helpers.written import machine_of


@pytest.mark.parametrize("name", few(PROTOCOLS, 8))
def test_a_protocol_means_the_same_in_its_first_states(name: str) -> None:
    known = PROTOCOLS[name]
    found = Comparison(known.machine, known.machine.set_constants({}), known.every_property).run(15)
    assert (found.states, found.errors, found.numbers) == (15, [], 0)


def function(program: Program, name: str) -> Function:
    return next(item for item in program.functions if item.name == name)


def checks(found: Function) -> list[str]:
    return [check.name for item in inside(found.body) for check in sorted(item.checks)]


KIP320 = translate(PROTOCOLS["kip320"].machine, PROTOCOLS["kip320"].every_property)


def test_checks_that_cannot_fail_are_left_out() -> None:
    assert checks(function(KIP320, "is_true_leader")) == []
    assert checks(function(KIP320, "truncate")) == []
    assert checks(function(KIP320, "append")) == ["INDEX", "VALUE", "INDEX", "VALUE"]
    assert not function(KIP320, "truncate").can_fail
    assert function(KIP320, "replicate").can_fail, "it calls append"


def test_effects_are_those_of_the_function_and_its_helpers() -> None:
    leader_write = function(KIP320, "leader_write").effects
    assert {path for _, path in leader_write.writes} == {
        "next_record", "replica[].end", "replica[].log[].epoch", "replica[].log[].id"
    }  # fmt: skip
    assert (0, "replica[].log[].id") not in leader_write.reads
    assert {path for _, path in function(KIP320, "leader_changes").effects.reads} == {"quorum.leader"}
    assert {of for of, _ in function(KIP320, "leader_changes").effects.reads} == {0, 1}


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
    program = translate(machine_of(SEARCH)[0])
    reads = {guard.text: {path for _, path in guard.reads} for guard in program.guards}
    assert reads == {"a <= b or s.x == 1": {"x", "y"}, "found <= 1": {"x", "z[]"}}, "found is counted in a loop"


def shown(program: Program, name: str) -> list[str]:
    """Return the steps of an action's nest, a word each."""
    action = next(item for item in program.actions if item.name == name)
    found = []
    for item in nest(program, action).steps:
        match item:
            case Over(parameter):
                found.append(f"over {parameter.slot.name}")
            case Compute(statements):
                found.append("let " + " ".join(part.slot.name for part in statements if isinstance(part, nodes.Assign)))
            case Guarded(guard, _, unchosen):
                found.append(f"test {guard.text}" + (f" for all {len(unchosen)}" if unchosen else ""))
    return found


def test_guards_stand_as_far_out_as_what_they_read_allows() -> None:
    assert shown(KIP320, "controller_elect_leader") == [
        "test s.next_leader_epoch <= c.max_leader_epoch for all 1", "over leader",
        "test bits.contains(s.quorum.isr, leader)", "test s.quorum.leader != leader",
    ]  # fmt: skip
    assert shown(KIP320, "leader_expand_isr")[:3] == [
        "over leader", "test base.is_true_leader(s, leader) for all 1", "over follower",
    ]  # fmt: skip


def test_the_text_names_every_function_and_marks_every_check() -> None:
    shown_text = text(KIP320)
    assert all(f"f{item.number} {item.name}(" in shown_text for item in KIP320.functions)
    assert shown_text.count("!") - shown_text.count("!=") == sum(len(checks(item)) for item in KIP320.functions)
