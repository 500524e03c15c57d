"""The fewest faults that violate a property are found, and those that settings tolerate."""

import operator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from fencepost import api
from fencepost.explorers.evidence import faults
from fencepost.explorers.evidence.faults import choose_kinds, fault_kinds, natively, spent, tolerance
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.explorers.verdict import Options, Reason, Verdict, out_of_memory
from fencepost.invariants.protocols import PROTOCOLS, Protocol
from fencepost.model.language import Constants, Machine, Property
from fencepost.model.language.errors import UsageError
from fencepost.model.language.interpreter import Interpreter

from tests.agreement.test_beside import SESSIONS, files_of
from tests.helpers import search as reference
from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.parameters import words
from tests.helpers.places import MACHINES
from tests.helpers.written import file_of, machine_of
from tests.machines import vault

VAULT = str(MACHINES / "vault.py")
KINDS = ("crashes", "floods", "drills")
pytestmark = pytest.mark.xdist_group("vault")


def front(values: dict[str, int], prop: Any = vault.a_copy_is_left, **options: Any) -> Any:
    constants = vault.MACHINE.set_constants(values)
    look = natively(vault.MACHINE, prop, compiled(vault.MACHINE, constants, vault.PROPERTIES))
    return tolerance(vault.MACHINE, constants, prop, dict.fromkeys(KINDS, 1), Options(workers=1, **options), look)


def by_definition(values: dict[str, int], prop: Any) -> set[tuple[int, ...]]:
    """Return the minimal faults by the reference search of every budget."""
    constants = vault.MACHINE.set_constants(values)
    found: list[tuple[int, ...]] = []
    for counts in product(*(range(int(constants.values[name]) + 1) for name in KINDS)):
        seen = reference.explore(vault.MACHINE, {**values, **dict(zip(KINDS, counts, strict=True))}, (prop,))
        covered = any(all(map(operator.le, fewer, counts)) for fewer in found)
        found += [counts] if seen.violated and not covered else []
    return set(found)


@pytest.mark.parametrize("prop", [vault.a_copy_is_left, vault.no_two_are_lost_at_once], ids=lambda item: item.name)
@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("floods", [0, 2])
def test_the_front_is_that_of_a_search_of_every_budget(prop: Any, copies: int, floods: int) -> None:
    values = {"copies": copies, "floods": floods, "crashes": 3, "drills": 1}
    found = front(values, prop)
    assert {item.faults for item in found.front} == by_definition(values, prop)
    assert [item.cost for item in found.front] == sorted(item.cost for item in found.front)


def test_what_nothing_breaks_takes_one_search_and_one_that_ends_early_never_counts_as_tolerating() -> None:
    found = front({"crashes": 1, "floods": 0})
    assert (found.front, found.searches, found.least) == ((), 1, None)
    found = front({}, max_states=1)
    assert found.front == ()
    assert ((0, 2, 0), "the limit of 1 states was reached") in found.unknown


PAIRS = """
class C(Constants):
    n = bound(2, low=0, high=3, meaning="pairs of crashes")
    m = bound(1, low=0, high=3, meaning="floods")
    k = bound(0, low=0, high=3, meaning="drills and alarms")
class Budget(Record):
    crashes: Annotated[int, Range(0, BOUND)]
    floods: Annotated[int, Range(0, C.m)]
    drills: Annotated[int, Range(0, C.k)]
    alarms: Annotated[int, Range(0, C.k)]
class State(Record):
    x: Annotated[int, Range(0, 9)]
    budget: Budget
@action()
def initial(s, c):
    s.budget.crashes = START
    s.budget.floods = c.m
@action()
def crash(s, c):
    require(s.budget.crashes > 0)
    s.budget.crashes -= 1
    s.x += 1
@action()
def flood(s, c):
    require(s.budget.floods > 0)
    s.budget.floods -= 1
    s.x += 2
@always
def fine(s, c):
    return s.x < 3
"""


def pairs(bound: str = "C.n", start: str = "c.n", low: int = 0) -> tuple[Machine, Property, Constants]:
    text = (
        PAIRS.replace("BOUND", bound).replace("START", start).replace("n = bound(2, low=0", f"n = bound(2, low={low}")
    )
    machine, (fine,) = machine_of(text)
    return machine, fine, machine.set_constants({})


@pytest.mark.parametrize(
    ("bound", "start", "happened"),
    [
        ("2 * C.n", "2 * c.n", {"crashes": 3}),
        ("C.n + 1", "c.n + 1", {"crashes": 3}),
        ("largest(C.n, 2)", "c.n", {"crashes": 1, "floods": 1}),
    ],
)
def test_a_budget_that_is_not_a_constant_is_not_counted(bound: str, start: str, happened: dict[str, int]) -> None:
    machine, fine, constants = pairs(bound, start)
    assert fault_kinds(machine) == {"floods": "m"}
    for named in ((), ("crashes",), ("floods", "crashes")):
        with pytest.raises(UsageError, match="'crashes' cannot be counted: the budget is limited by"):
            choose_kinds(machine, constants, named)
    assert choose_kinds(machine, constants, ("floods",)) == ("floods",)
    look = natively(machine, fine, compiled(machine, constants, (fine,)))
    found = tolerance(machine, constants, fine, {"floods": 1}, Options(workers=1), look)
    path = found.front[0].result.of("fine").path
    assert spent(Interpreter(machine, constants), path) == happened


@pytest.mark.parametrize("start", ["min(c.n, 1)", "c.n // 2", "0"])
def test_a_budget_that_begins_with_less_than_its_constant_is_not_counted(start: str) -> None:
    machine, fine, constants = pairs(start=start)
    with pytest.raises(UsageError, match=r"'crashes' cannot be counted: with n = 2, the initial states have a budget"):
        tolerance(machine, constants, fine, {"crashes": 1}, Options(workers=1), lambda *_: pytest.fail("searched"))


def test_a_budget_whose_constant_may_not_be_0_or_is_also_that_of_another_is_not_counted() -> None:
    machine, _, constants = pairs(low=1)
    assert fault_kinds(machine) == {"floods": "m"}
    least = r"'crashes' cannot be counted: the budget is limited by c[.]n, which is at least 1, .*low=0"
    with pytest.raises(UsageError, match=least):
        choose_kinds(machine, constants, ())
    machine, _, constants = pairs()
    assert choose_kinds(machine, constants, ()) == ("crashes", "floods")
    both = r"'drills' cannot be counted: the budget is limited by c[.]k, which also limits 'alarms'"
    with pytest.raises(UsageError, match=both):
        choose_kinds(machine, machine.set_constants({"k": 1}), ())


BUDGETS = files_of(SESSIONS["costs are costs and counts are counts"])["model.py"]
SETTLES = """
@action()
def settle(s, c):
    require(SETTLES)
    s.x = 20
@always
def settled(s, c):
    return s.x != 20
"""


@pytest.mark.parametrize(
    ("settles", "prop", "expected", "apart"),
    [
        ("s.x > 40", "small", [{"crashes": 1}], set()),
        ("s.x > 40", "roomy", [{"crashes": 1}, {"crashes": 0, "fences": 2}], {"crashes"}),
        ("s.budget.crashes == 0 and s.x == 0", "settled", [{}], {"crashes"}),
        ("s.x == c.crashes * 4 and c.crashes == 1", "settled", [{"crashes": 1}], {"crashes"}),
        ("s.x == 0 and s.budget.crashes < 2 and s.budget.fences < 3", "settled", [{}], {"crashes", "fences"}),
    ],
)
def test_fewer_faults_are_searched_too_unless_more_cover_them(
    settles: str, prop: str, expected: list[dict[str, int]], apart: set[str]
) -> None:
    file = file_of(BUDGETS + SETTLES.replace("SETTLES", settles), "budgets")
    for engine in ("native", "plain"):
        (setting,) = api.faults(str(file), prop=prop, engine=engine).to_dict()["grid"]
        assert [item["faults"] for item in setting["front"]] == expected
        assert set(setting["fewer"]) == apart


@pytest.mark.long
def test_deleted_records_are_counted_although_no_budget_limits_them() -> None:
    sizes = {"brokers": 2, "max_records": 1, "loss": 0, "crashes": 0, "shrinks": 0, "fences": 2, "max_leader_epoch": 4}
    asked: Any = {**sizes, "deletions": 2, "expirations": 1, "version": "kafka-4.1-repaired"}
    returns = {"prop": "deleted-records-stay-deleted", "log_start_check": False}
    (by_fewest,) = api.faults("replication", **returns, **asked).to_dict()["grid"]
    assert [it["faults"] for it in by_fewest["front"]] == [{"fences": 2, "deletions": 1, "expirations": 0}]
    (free,) = api.faults("replication", kinds=["fences"], **returns, **asked).to_dict()["grid"]
    assert [(item["faults"], item["free"]) for item in free["front"]] == [({"fences": 2}, {"deletions": 1})]
    (kept,) = api.faults("replication", prop="leader-has-acknowledged", **asked).to_dict()["grid"]
    assert (kept["undetermined"], kept["front"], kept["most"]["deletions"]) == (False, [], 2)


def test_a_protocol_without_budgets_is_refused() -> None:
    with pytest.raises(UsageError, match="has no faults to count"):
        fault_kinds(PROTOCOLS["kip320"].machine)


ASKED = ("faults", VAULT, "--property", "a-copy-is-left", "--quiet")


def vault_faults(*more: str) -> Result:
    return fencepost(*ASKED, *more)


def grid_of(*more: str) -> Any:
    return data_of(vault_faults("--json", *more))


def lines_of(found: Result) -> list[str]:
    return [" ".join(line.split()) for line in found.stdout.splitlines()]


def test_a_grid_says_what_each_setting_tolerates(tmp_path: Path) -> None:
    found = vault_faults("--grid", "copies=1,2,3", "--grid", "floods=0,1", "--trace", str(tmp_path), "-v")
    assert found.exit_code == 0, found.output
    assert {
        "copies=1 floods=0 0 faults crashes 1 (2 states)",
        "copies=2 floods=1 0 faults floods 1 (2 states); crashes 2 (3 states)",
        "copies=3 floods=0 2 faults crashes 3 (4 states)",
    } <= {*lines_of(found)}
    files = sorted(map(str, tmp_path.iterdir()))
    assert fencepost("replay", "--model", VAULT, *files).exit_code == 0


def test_a_property_on_request_is_asked(tmp_path: Path) -> None:
    asked = vault.no_two_are_lost_at_once
    protocol = Protocol(vault.MACHINE, (vault.a_copy_is_left,), on_request=(asked,))
    usual = api.faults(vault.MACHINE, vault.PROPERTIES, prop=asked.name)
    assert usual.settings[0].front
    first = api.faults(protocol, prop=asked.name, checkpoint=tmp_path)
    assert first.settings == usual.settings
    assert api.faults(protocol, prop=asked.name, checkpoint=tmp_path, resume=True).settings == usual.settings


def test_faults_that_happened_for_free_are_named_where_none_of_those_counted_did(tmp_path: Path) -> None:
    asked = ("--trace", str(tmp_path), "--kind", "crashes")
    said = "as set none: the property is violated without any crash no crash, not counted: floods 2 (3 states)"
    assert said in " ".join(vault_faults(*asked, "-v").stdout.split())
    (file,) = tmp_path.iterdir()
    assert file.read_text().splitlines()[1] == "title: a-copy-is-left is violated with no crash"
    found = grid_of(*asked, "--set", "floods=1")
    assert [(item["faults"], item["free"]) for item in found["grid"][0]["front"]] == [({"crashes": 1}, {"floods": 1})]


def test_a_cell_that_the_protocol_refuses_is_listed_with_the_reason_and_the_others_are_answered() -> None:
    asked = ("--set", "copies=1", "--grid", "drills=1,2")
    found = vault_faults(*asked)
    assert (found.exit_code, "drills=1" in found.stdout) == (0, True)
    assert "drills=2: left out, " in found.stdout
    assert "more drills than copies" in " ".join(found.stdout.split())
    data = grid_of(*asked)
    assert [point["setting"] for point in data["grid"]] == [{"drills": 1}]
    assert [item["constants"] for item in data["refused"]] == [{"drills": 2}]
    assert "every cell of the grid" in refused(*ASKED, *asked[:-1], "drills=2")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("one-copy-is-left",
            "is of kind sometimes: faults can violate only properties that must hold in every state or step"),
        ("a-copy-is-left --kind crashs", "has no fault 'crashs'. Did you mean 'crashes'?"),
        ("a-copy-is-left --cost crashes", "expected KIND=N"),
        ("a-copy-is-left --cost crashes=-1", "expected KIND=N"),
        ("a-copy-is-left --cost floods=2 --kind crashes", "floods, which are not counted: add it to `--kind`"),
        ("a-copy-is-left --cost floods=2 --set floods=0", "not counted: allow some, such as `--set"),
        ("a-copy-is-left --cost flods=2", "which is not a fault of protocol 'vault'. Did you mean 'floods'?"),
        ("a-copy-is-left --grid copies=1,9", "out of range"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(asked: str, says: str) -> None:
    assert says in refused(*words(f"faults {VAULT} --property {asked}"))


def test_a_negative_cost_is_refused() -> None:
    with pytest.raises(UsageError, match="was given -5 for crashes: expected a whole number"):
        api.faults(VAULT, prop="a-copy-is-left", costs={"crashes": -5})


def end_after(searches: int, monkeypatch: pytest.MonkeyPatch, why: Reason = BY_KEYBOARD) -> None:
    whole, left = faults.search, [None] * searches

    def cut(*given: Any, **more: Any) -> Any:
        found = whole(*given, **more)
        if left:
            left.pop()
            return found
        held = tuple(replace(item, verdict=Verdict.UNDETERMINED, path=None) for item in found.properties)
        return replace(found, complete=False, why_stopped=why, properties=held)

    monkeypatch.setattr(faults, "search", cut)


def test_an_interrupted_search_never_counts_as_tolerating(monkeypatch: pytest.MonkeyPatch) -> None:
    end_after(0, monkeypatch)
    found = front({"crashes": 1, "floods": 0})
    assert (found.searches, found.interrupted) == (1, True)
    assert found.unknown == (((1, 0, 1), "SIGINT was received"),)


def test_after_an_interrupt_no_setting_is_begun_and_a_resumed_grid_is_whole(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked, kept = words("--set floods=0 --grid copies=1,2,3"), ("--checkpoint", str(tmp_path))
    whole = grid_of(*asked)
    with monkeypatch.context() as patch:
        end_after(whole["grid"][0]["searches"], patch)
        cut = vault_faults("--json", *asked, *kept)
        data = data_of(cut)
        assert ([point["interrupted"] for point in data["grid"]], cut.exit_code) == ([False, True], 3)
        assert data["not_run"] == ["copies=3"]
        assert "Not run: copies=3" in vault_faults(*asked, *kept, "--resume").stdout
    end_after(sum(point["searches"] for point in whole["grid"][1:]), monkeypatch)
    assert grid_of(*asked, *kept, "--resume") == whole


def test_a_setting_undetermined_for_want_of_memory_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked, kept = ("--grid", "copies=1,2"), ("--checkpoint", str(tmp_path))
    whole = grid_of(*asked)
    with monkeypatch.context() as patch:
        end_after(whole["grid"][0]["searches"], patch, out_of_memory(1000))
        cut = grid_of(*asked, *kept)
        assert ([point["undetermined"] for point in cut["grid"]], cut["not_run"]) == ([False, True], [])
    assert grid_of(*asked, *kept, "--resume") == whole


def test_a_setting_of_another_question_is_not_taken(tmp_path: Path) -> None:
    kept = ("--checkpoint", str(tmp_path))
    grid_of("--set", "floods=0", *kept)
    message = refused(*ASKED, "--set", "floods=1", *kept, "--resume")
    assert f"the checkpoint in {tmp_path} belongs to another question" in message
