"""An error of a model ends as the plain semantics' error on every engine."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fencepost.explorers.native.compile import Kernels, generate, load
from fencepost.explorers.native.expansion import Worker, WorkerPool
from fencepost.explorers.native.llvm import checks
from fencepost.explorers.native.search import Search
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import DomainError

from tests.helpers.parameters import few
from tests.helpers.written import module_of
from tests.machines import faulty
from tests.machines.faulty import MACHINE, PROPERTIES, Fault

wide = module_of("""
from enum import IntEnum
LARGE = 1 << 61
GREATEST = (1 << 62) - 1
LEAST = -GREATEST
NAMES = "NOTHING WRAPS_TO_ZERO NEGATED MAGNITUDE DIFFERENCE ON_THE_WAY FOLDED IN_GUARD IN_PROPERTY"
Fault = IntEnum("Fault", NAMES, start=0)
class C(Constants):
    fault = choice(Fault.NOTHING, meaning="what goes wrong")
class State(Record):
    done: Annotated[int, Range(0, 1)]
    small: Annotated[int, Range(-9, 9)]
    wide: Annotated[int, Range(LEAST, GREATEST)]
    parts: Annotated[Array[Annotated[int, Range(LEAST, GREATEST)]], Size(4)]
@action()
def initial(s, c):
    s.wide = -LARGE - LARGE + 1
    for i in range(4):
        s.parts[i] = LARGE
@action()
def go(s, c):
    require(s.done == 0)
    require(c.fault != Fault.IN_GUARD or s.wide - s.parts[0] - s.parts[1] - s.parts[2] < 0)
    s.done = 1
    t = s.parts[0]
    if c.fault == Fault.WRAPS_TO_ZERO:
        s.small = t + t + t + t + t + t + t + t
    if c.fault == Fault.NEGATED:
        s.wide = -(s.wide + s.wide + s.wide)
    if c.fault == Fault.MAGNITUDE:
        s.wide = abs(s.wide + s.wide + s.wide)
    if c.fault == Fault.DIFFERENCE:
        s.wide = s.wide - 1
    if c.fault == Fault.ON_THE_WAY:
        s.small = (t + t + t + t + t) >> 61
    if c.fault == Fault.FOLDED:
        s.small = sum(part for part in s.parts) >> 61
@always
def is_small(s, c):
    return s.done == 0 or c.fault != Fault.IN_PROPERTY or s.wide + s.wide + s.wide < 0
MACHINE = Machine("wide", "Sums that pass 64 bits.", State, C, initial, (go,))
""")
"""Sums of numbers that pass 64 bits, where `fault` says so: in a store, on the way to a small value, in a guard ..."""
MESSAGES = {
    Fault.VALUE: "store: State.three: 4 is out of its domain 0..3.",
    Fault.VALUE_BELOW: "store: State.hundred: -1 is out of its domain 0..100.",
    Fault.VALUE_256: "store: State.hundred: 256 is out of its domain 0..100.",
    Fault.ELEMENT: "store: State.values[1]: 4 is out of its domain 0..3.",
    Fault.NESTED: "store: Entry.id: 4 is out of its domain 0..3.",
    Fault.FILLED_MESSAGE: "store: Message.extra[1]: 4 is out of its domain 0..3.",
    Fault.READ_NONE: "index: State.values: NONE used as an index: the array has 3 elements, numbered from 0.",
    Fault.READ_BELOW: "index: State.values: index -4 is outside the array: the array has 3 elements, numbered from 0.",
    Fault.FOLD_ABOVE: "loop: State.values: index 3 is outside the array: the array has 3 elements, numbered from 0.",
    Fault.SHIFT_BELOW: "index: negative shift count",
    Fault.BAG_FULL: "overfill: State.box: the bag is full: it holds 2 messages. Raise its size.",
    Fault.BAG_ABSENT: (
        "remove-twice m={number=1,extra=[0,0]}: State.box: there is no message Message(number=1, extra=[0, 0]) "
        "in flight to remove."
    ),
    Fault.GUARD_SHIFT: "guard i=0: negative shift count",
    Fault.STATE_PROPERTY_SHIFT: "property 'reads-well': negative shift count",
    Fault.NORMALIZE_VALUE: "tick: State.hundred: 256 is out of its domain 0..100.",
    Fault.INITIAL_VALUE: "initial: State.hundred: 101 is out of its domain 0..100.",
}
BEYOND_64_BITS = (Fault.SHIFT_TOO_FAR, Fault.PRODUCT_TOO_LARGE)
"""The plain semantics' numbers have no end, so only compiled code can refuse these."""

LEVELS = (0, 1, 2)
CODES = {
    checks.INDEX: Fault.READ_ABOVE, checks.VALUE: Fault.VALUE, checks.SHIFT: Fault.SHIFT_BELOW,
    checks.FULL: Fault.BAG_FULL, checks.ABSENT: Fault.BAG_ABSENT, checks.NUMBER: Fault.PRODUCT_TOO_LARGE,
}  # fmt: skip
"""A fault for each error code of compiled code; that of sums is in a separate machine."""

pytestmark = pytest.mark.xdist_group("faulty")


def kernels_at(level: int, machine: Machine, constants: Constants, properties: tuple[Property, ...]) -> Kernels:
    return load(generate(machine, constants, properties, normalize=True), level)


def at_level(level: int) -> Callable[..., Result]:
    """Return the search with code at this level of LLVM's optimization."""
    return lambda *asked: native(*asked, kernels=kernels_at(level, *asked[:3]))


ENGINES = [pytest.param(plain, id="plain"), *(pytest.param(at_level(level), id=f"native O{level}") for level in LEVELS)]


def error_of(search: Any, found: Any, fault: int) -> str:
    with pytest.raises(DomainError) as caught:
        search(found.MACHINE, found.MACHINE.set_constants({"fault": fault}), found.PROPERTIES, Options(workers=2))
    return str(caught.value)


@pytest.mark.parametrize("level", few(LEVELS, 4))
def test_every_code_is_left_by_compiled_code_at_every_level(level: int) -> None:
    faults: list[tuple[int, Machine, tuple[Property, ...], int]] = [
        *((code, MACHINE, PROPERTIES, fault) for code, fault in CODES.items()),
        (checks.SUM, wide.MACHINE, wide.PROPERTIES, wide.Fault.ON_THE_WAY),
    ]
    assert [code for code, *_ in faults] == list(range(1, 8))
    for code, machine, properties, fault in faults:
        constants = machine.set_constants({"fault": fault})
        kernels = kernels_at(level, machine, constants, properties)
        made = Search(machine, constants, properties, Options(workers=1), kernels=kernels)
        with pytest.raises(DomainError):
            made.run()
        assert [int(worker.checks[0]) for worker in made.pool.workers] == [code]


@pytest.mark.parametrize(
    "fault", [fault for fault in Fault if fault not in (*BEYOND_64_BITS, Fault.NOTHING)], ids=lambda fault: fault.name
)
def test_a_fault_ends_the_search_with_its_place_and_cause(fault: Fault) -> None:
    said = [error_of(search, faulty, fault) for search in (plain, at_level(1))]
    assert said[0] == said[1] == MESSAGES.get(fault, said[0])


@pytest.mark.parametrize("fault", BEYOND_64_BITS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("search", ENGINES[1:])
def test_numbers_that_no_compiled_engine_can_hold_end_the_search(search: Any, fault: Fault) -> None:
    assert error_of(search, faulty, fault) == (
        "protocol 'faulty': the result of a shift or a product does not fit in the 64 bits of a compiled number. "
        "Keep numbers small: use smaller shift counts or smaller factors."
    )


WIDE = {
    wide.Fault.WRAPS_TO_ZERO: "go: State.small: 18446744073709551616 is out of its domain -9..9.",
    wide.Fault.NEGATED: f"go: State.wide: {3 * wide.GREATEST} is out of its domain {wide.LEAST}..{wide.GREATEST}.",
    wide.Fault.MAGNITUDE: f"go: State.wide: {3 * wide.GREATEST} is out of its domain {wide.LEAST}..{wide.GREATEST}.",
    wide.Fault.DIFFERENCE: f"go: State.wide: {wide.LEAST - 1} is out of its domain {wide.LEAST}..{wide.GREATEST}.",
}


@pytest.mark.parametrize("fault", WIDE, ids=lambda fault: fault.name)
@pytest.mark.parametrize("search", ENGINES)
def test_a_sum_that_leaves_its_domain_never_wraps_back_into_it(search: Any, fault: Any) -> None:
    assert error_of(search, wide, fault) == WIDE[fault]


OTHER_SUMS = sorted(set(wide.Fault) - set(WIDE) - {wide.Fault.NOTHING})


@pytest.mark.parametrize("fault", OTHER_SUMS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("search", ENGINES[1:])
def test_a_sum_on_the_way_that_does_not_fit_64_bits_ends_the_search(search: Any, fault: Any) -> None:
    constants = wide.MACHINE.set_constants({"fault": fault})
    assert plain(wide.MACHINE, constants, wide.PROPERTIES, Options(workers=1)).distinct == 2
    assert error_of(search, wide, fault) == (
        "protocol 'wide': a sum or a difference does not fit in the 64 bits of a compiled number. "
        "Keep numbers small: add smaller numbers."
    )


def test_sums_of_the_widest_numbers_that_fit_are_fine() -> None:
    for search in (plain, *map(at_level, LEVELS)):
        found = search(wide.MACHINE, wide.MACHINE.set_constants({}), wide.PROPERTIES, Options(workers=1))
        assert found.distinct == 2


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_of_several_faults_the_first_is_raised_whatever_the_number_of_workers(workers: int) -> None:
    nothing = np.zeros(1)

    def work(_: Worker, task: int) -> None:
        time.sleep(0.001 * (task % 3))
        if task >= 13:
            raise DomainError(str(task))

    with WorkerPool([Worker(*[nothing] * 7) for _ in range(workers)]) as pool:
        for _ in range(10):
            with pytest.raises(DomainError, match=r"^13$"):
                pool.share(40, work, 1 << 20)
