"""The cross-check of stored states finds code that is wrong in one state of a hundred."""

import pkgutil
from contextlib import nullcontext
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import pytest
from fencepost.cli.failures import explain
from fencepost.cli.status import Exit
from fencepost.explorers.cross_check import CrossCheck, CrossCheckError, Partitions, cross_check, draw
from fencepost.explorers.native.compile import begin, generate
from fencepost.explorers.native.search import Search
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language import Machine, eventually, weak

from tests.helpers.parameters import few
from tests.helpers.written import machine_of

SIDE = 99
PLACES = """
class C(Constants):
    side = shape(99, low=1, high=99, meaning="the last place")
class State(Record):
    x: Annotated[int, Range(0, C.side)]
    y: Annotated[int, Range(0, C.side)]
@action()
def right(s, c):
    require(s.x < c.side)
    s.x += 1
@action()
def up(s, c):
    require(s.y < c.side)
    s.y += 1
@always
def inside(s, c):
    return s.x <= c.side
@always
def below(s, c):
    return s.y != 42
"""
TRUE, (inside, below) = machine_of(PLACES)
PLANTED = {
    "a guard refuses too much": ("s.y < c.side)", "s.y < c.side)\n    require(s.x != 37 or s.y == 0)"),
    "a step leads elsewhere": ("s.x += 1", "s.x += 2 if s.y == 61 and s.x + 2 <= c.side else 1"),
}
PLANTED_IN = {name: machine_of(PLACES.replace(*change))[0] for name, change in PLANTED.items()}
"""Planted: no step in one of a hundred columns; in one row the step leads to the next column too."""
REFUSING = PLANTED_IN["a guard refuses too much"]
COMPACT = pytest.mark.parametrize("compact", few([False, True], 2), ids=["exact", "compact"])


def searched(code: Machine, options: Options | None = None) -> tuple[Search, Result]:
    constants = TRUE.set_constants({})
    kernels = begin(generate(code, constants, (inside,), normalize=True))
    made = Search(TRUE, constants, (inside,), options or Options(workers=1), kernels=kernels)
    return made, made.run()


@COMPACT
@pytest.mark.parametrize("name", PLANTED)
def test_a_miscompilation_that_reaches_one_state_in_a_hundred_is_noticed(name: str, *, compact: bool) -> None:
    made, result = searched(PLANTED_IN[name], Options(workers=1, compact=compact))
    with pytest.raises(CrossCheckError, match="ngines disagree") as caught:
        cross_check(made, result, 1000)
    assert caught.value.path is None or caught.value.path.states


@COMPACT
def test_a_resumed_search_is_checked_as_a_whole(tmp_path: Path, *, compact: bool) -> None:
    def resumed(code: Machine) -> tuple[Search, Result]:
        asked = Options(workers=1, compact=compact, checkpoint=str(tmp_path / str(code is TRUE)), max_states=500)
        assert not searched(code, asked)[1].complete
        return searched(code, replace(asked, resume=True, max_states=1100))

    planted, result = resumed(REFUSING)
    with pytest.raises(CrossCheckError):
        cross_check(planted, result, 1000)
    made, result = resumed(TRUE)
    assert cross_check(made, result, 1 << 20).of == sum(made.position.levels[:-1]) > 1000


def test_true_code_agrees_in_every_state_and_what_is_changed_then_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, result = searched(TRUE)
    found = cross_check(made, result, 1 << 20)
    assert (found.of, found.whole) == ((SIDE + 1) ** 2, True)
    made.properties = (below,)
    with pytest.raises(CrossCheckError, match="under the plain semantics, below is violated here"):
        cross_check(made, result, 1000)
    made.properties = (inside,)
    with monkeypatch.context() as patch:
        for name in ("LEAST_SECONDS", "SHARE"):
            patch.setattr(f"fencepost.explorers.cross_check.{name}", -1000.0)
        assert 0 < cross_check(made, result).states < result.distinct, "its time is spent"
    for part in made.partitions:
        part.table[::50] = 0
    with pytest.raises(CrossCheckError, match="a successor was never stored"):
        cross_check(made, result, 1000)
    made, result = searched(TRUE, Options(workers=1, compact=True, max_depth=30))
    assert cross_check(made, result, None).of == 29 * 30 // 2


def at_the_end(s: Any, c: Any) -> bool:
    return s.x == c.side and s.y == c.side


def back(s: Any, c: Any) -> bool:
    return s.x < 0


def undefined(s: Any, c: Any) -> bool:
    return 1 << (s.x - 50) > s.y


BEHAVIOURS = (
    eventually("they_end", "They come to the last place.", then=at_the_end, fair=tuple(map(weak, TRUE.actions))),
    eventually("they_come_back", "They begin again.", then=back),
    eventually("it_is_defined", "It raises an error.", then=undefined),
)


def test_a_state_that_differs_is_our_error_whatever_is_found_of_behaviours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check runs after these are judged, outside of the budgets, and also if judging ends in an error."""
    order = []
    for where, name in (("explorers.liveness.engine.Engine", "judge"), ("explorers.cross_check", "cross_check")):
        true = getattr(pkgutil.resolve_name(f"fencepost.{where}"), name)
        monkeypatch.setattr(
            f"fencepost.{where}.{name}", lambda *given, true=true, name=name: (order.append(name), true(*given))[1]
        )
    constants = TRUE.set_constants({})
    kernels = begin(generate(REFUSING, constants, (inside,), normalize=True))
    for prop in BEHAVIOURS:
        order.clear()
        with pytest.raises(CrossCheckError) as caught:
            search(TRUE, constants, (inside, prop), Options(workers=1, cross_check=1000), kernels=kernels)
        assert order == ["judge", "cross_check"]
        assert explain(caught.value)[0] == Exit.WRONG


def test_the_probability_that_is_stated_is_that_of_noticing() -> None:
    made, result = searched(REFUSING)
    stored = Partitions(made, complete=True)
    keys = stored.keys([stored.state(number) for number in range(stored.expanded)])
    wrong = {number for number, (x, y) in enumerate(keys) if x == 37 and 0 < y < SIDE}
    for seed in range(6):
        sample = list(islice(draw(stored.expanded, seed), 100))
        with pytest.raises(CrossCheckError) if wrong & {*sample} else nullcontext():
            cross_check(made, result, len(sample), seed)
    states = next(n for n in count(1) if CrossCheck(n, stored.expanded).excludes <= len(wrong) / stored.expanded)
    missed = sum(wrong.isdisjoint(islice(draw(stored.expanded, seed), states)) for seed in range(1000))
    assert missed <= 4, "of 1,000 samples one may miss it"


def test_numbers_are_drawn_once_each_and_the_same_by_seed() -> None:
    assert sorted(draw(1000, 3)) == list(range(1000))
    assert list(draw(1000, 3)) == list(draw(1000, 3)) != list(draw(1000, 4))
