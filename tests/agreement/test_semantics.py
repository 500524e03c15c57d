"""Each sentence of `docs/model/semantics.md`, on every engine."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language.errors import DomainError, ModelError

from tests.helpers.compared import Comparison, typed_search
from tests.helpers.places import DOCS
from tests.helpers.symbols import Symbols
from tests.machines import lines
from tests.machines.meanings import MACHINE, PROPERTIES, Case

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.explorers.verdict import Result
    from fencepost.model.language import Constants

PAGE = DOCS / "model" / "semantics.md"
WANTED: dict[Case, int | str] = {
    Case.FLAGS_ARE_NUMBERS: 210,
    Case.DIVISION_ROUNDS_DOWN: -38,
    Case.SHIFTS_ROUND_DOWN: -310,
    Case.A_NEGATIVE_SHIFT_IS_AN_ERROR: "negative shift count",
    Case.A_HUGE_SHIFT_IS_AN_ERROR: "a-huge-shift-is-an-error: ",
    Case.SIGNS_OF_FLAGS: -119,
    Case.A_LONG_SUM_IS_REFUSED: 1,
    Case.LOGIC_GIVES_THE_OPERAND_THAT_DECIDES: 540,
    Case.LOGIC_STOPS_WHERE_IT_IS_DECIDED: 10,
    Case.ONE_WAY_OF_A_CONDITIONAL_IS_EVALUATED: 22,
    Case.A_CHAIN_EVALUATES_ITS_MIDDLE_ONCE: 11,
    Case.A_CHAIN_STOPS_WHERE_IT_FAILS: 1,
    Case.IN_EVALUATES_EVERY_NUMBER: "State.values: NONE used as an index: it has 3 elements, numbered from 0.",
    Case.NOT_IN_EVALUATES_EVERY_NUMBER: 2,
    Case.LEAST_EVALUATES_EVERY_NUMBER: 233,
    Case.OPERANDS_FROM_LEFT_TO_RIGHT: 112,
    Case.ARGUMENTS_FROM_LEFT_TO_RIGHT: 122,
    Case.THE_VALUE_BEFORE_THE_PLACE: 51,
    Case.AN_AUGMENTED_PLACE_IS_FOUND_ONCE: 631,
    Case.AN_AUGMENTED_PLACE_IS_READ_FIRST: 4,
    Case.SEVERAL_NAMES_AT_ONCE: 21,
    Case.A_HELPER_CHANGES_THE_RECORD_IT_IS_GIVEN: 445,
    Case.A_HELPER_GETS_A_NUMBER_AS_IT_IS: 63,
    Case.A_HELPER_GIVES_THE_RECORD_ITSELF: 561,
    Case.A_RECORD_THAT_IS_STORED_IS_COPIED: 10,
    Case.A_NAME_STANDS_FOR_A_PLACE: 43,
    Case.A_NAME_KEEPS_ITS_PLACE: 108,
    Case.A_SOURCE_IS_EVALUATED_ONCE: 1005,
    Case.ENDS_OF_A_RANGE_ARE_EVALUATED_ONCE: 121,
    Case.A_CHANGED_VARIABLE_DOES_NOT_CHANGE_THE_LOOP: 51627,
    Case.ELEMENTS_ARE_READ_IN_THEIR_ROUND: 129,
    Case.A_VARIABLE_KEEPS_ITS_LAST_VALUE: 28,
    Case.A_RANGE_THAT_RUNS_BACKWARDS_IS_EMPTY: 5012,
    Case.CONTINUE_AND_BREAK: 202,
    Case.RETURN_LEAVES_EVERY_LOOP: 9,
    Case.A_GENERATORS_VARIABLE_IS_ITS_OWN: 34,
    Case.THE_FIRST_SOURCE_IS_OUTSIDE_THE_GENERATOR: 64,
    Case.A_SHADOWED_PARAMETER_IS_NO_INDEX: (
        "State.values: index 3 is outside the array: it has 3 elements, numbered from 0."
    ),
    Case.ANY_STOPS_AT_WHAT_DECIDES: 10,
    Case.FOLDS_OF_NOTHING: 100,
    Case.CLAUSES_NEST: 5,
    Case.A_LATER_CLAUSE_MAY_TAKE_A_NAME: 11,
    Case.A_BAG_FROM_THE_LAST_MESSAGE: 52,
    Case.MESSAGES_ARE_ORDERED_FIELD_BY_FIELD: 100001,
    Case.WHAT_IS_ADDED_COMES_LAST: 352,
    Case.A_LOOP_SEES_WHAT_WAS_THERE: 523,
    Case.THE_MESSAGE_AT_HAND_MAY_BE_REMOVED: 44101,
    Case.THE_MESSAGE_ITSELF_IS_REMOVED: 64,
    Case.A_CHANGED_MESSAGE_STAYS_IN_ITS_STEP: 12,
    Case.A_CHANGED_MESSAGE_MOVES_AFTER_ITS_STEP: 21,
    Case.FIELDS_BEFORE_THE_MESSAGE_IS_THERE: 436,
    Case.A_FULL_BAG_BEFORE_A_WRONG_FIELD: "State.box: the bag is full (3 in flight). Raise the bound that sizes it.",
    Case.A_RECEIVED_MESSAGE_IS_A_COPY: 52,
    Case.A_MESSAGE_THAT_IS_NOT_THERE: (
        "State.box: there is no message Message(number=2, pairs=[Pair(first=0, "
        "second=0), Pair(first=0, second=0)]) in flight to "
        "remove."
    ),
    Case.NONE_AS_AN_INDEX: "State.values: NONE used as an index: it has 3 elements, numbered from 0.",
    Case.AN_INDEX_BEFORE_A_VALUE: "State.values: index 3 is outside the array: it has 3 elements, numbered from 0.",
    Case.A_VALUE_OUTSIDE_ITS_DOMAIN: "State.values[1]: 11 is out of its domain -9..9.",
    Case.WHAT_IS_NOT_EVALUATED_IS_NO_ERROR: 3,
    Case.A_GUARD_PROTECTS_THOSE_AFTER_IT: 2,
    Case.A_LOCAL_BEFORE_A_GUARD_IS_EVALUATED: (
        "State.values: NONE used as an index: it has 3 elements, numbered from 0."
    ),
    Case.WITHOUT_A_VALUE_NO_GUARD_IS_EVALUATED: 3,
    Case.NONE_IS_NEVER_TRIED: 5,
}
"""What each case leaves, or the error that it is."""


def by_search(search: Callable[..., Result], *, compact: bool = False) -> Callable[[Constants], bool]:
    """Return whether an engine finds that all is as wanted; it raises the error of a case that fails."""

    def ask(constants: Constants) -> bool:
        found = search(MACHINE, constants, PROPERTIES, Options(workers=1, compact=compact))
        return found.properties[0].verdict is Verdict.HOLDS

    return ask


def by_typed_program(constants: Constants) -> bool:
    """Return whether the typed program leaves what is wanted."""
    return typed_search(MACHINE, constants, PROPERTIES)["is-as-wanted"]


ENGINES = {
    "plain": by_search(plain),
    "typed": by_typed_program,
    "native": by_search(native),
    "compact": by_search(native, compact=True),
}
EVERY = [
    pytest.param(
        engine,
        case,
        marks=[pytest.mark.xdist_group("meanings")] if engine in ("native", "compact") else [],
        id=f"{engine}-{case.name.lower()}",
    )
    for engine in ENGINES
    for case in WANTED
]
STATES = 40
"""States of a case that are compared on the symbolic engine, at most."""
NO_END = {"plain"}
"""Engines whose numbers have no end."""


def test_every_case_is_tried() -> None:
    assert {*WANTED, Case.NOTHING} == set(Case)


@pytest.mark.parametrize(("engine", "case"), EVERY)
def test_a_sentence_is_true(engine: str, case: Case) -> None:
    ask, wanted = ENGINES[engine], WANTED[case]
    if isinstance(wanted, str) or (case is Case.A_LONG_SUM_IS_REFUSED and engine not in NO_END):
        with pytest.raises(DomainError) as caught:
            ask(MACHINE.set_constants({"case": case}))
        message = "64 bits" if isinstance(wanted, int) else wanted
        assert message in str(caught.value)
        return
    assert ask(MACHINE.set_constants({"case": case, "want": wanted}))
    assert not ask(MACHINE.set_constants({"case": case, "want": wanted + 1})), "it does not happen at all"


@pytest.mark.parametrize(
    "case", sorted(set(WANTED) - {Case.A_HUGE_SHIFT_IS_AN_ERROR}), ids=lambda case: case.name.lower()
)
def test_the_symbolic_engine_takes_the_same_steps(case: Case) -> None:
    others = {item.lower() for item in Case.__members__} - {case.name.lower()}
    alone = replace(MACHINE, actions=tuple(item for item in MACHINE.actions if item.name not in others))
    symbols = Symbols(alone, {"case": case}, tuple(item for item in PROPERTIES if item.eventual is None))
    states, known = list(symbols.plain.initial_states()), 0
    while known < len(states) and known < STATES:
        states += [after for after in symbols.compare(states[known], solve=False) if after not in states]
        known += 1


def test_the_symbolic_engine_refuses_a_shift_that_may_be_huge() -> None:
    with pytest.raises(ModelError, match="the symbolic engine has no term for a shift"):
        Symbols(MACHINE, {"case": Case.A_HUGE_SHIFT_IS_AN_ERROR})


def test_guards_on_one_line_are_counted_apart() -> None:
    found = plain(lines.MACHINE, lines.MACHINE.set_constants({}), lines.PROPERTIES, Options(workers=1))
    assert [(item.condition, item.refused) for item in found.guards] == [
        ("number > 0", found.distinct),
        ("number < 3", found.distinct),
        ("s.sent < c.sends", 2 * found.levels[-1]),
    ]
    compared = Comparison(lines.MACHINE, lines.MACHINE.set_constants({}), lines.PROPERTIES).run()
    assert compared.refused == {("send", number): item.refused for number, item in enumerate(found.guards)}


def test_step_properties_see_a_step_before_normalize_and_with_its_bags_in_order() -> None:
    found = plain(lines.MACHINE, lines.MACHINE.set_constants({}), lines.PROPERTIES, Options(workers=1))
    assert found.properties[0].verdict is Verdict.HOLDS
    assert Comparison(lines.MACHINE, lines.MACHINE.set_constants({}), lines.PROPERTIES).run().judged


def test_the_page_has_every_sentence_and_no_other() -> None:
    said = {item.name: item.sentence for item in MACHINE.actions if item.name.upper() in Case.__members__}
    assert {name.upper() for name in said} == {case.name for case in WANTED}
    page = re.sub(r"\s+", " ", PAGE.read_text())
    listed = re.findall(r"- (.+?) \*([a-z_]+)\*", page)
    assert {name: text for text, name in listed} == said
