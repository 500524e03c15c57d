"""The symbolic engine does what the plain semantics does, of plain values and of z3's variables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.calls.prove import prove
from fencepost.explorers.program.ir.nodes import BinaryOp
from fencepost.explorers.symbolic import expressions, terms
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Machine, Property
from fencepost.model.language.errors import DomainError

from tests.agreement.test_differential import PARTS, machine_of
from tests.helpers.blocks import blocks, whole
from tests.helpers.parameters import few
from tests.helpers.places import MODELS
from tests.helpers.symbols import Symbols
from tests.helpers.written import HEAD
from tests.machines import LINEAGE, faulty
from tests.random_machines.case import Case
from tests.random_machines.engines import compare_symbolic, load, with_folder
from tests.random_machines.machines import numbered
from tests.random_machines.proofs import proof

WALKS: list[tuple[str, dict[str, int], int, int]] = [
    *((name, {"replicas": 2}, 60, 4) for name in LINEAGE),
    ("kip320", {"replicas": 2, "log_size": 1, "max_records": 3, "max_leader_epoch": 1}, 100, 6),
    ("kip320", {"replicas": 3}, 30, 1),
    ("id-sequence", {}, 50, 5),
    ("lamps", {"lamps": 2}, 200, 20),
    ("mailbox", {"requests": 2}, 300, 20),
    ("mailbox", {"resends": 0, "deduplicate": 0, "losses": 3}, 100, 10),
    ("replication", {"brokers": 2, "initial_isr": 1}, 40, 2),
    ("replication", {"brokers": 2, "shrinks": 1, "elr": 1, "min_isr": 2}, 20, 0),
    ("replication",
        {"brokers": 2, "movable": 2, "reassignments": 3, "cancels": 1, "elr": 1, "min_isr": 2, "completion": 2}, 20, 0),
]  # fmt: skip
"""(machine, constants, steps with plain values, steps with variables)"""


def title(walk: tuple[str, Mapping[str, int], int, int]) -> str:
    return f"{walk[0]} {'/'.join(map(str, walk[1].values()))}"


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("walk", few(WALKS[::-1], 14), ids=title)
def test_engines_agree_on_every_state_of_a_random_walk(walk: tuple[str, dict[str, int], int, int], part: int) -> None:
    name, values, folded, solved = walk
    symbols = Symbols(*_with_values(name, values))
    assert symbols.walk(max(3, folded // part), seed=folded, solve=False) > 1
    if solved:
        assert symbols.walk(-(-solved // part), seed=solved, solve=True) >= 1


@pytest.mark.parametrize("name", few([*LINEAGE, "lamps", "mailbox", "replication"], 4))
def test_guards_and_checks_of_an_action_cover_and_partition_all_states(name: str) -> None:
    values = {"replicas": 2} if name in LINEAGE else {"brokers": 2} if name == "replication" else {}
    assert Symbols(*_with_values(name, values)).uncovered() == []


def _with_values(name: str, values: dict[str, int]) -> tuple[Any, dict[str, int], Any]:
    machine, properties = machine_of(name)
    return machine, values, properties


OUTSIDE_OF_ACTIONS = ("STATE_", "WITNESS_", "STEP_", "NORMALIZE_", "INITIAL_", "SHIFT_TOO", "PRODUCT")
"""Faults of properties, of `normalize` and of the initial state, and of numbers that only compiled code cannot hold."""
FAULTS = [item for item in faulty.Fault if not item.name.startswith(OUTSIDE_OF_ACTIONS)]


@pytest.mark.parametrize("fault", few(FAULTS, 6), ids=lambda item: item.name.lower())
@pytest.mark.parametrize("solve", [False, True], ids=["folded", "solved"])
def test_a_step_that_is_an_error_of_the_plain_semantics_is_cut_and_never_dropped(
    fault: faulty.Fault, solve: bool
) -> None:
    symbols = Symbols(faulty.MACHINE, {"fault": fault})
    (first,) = symbols.compare(symbols.plain.initial_states()[0], solve=solve)
    (second,) = symbols.compare(first, solve=solve)
    steps = [step for item in faulty.MACHINE.actions for step in symbols.plain.steps(item, second)]
    outcomes = [(symbols.solved if solve else symbols.folded)(second, step) for step in steps]
    assert outcomes == [symbols.ask_plain(second, step) for step in steps]
    assert any(outcome.cut for outcome in outcomes) is (fault is not faulty.Fault.NOTHING)


SEEDS = 8
PROVED = (4, 25, 50)  # small machines with a property that is proved, violated, or undetermined
ask = with_folder(compare_symbolic)
SHIFTED = HEAD + whole("""
class State(Record):
    x: Annotated[int, Range(0, 3)]
@action()
def go(s, c):
    require(s.x < 2)
    s.x += 1
@always
def fine(s, c):
    return s.x < 3 or (1 << (BY)) > 0
""")


@pytest.mark.parametrize("first", few(range(0, SEEDS, 4), 2))
def test_a_random_machine_means_the_same_to_the_symbolic_engine(first: int) -> None:
    found = {seed: ask(numbered(seed)) for seed in range(first, first + 4)}
    assert {seed: how for seed, how in found.items() if how} == {}
    assert sum(how is None for how in found.values()) <= 1, "most of what is drawn is in the language"


@pytest.mark.long
def test_what_is_proved_of_a_random_machine_is_what_the_plain_search_says() -> None:
    said = set()

    def differs(machine: Machine, properties: tuple[Property, ...]) -> str:
        case = Case(machine, properties, machine.set_constants({}), 0)
        how = proof(case)
        said.update(case.notes & set(Verdict))
        return how

    assert {seed: how for seed in PROVED if (how := with_folder(differs)(numbered(seed)))} == {}
    assert said >= {Verdict.PROVED, Verdict.VIOLATED, Verdict.NOT_FOUND}


def test_a_shift_by_a_huge_number_needs_no_memory() -> None:
    huge = 2**62 - 1
    assert (terms.shift_right(5, huge), terms.shift_right(-5, huge), terms.shift_left(0, huge)) == (0, -1, 0)


@pytest.mark.parametrize("by", ["4611686018427387903 + s.x", "s.x - 9"])
def test_a_shift_by_one_of_several_huge_numbers_is_an_error(by: str, tmp_path: Path) -> None:
    text = SHIFTED.replace("BY", by)
    machine, properties = load(text, tmp_path)
    assert prove(Protocol(machine, properties), cache=False, workers=1).verdict is Verdict.PROVED
    machine, properties = load(text.replace("s.x < 2", "s.x < 3"), tmp_path)
    with pytest.raises(DomainError):
        prove(Protocol(machine, properties), cache=False, workers=1, depth=4)


def test_a_planted_defect_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(expressions._OPERATORS, BinaryOp.SUBTRACT, terms.plus)
    assert any(ask(numbered(seed)) for seed in range(8))


CASES = {block.title: f"{block.body}\n" for block in blocks(MODELS / "symbolic.txt")}
SCHEMA = """
import inspect
BIG = (1 << 62) - 1
class C(Constants):
    n = shape(3, low=1, high=4, meaning="elements")
    k = bound(2, low=0, high=3, meaning="anything")
Small = Annotated[int, Range(-9, 9)]
Maybe = Annotated[int, Index(C.n, none=True)]
class Pair(Record):
    a: Small
    b: Small
class Holder(Record):
    pair: Pair
    arr: Annotated[Array[Small], Size(2)]
class Message(Record):
    x: Small
    flag: bool
    members: Annotated[int, BitSet(3)]
class Letter(Record):
    pairs: Annotated[Array[Pair], Size(2)]
    to: Maybe
class State(Record):
    pc: Annotated[int, Range(0, 3)]
    out: Annotated[int, Range(-100000, 100000)]
    wide: Annotated[int, Range(-BIG, BIG)]
    x: Small
    y: Small
    i: Maybe
    flag: bool
    members: Annotated[int, BitSet(4)]
    arr: Annotated[Array[Small], Size(C.n)]
    brr: Annotated[Array[Small], Size(C.n)]
    h: Annotated[Array[Holder], Size(2)]
    box: Annotated[Bag[Message], Size(3)]
    post: Annotated[Bag[Letter], Size(2)]
def bump(s):
    s.x += 1
    return s.x
def first_of(s):
    for m in s.box:
        return m.x
    return -9
@action(start=Range(0, 5))
def initial(s, c, start):
    s.x = start - 2
    s.y = 2 - start
    s.i = start % 4 - 1
    s.flag = start % 2 == 1
    s.members = start * 3
    for k in range(c.n):
        s.arr[k] = (start * (k + 2)) % 5 - 1
        s.brr[k] = start - k
    s.h[0].pair.a = start
    s.h[0].arr[1] = 1
    s.h[1].pair.b = -start
    s.h[1].arr[0] = 5 - start
    if start > 1:
        s.box.add(x=2, flag=start > 3, members=start)
        s.box.add(x=start - 3, members=5)
    if start > 3:
        s.box.add(x=2, flag=True, members=start)
    if start % 3 == 2:
        first = s.post.add(to=1)
        first.pairs[0].b = start
        first.pairs[1].a = 1
        second = s.post.add(to=start % 2)
        second.pairs[0].b = 3
PARAMETERS = {"v": Range(0, 2), "w": Range(-1, 2), "j": Index(C.n), "ms": BitSet(2), "on": bool}
PARAMETERS |= {"m": InFlight("box"), "other": InFlight("box"), "letter": InFlight("post")}
"""
"""The state that all of them share, and initial states with something in every place."""
STATES, SOLVED = 24, 8
"""Number of states of each model that are compared, and of those checked with z3."""


TAIL = """
go = action(**{name: PARAMETERS[name] for name in [*inspect.signature(go).parameters][2:]})(go)
PROPERTIES = (always(judge),) if "judge" in dir() else ()
PROPERTIES += (step(on=go)(judge_step),) if "judge_step" in dir() else ()
MACHINE = Machine("odd", "an odd model", State, C, initial, (go,), normalize=globals().get("normalize"))
"""
"""The only action is `go`, properties are `judge` of states and `judge_step` of steps."""


@pytest.mark.parametrize("text", few(CASES.values(), 9), ids=CASES)
def test_engines_agree_on_every_state_of_an_odd_model(text: str, tmp_path: Path) -> None:
    machine, properties = load(f"{HEAD}{SCHEMA}{text}{TAIL}", tmp_path)
    symbols = Symbols(machine, {}, properties)
    waiting = symbols.plain.initial_states()
    seen = set(waiting)
    for number, key in enumerate(waiting):
        for solve in (False, True) if number < SOLVED else (False,):
            for after in symbols.compare(key, solve=solve):
                if after not in seen and len(seen) < STATES:
                    seen.add(after)
                    waiting.append(after)
