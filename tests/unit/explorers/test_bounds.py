"""Bounds that a search reached, those that cut off an otherwise possible step, and the effect of raising them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost import api
from fencepost.api.answers import growing
from fencepost.api.answers.growing import Change, Growth
from fencepost.explorers import plain
from fencepost.explorers.program.ir.oversights import unshared_bounds
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import BoundCount, Options, Result
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import DomainError, UsageError

from tests.agreement.test_beside import SESSIONS, SHARED, files_of
from tests.helpers.commands import fencepost
from tests.helpers.written import file_of, machine_of, module_of
from tests.unit.explorers.test_ablation import SHIFTED

shelf = module_of("""
class C(Constants):
    books = bound(3, low=1, high=6, meaning="books on the shelf")
    layers = bound(3, low=1, high=6, meaning="layers of dust")
    labels = bound(3, low=1, high=6, meaning="labels to choose from")
    places = capacity(3, low=1, high=6, meaning="places that somebody counts")
    notes = bound(3, low=1, high=6, meaning="notes at hand")
    slips = bound(3, low=1, high=6, meaning="slips at hand, of which some wait while there are as many as that")
    cracks = bound(3, low=1, high=6, meaning="cracks, by the helper that also counts dust")
    visitors = bound(3, low=1, high=6, meaning="visitors, of whom a property asks")
class Slip(Record):
    number: Annotated[int, Range(0, 1)]
class State(Record):
    books: Annotated[int, Range(0, C.books)]
    dust: Annotated[int, Range(0, 9)]
    label: Annotated[int, Range(0, 9)]
    counted: Annotated[int, Range(0, 9)]
    shelf: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.places)]
    slips: Annotated[Bag[Slip], Size(C.slips + C.notes)]
def is_sound(s, c):
    return s.books < c.cracks
@action()
def put(s, c):
    require(s.books < 2)
    require(s.books < c.books, bound=C.books)
    require(s.books < c.layers, bound=C.layers)
    require(s.books < c.labels, bound=C.labels)
    require(s.books < c.places, bound=C.places)
    require(s.books < c.visitors, bound=C.visitors)
    require(is_sound(s, c), bound=C.cracks)
    s.books += 1
    if fits(c.notes > len(s.slips), bound=C.notes):
        s.slips.add(number=1)
    if fits(len(s.slips) != c.slips, bound=C.slips):
        s.books += 0
@action()
def dust_falls(s, c):
    require(s.books == 0)
    require(s.dust < c.layers)
    s.dust += 1
@action()
def relabel(s, c):
    require(s.books == 0)
    label = choose(Range(0, C.labels))
    s.label = label
@action()
def count(s, c):
    require(s.books == 0)
    require(s.counted < sum(1 for _ in s.shelf))
    s.counted += 1
@always
def visitors_see_books(s, c):
    return s.books <= c.visitors
MACHINE = Machine("shelf", "A shelf.", State, C, initial, (put, dust_falls, relabel, count))
""")
"""A shelf of two books: larger bounds that only a guard of the step refuses with add no state."""
errands = module_of("""
class C(Constants):
    people = shape(2, low=1, high=3, meaning="people")
    errands = bound(2, low=0, high=4, meaning="errands in all")
    days = bound(2, low=0, high=4, meaning="days in all")
    notes = capacity(1, low=1, high=3, meaning="notes on the board")
    holidays = bound(0, low=0, high=2, meaning="days off")
    spare = bound(1, low=0, high=2, meaning="errands that nobody can run")
    steps = capacity(2, low=1, high=4, meaning="steps of the stairs, of which each day takes one")
Person = Annotated[int, Index(C.people)]
class Note(Record):
    by: Person
class State(Record):
    ran: Annotated[Array[Annotated[int, Range(0, C.errands)]], Per(Person)]
    all: Annotated[int, Range(0, C.errands)]
    day: Annotated[int, Range(0, C.days + C.holidays)]
    off: Annotated[int, Range(0, C.holidays)]
    stairs: Annotated[Array[Annotated[int, Range(0, 1)]], Size(C.steps)]
    climbed: Annotated[int, Range(0, C.steps)]
    board: Annotated[Bag[Note], Size(C.notes)]
@action(person=Person)
def runs_errand(s, c, person):
    require(s.all < c.errands, bound=C.errands)
    require(s.ran[person] < s.day)
    s.ran[person] += 1
    s.all += 1
    if fits(len(s.board) < c.notes, bound=C.notes):
        s.board.add(by=person)
@action()
def day_begins(s, c):
    require(s.day < c.days, bound=C.days)
    require(s.all < c.errands, bound=C.errands)
    s.day += 1
@action()
def holiday_begins(s, c):
    require(s.off < c.holidays, bound=C.holidays)
    require(s.day > 0)
    s.off += 1
    s.day += 1
@action()
def spare_errand(s, c):
    require(s.all > c.spare, bound=C.spare)
    require(s.all > c.errands)
    s.all = 0
@action()
def climbs(s, c):
    require(s.climbed < c.steps, bound=C.steps)
    require(s.stairs[s.climbed] == 0)
    require(s.climbed < s.day)
    s.stairs[s.climbed] = 1
    s.climbed += 1
@always
def nobody_runs_too_many(s, c):
    return all(ran <= s.day for ran in s.ran)
@always
def few_errands(s, c):
    return s.all <= 3
@sometimes
def something_is_done(s, c):
    return s.all > 0
MACHINE = Machine(
    "errands", "Errands", State, C, initial, (runs_errand, day_begins, holiday_begins, spare_errand, climbs)
)
""")
"""Errands that a few people run: bounds of every kind, some of which cut off steps."""


def counts(result: Result) -> dict[str, BoundCount]:
    return {item.constant: item for item in result.bounds}


def errands_of(search: Callable[..., Result] = plain.search, options: Options | None = None, **values: int) -> Result:
    return search(errands.MACHINE, errands.MACHINE.set_constants(values), errands.PROPERTIES, options or Options())


REACHED = {
    "a bound that alone refuses a step": ({"errands": 1, "days": 3}, {"errands": "alone"}),
    "one that refuses another step": ({"errands": 4, "days": 1}, {"days": "alone"}),
    "none where another guard refuses too": ({}, {"spare": "no"}),
    "one that refuses together with another only": (
        {"people": 1, "days": 1, "errands": 1}, {"days": "alone", "errands": "together"}
    ),
    "one for whose sake an effect leaves something out": ({"errands": 2, "days": 3}, {"notes": "alone"}),
    "none where the effect has room": ({"errands": 2, "days": 3, "notes": 2}, {"notes": "no"}),
    "one behind which a guard goes wrong": ({"steps": 1, "days": 3}, {"steps": "alone"}),
    "a bound of nothing": ({"holidays": 0}, {"holidays": "alone"}),
    "all are large": ({"days": 4, "errands": 4}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("values", "reached"), REACHED.values(), ids=REACHED)
def test_a_bound_is_reached_where_it_refuses_alone_on_every_engine(
    values: dict[str, int], reached: dict[str, str]
) -> None:
    expected = errands_of(**values)
    found = counts(expected)
    for name, how in reached.items():
        item = found[name]
        assert (item.states > 0, item.together, item.reached) == (how == "alone", how == "together", how != "no")
    for options in (Options(workers=1), Options(workers=2), Options(workers=1, compact=True)):
        assert errands_of(native, options, **values).bounds == expected.bounds


def test_a_number_that_compiled_code_cannot_hold_is_not_refused_by_a_bound() -> None:
    machine, _ = SHIFTED
    assert counts(plain.search(machine, machine.set_constants({})))["n"] == BoundCount("n", 3, 0)
    with pytest.raises(DomainError, match="a shift or a product does not fit in the 64 bits"):
        native(machine, machine.set_constants({}))
    small = machine.set_constants({"n": 2})
    assert native(machine, small).bounds == plain.search(machine, small).bounds


JUMPS = """
class State(Record):
    x: Annotated[int, Range(ENDS)]
@action()
def jump(s, c):
    require(GUARD, bound=C.n)
    require(s.x < 5)
    s.x += 2
@always
def small(s, c):
    return s.x < 9
"""
OPENS = ["s.x < c.n", "c.n >= s.x + 1", "s.x == 0 or s.x < c.n", "s.x == 0 and c.n > s.x"]
MAY_CLOSE = ["s.x != c.n", "s.x == c.n", "s.x > c.n", "not s.x < c.n", "c.n < s.x < c.n", "s.x < c.n or s.x == c.n + 1"]
GROWS = ["0, C.n", "0, 2 * C.n + 1", "0, largest(C.n, 6)", "0, 9 - smallest(3, 0 - C.n)"]
MAY_SHRINK = ["0, 9 - C.n", "0, 9 - largest(C.n, 2)", "0, smallest(9, 9 - C.n)", "0 - C.n, 9", "C.n, 9"]


@pytest.mark.parametrize(
    ("ends", "guard", "alone"),
    [
        *(("0, 6", guard, True) for guard in OPENS),
        *(("0, 6", guard, False) for guard in MAY_CLOSE),
        *((ends, "s.x < c.n", True) for ends in GROWS),
        *((ends, "s.x < c.n", False) for ends in MAY_SHRINK),
    ],
)
def test_a_bound_is_its_guards_own_if_a_larger_one_closes_none_and_narrows_no_domain(
    ends: str, guard: str, alone: bool
) -> None:
    """Otherwise a larger bound could change a verdict although the bound was not reached."""
    machine, _ = machine_of(JUMPS.replace("ENDS", ends).replace("GUARD", guard))
    assert ("n" in unshared_bounds(translate(machine))) is alone


def test_a_search_that_goes_on_from_a_checkpoint_counts_what_one_in_one_go_does(tmp_path: Path) -> None:
    values: dict[str, Any] = {"days": 4, "errands": 4}
    expected, kept = errands_of(native, **values).bounds, str(tmp_path / "kept")
    first = errands_of(native, Options(checkpoint=kept, max_depth=4), **values)
    assert (first.complete, first.bounds == expected) == (False, False)
    assert errands_of(native, Options(checkpoint=kept, resume=True), **values).bounds == expected


@pytest.mark.long
def test_every_budget_of_every_protocol_is_declared_as_a_bound_but_one_that_a_rule_shares_a_guard_with() -> None:
    silent = [
        (name, guard.action)
        for name, item in PROTOCOLS.items()
        for guard in translate(item.machine).guards
        if any(".budget." in f".{path}" for _, path in guard.reads) and guard.bound is None
    ]
    assert silent == [("leader-discovery", "client_fails_to_validate")]


def grown(*asked: Any, **options: Any) -> Growth:
    return api.check(*asked, **options).growth


def test_growth_says_how_far_a_verdict_is_stable_and_which_bounds_do_not_matter() -> None:
    found = api.check(errands.MACHINE, errands.PROPERTIES, days=2, errands=2, grow=60)
    growth = found.growth
    by_name = {item.name: item for item in growth.properties}
    changes = by_name["few-errands"].changes
    assert (changes.constant, changes.value, changes.verdict) == ("errands", 4, "violated")
    assert (by_name["nobody-runs-too-many"].changes, by_name["few-errands"].stable_up_to["errands"]) == (None, 3)
    assert (growth.why_stopped, "spare" in growth.settled, "holidays" in growth.switched_off) == ("", True, True)
    assert found.verdict == "violated"
    data = found.to_dict()["growth"]["properties"][1]
    assert data["changes"].items() >= {"constant": "errands", "value": 4, "verdict": "violated"}.items()
    assert data["changes"]["cell"] == {**data["stable_up_to"], "errands": 4}


def test_a_verdict_is_stable_in_a_box_only_where_all_of_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The property reads a bound and is never violated, which no search of other cells shows."""
    monkeypatch.setattr(growing, "BESIDE", 3)
    file = file_of(files_of(SESSIONS[SHARED])["three"].replace("WHAT", "s.y <= c.a + 9"), "three")
    judged, seen = grown(file, grow=60).properties
    assert judged.changes is None
    assert (judged.box, seen.box) == (False, True)
    page = " ".join(fencepost("check", str(file), "--grow", "10s").stdout.split())
    assert "stable judged, with the 10 cells that were searched, the last of them a=3 b=3 d=3" in page
    assert "other smaller cells were not searched" in page
    assert "stable seen, up to a=3 b=3 d=3" in page


def test_growth_says_that_it_is_unfinished_or_interrupted() -> None:
    growth = grown("kip320", replicas=2, grow=0.01)
    assert growth.why_stopped
    assert growth.complete is False
    asked = iter(range(10**9))
    found = api.check("kip320", replicas=2, grow=600, cancel=lambda: next(asked) > 20)
    assert found.growth is None or found.growth.why_stopped


BUCKET = machine_of("""
class C(Constants):
    drops = bound(3, low=1, high=9, meaning="drops that fall")
class State(Record):
    inside: Annotated[int, Range(0, 4)]
@action()
def fall(s, c):
    require(s.inside < c.drops, bound=C.drops)
    s.inside += 1
@always
def it_is_not_measured(s, c):
    return c.drops < 5 or s.inside != 2
@always
def it_holds_few(s, c):
    return s.inside <= 9
""")


@pytest.mark.parametrize("engine", ["native", "plain"])
def test_growth_keeps_the_answer_where_a_raised_bound_makes_the_model_go_wrong(engine: str) -> None:
    found = api.check(*BUCKET, engine=engine, grow=600)
    assert (found.verdict, found.distinct, found.constants) == ("violated", 4, {"drops": 3})
    growth = found.growth
    assert growth.why_stopped == "the model raises an error with drops=5"
    assert [(item.value, item.changed) for item in growth.steps] == [(4, ()), (5, ("it-is-not-measured",))]
    assert [(item.stable_up_to, item.changes) for item in growth.properties] == [
        ({"drops": 4}, Change("drops", 5, "violated", {"drops": 5})),
        ({"drops": 4}, None),
    ]
    assert growth.open == ("drops",)


def test_a_page_says_of_which_bounds_larger_values_may_add_states() -> None:
    page = " ".join(fencepost("check", shelf.__file__, "--grow", "10s", "-v").stdout.split())
    free = "books=3, notes=3, cracks=3: larger values add no states"
    read = (
        "layers=3, labels=3, places=3, slips=3, visitors=3: the model "
        "reads them elsewhere too, so larger values may add states"
    )
    assert f"not reached {free}; {read}" in page
    settled = "settled no longer reached: books, notes, cracks: larger values add no states; layers, labels, places,"
    assert settled in page


def test_a_larger_bound_than_there_may_be_is_not_tried() -> None:
    with pytest.raises(UsageError):
        errands.MACHINE.set_constants({"days": 5})
    growth = grown(errands.MACHINE, errands.PROPERTIES, days=4, errands=4, grow=60)
    assert "days" not in [item.constant for item in growth.steps]
