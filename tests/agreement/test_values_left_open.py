"""A value in which z3 leaves a quantifier is closed or reported as open, and never ends a proof with a Python error."""

import fencepost.api as f
import pytest
import z3
from fencepost.explorers.symbolic.models import OpenValueError, value_under

from tests.helpers.written import machine_of

SOME_ELEMENT = machine_of("""
class C(Constants):
    n = capacity(2, low=1, high=5, meaning="the largest number", room=3)
    h = bound(1, low=0, high=5, meaning="the last element")

class State(Record):
    x: Annotated[int, Range(0, 2 * C.n)]
    y: Annotated[int, Range(0, C.n)]
    a: Annotated[Array[Annotated[int, Range(0, 2)]], Size(C.h + 1)]

@action(v=Range(0, C.h))
def change(s, c, v):
    require(s.x < c.n)
    s.y = max(0, min(3, (3 if s.y >= 0 else s.y))) if any(s.a[i] == v for i in range(c.h + 1)) else s.y
    s.x = 0

@step()
def rises(before, after, c):
    return after.y >= before.y or after.x > 0
""")
"""An endless array with the question whether some element has a value, which z3 leaves in its models."""


@pytest.mark.parametrize("options", [{"engine": "plain"}, {"workers": 1}, {"compact": True}], ids=str)
def test_searches_name_the_step_that_leaves_its_domain(options: dict[str, object]) -> None:
    with pytest.raises(f.FencepostError, match=r"change v=0: State.y: 3 is out of its domain 0..2"):
        f.check(*SOME_ELEMENT, **options)


@pytest.mark.parametrize("options", [{}, {"depth": 2}], ids=str)
def test_a_proof_names_it_too(options: dict[str, int]) -> None:
    with pytest.raises(f.FencepostError, match=r"State.y: \d+ is out of its domain"):
        f.prove(*SOME_ELEMENT, unbounded=("n", "h"), **options)


def test_a_quantifier_in_a_value_is_closed_where_it_has_one_value() -> None:
    cells, place, solver = z3.Array("cells", z3.IntSort(), z3.IntSort()), z3.Int("place"), z3.Solver()
    solver.add(cells == z3.K(z3.IntSort(), z3.IntVal(2)))
    assert solver.check() == z3.sat
    some = z3.Exists(place, z3.And(place >= 0, place < 3, z3.Select(cells, place) == 2))
    assert value_under(solver.model())(z3.If(some, z3.IntVal(7), z3.IntVal(8))) == 7


def test_a_value_that_z3_cannot_say_is_said_to_be_open() -> None:
    solver = z3.Solver()
    assert solver.check() == z3.sat
    x, y, n = z3.Ints("x y n")
    fermat = z3.Exists([x, y, n], z3.And(x > 1, y > 1, n > 2, x * x * x * x + y * y * y * y == n * n * n * n))
    with pytest.raises(OpenValueError):
        value_under(solver.model())(z3.If(fermat, z3.IntVal(1), z3.IntVal(2)))
