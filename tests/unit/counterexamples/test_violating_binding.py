"""Which leader, which member, which offset: the values for which a property is violated."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.browser.setting import of_trace
from fencepost.counterexamples.browser.view import refusals
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import FORMATS, render
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE, Trace
from fencepost.counterexamples.violating_binding import ViolatingBinding, violated_for, violating_binding
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Property, always
from fencepost.model.language.interpreter import Step

from tests.agreement.test_beside import SESSIONS, files_of
from tests.helpers.parameters import few
from tests.helpers.traces import lamps_trace
from tests.helpers.written import machine_of, module_of

FILES = sorted(
    file
    for file in ARCHIVE.glob("*.trace")
    if "\nfairness: " not in (text := file.read_text()) and "\nverdict: violated\n" in text
)
"""All properties except those of behaviours, at whose end no single condition fails."""


def of_file(name: str) -> ViolatingBinding:
    file = read(ARCHIVE / name)
    found = violating_binding(file.trace, follow(file.trace, file).path)
    assert found is not None
    return found


@pytest.mark.parametrize("file", few(FILES, 24), ids=lambda file: file.stem)
def test_every_archived_violation_has_a_condition_that_is_not_as_it_must_be(file: Path) -> None:
    found = of_file(file.name)
    assert found.condition
    if found.operands:
        assert eval(found.operands) is found.is_so  # noqa: S307 (our own comparison of numbers)


@pytest.mark.parametrize(
    ("name", "values", "condition", "operands"),
    [
        ("kip101-weak-isr", "leader=0, member=1, offset=0", "offset < b.end", "0 < 0"),
        ("replication-b09-kip-903", "broker=1", "m.member_epoch[broker] in (NONE, newest(before).broker_epoch[broker])",
            ""),
        ("replication-b01-kip-101", "leader=1, offset=0", "bits.contains(s.ghost_deleted, record)", ""),
        ("replication-b02-kip-279", "one=replica[0], other=replica[1], offset=0",
            "one.log[offset].record == other.log[offset].record", "2 == 1"),
        ("replication-hyp-2", "", "s.ghost_stale & newest(s).isr == 0", "2 == 0"),
    ],
)  # fmt: skip
def test_the_culprit_is_named_in_words_of_the_property(name: str, values: str, condition: str, operands: str) -> None:
    found = of_file(f"{name}.trace")
    assert (str(found), found.condition, found.operands) == (values, condition, operands)


def judged(prop: Property) -> ViolatingBinding:
    """Return the violating values in the room with all lamps lit, the first of which was lit once."""
    trace = lamps_trace(prop, (0b111, 0))
    found = violating_binding(trace, follow(trace).path)
    assert found is not None
    return found


lit = module_of("""
from tests.machines import lamps
MACHINE = lamps.MACHINE
PROPERTIES = lamps.PROPERTIES
def is_odd(s, lamp):
    for other in range(len(s.count)):
        if other == lamp:
            return s.count[other] & 1 == 1
    return False
@always
def all_even(s, c):
    return not any(is_odd(s, lamp) for lamp in range(c.lamps) if lamp < 2)
@always
def values_small(s, c):
    return all(number < 1 for number in s.count)
@always
def by_statements(s, c):
    seen = 0
    for lamp in range(c.lamps):
        if lamp == 1:
            continue
        seen += s.count[lamp]
        if seen > 0:
            return False
    return True
@always
def one_of_two(s, c):
    return not s.lit or s.count[s.favourite - 1] == 0
@always
def nested(s, c):
    return all(s.count[one] == s.count[other] for one in range(c.lamps) if one > 0 for other in range(one))
@always
def no_witness(s, c):
    return any(number == 2 for number in s.count)
@always
def either(s, c):
    return all(s.count[lamp] == 0 if lamp < 1 else bits.contains(s.lit, lamp) for lamp in range(c.lamps))
@always
def none_twice(s, c):
    return not any(s.count[one] == s.count[other] and one > 0 for one in range(c.lamps) for other in range(one))
@always
def chained(s, c):
    return s.favourite < 0 < s.count[1 << (s.favourite - 99)]
@always
def chosen(s, c):
    return s.favourite == (s.count[s.favourite + 5] if s.favourite > 5 else s.count[s.favourite])
@always
def one_after_the_other(s, c):
    return (s.favourite > 5 and s.count[s.favourite + 5] > 0) == (s.favourite > 0 or s.count[s.favourite + 6] > 0)
@always
def changed_afterwards(s, c):
    lamp = s.favourite - 1
    if s.count[lamp] > 0:
        lamp = 9
        return False
    return lamp < 9
""")
"""Properties of the room with all lamps lit, the first of which was lit once."""


def test_an_explanation_that_fails_hides_no_violation() -> None:
    hidden = 0

    @always
    def nowhere(s: Any, c: Any) -> bool:
        """It has a name that is not in its module."""
        return s.favourite == hidden

    trace = lamps_trace(nowhere, (0b111, 0))
    made = follow(trace)
    assert violated_for(trace, made.path) == "nowhere is violated"
    assert 'id="culprit"' not in render("html", made)


@pytest.mark.parametrize(
    ("prop", "values", "condition", "operands"),
    [
        (lit.all_even, "lamp=0, other=0", "s.count[other] & 1 == 1", "1 == 1"),
        (lit.values_small, "number=1 (count[0])", "number < 1", "1 < 1"),
        (lit.by_statements, "lamp=0", "seen > 0", "1 > 0"),
        (lit.one_of_two, "(s.favourite - 1)=0", "s.count[s.favourite - 1] == 0", "1 == 0"),
        (lit.nested, "one=1, other=0", "s.count[one] == s.count[other]", "0 == 1"),
        (lit.no_witness, "", "any((number == 2 for number in s.count))", ""),
        (lit.either, "lamp=0", "s.count[lamp] == 0", "1 == 0"),
        (lit.none_twice, "one=2, other=1", "s.count[one] == s.count[other] and one > 0", ""),
        (lit.chained, "", "s.favourite < 0 < s.count[1 << s.favourite - 99]", "1 < 0"),
        (lit.chosen, "favourite=1",
            "s.favourite == (s.count[s.favourite + 5] if s.favourite > 5 else s.count[s.favourite])", "1 == 0"),
        (lit.changed_afterwards, "lamp=0", "s.count[lamp] > 0", "1 > 0"),
    ],
    ids=lambda item: getattr(item, "name", ""),
)  # fmt: skip
def test_what_decides_a_property_is_found_through_helpers_loops_and_choices(
    prop: Property, values: str, condition: str, operands: str
) -> None:
    """With the values at that time; unevaluated parts are neither evaluated nor reported."""
    found = judged(prop)
    assert (str(found), found.condition, found.operands) == (values, condition, operands)
    assert found.is_so is (prop in (lit.all_even, lit.by_statements, lit.none_twice, lit.changed_afterwards))
    assert str(judged(lit.one_after_the_other)) == "", "an index in a part that is not asked is not told"


FALLEN = Protocol(
    *machine_of("""
class C(Constants):
    careful = switch(default=True, meaning="the property asks first whether there is a stone")
class State(Record):
    stone: Annotated[int, Index(3, none=True)]
    left: Annotated[Array[Annotated[int, Range(0, 3)]], Size(3)]
@action()
def initial(s, c):
    s.left[1] = 3
@action()
def fall(s, c):
    s.stone = NONE
@action()
def stay(s, c):
    require(0 <= s.stone < s.left[s.stone])
    s.left[s.stone] -= 1
@always
def stands(s, c):
    if c.careful and s.stone < 0:
        return False
    return s.left[s.stone] < 4
@always
def is_near(s, c):
    return 0 <= s.stone < s.left[s.stone] + 3
@always
def is_first(s, c):
    return s.stone == (s.left[s.left[s.stone]] if s.stone >= 0 else 0)
""")
)
"""A walker may fall off a row of stones: conditions ask where it stands before they look at the stone."""


def after(found: Protocol, prop: Property, action: str) -> Trace:
    """Return the history of one step."""
    return Trace("One step", found, found.machine.set_constants({}), prop, (Step(found.machine.action(action), ()),))


@pytest.mark.parametrize(
    ("prop", "operands"),
    list(zip(FALLEN.properties, ("", "0 <= -1", "-1 == 0"), strict=True)),
    ids=("stands", "near", "first"),
)
def test_a_violation_is_shown_in_every_format_where_parts_of_it_have_no_value(prop: Property, operands: str) -> None:
    made = follow(after(FALLEN, prop, "fall"))
    found = violating_binding(made.trace, made.path)
    assert found is not None
    assert (str(found), found.operands) == ("", operands)
    for form in FORMATS:
        assert render(form, made)


SCOPES = files_of(SESSIONS["a value is that of the variable in its scope"])["model.py"]
ALIKE = Protocol(*machine_of(SCOPES.replace("[i] < 3", "[i] < 1")))
"""Variables of one name in two clauses: each explanation gives the value of its own."""


def test_a_guard_that_is_not_asked_to_its_end_and_one_of_two_clauses_are_explained_with_what_they_read() -> None:
    def read_by(found: Protocol, prop: int, action: str, guarded: str) -> list[tuple[str, ...]]:
        trace = after(found, found.properties[prop], action)
        return [why["values"] for why in refusals(of_trace(trace), follow(trace).path.states[-1], guarded)]

    assert read_by(FALLEN, 1, "fall", "stay") == [("s.stone=none",)]
    assert read_by(ALIKE, 0, "go", "stuck")[0] == ("s.a[0]=0", "v=0", "s.b[2]=1")
