"""The fewest faults that violate a property are found, all minimal ones and no others, and those that settings
tolerate.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from fencepost import api
from fencepost.explorers.evidence.faults import choose_kinds, fault_kinds, natively, spent, tolerance
from fencepost.explorers.native.compile import compiled
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.explorers.verdict import Options, Reason, Verdict, out_of_memory
from fencepost.invariants.protocols import PROTOCOLS, Protocol
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


def front(
    values: dict[str, int], prop: Any = vault.a_copy_is_left, kinds: tuple[str, ...] = KINDS, **options: Any
) -> Any:
    constants = vault.MACHINE.set_constants(values)
    look = natively(vault.MACHINE, prop, compiled(vault.MACHINE, constants, vault.PROPERTIES))
    return tolerance(vault.MACHINE, constants, prop, dict.fromkeys(kinds, 1), Options(workers=1, **options), look)


def by_definition(values: dict[str, int], prop: Any) -> set[tuple[int, ...]]:
    """Return the minimal faults by the reference search of every budget."""
    constants = vault.MACHINE.set_constants(values)
    found: set[tuple[int, ...]] = set()
    for faults in product(*(range(int(constants.values[name]) + 1) for name in KINDS)):
        seen = reference.explore(vault.MACHINE, {**values, **dict(zip(KINDS, faults, strict=True))}, (prop,))
        if seen.violated:
            found.add(faults)
    return {item for item in found if not any(other != item and _covers(other, item) for other in found)}


def _covers(fewer: tuple[int, ...], more: tuple[int, ...]) -> bool:
    return all(one <= other for one, other in zip(fewer, more, strict=True))


@pytest.mark.parametrize("prop", [vault.a_copy_is_left, vault.no_two_are_lost_at_once], ids=lambda item: item.name)
@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("floods", [0, 2])
def test_the_front_is_that_of_a_search_of_every_budget(prop: Any, copies: int, floods: int) -> None:
    values = {"copies": copies, "floods": floods, "crashes": 3, "drills": 1}
    found = front(values, prop)
    assert {item.faults for item in found.front} == by_definition(values, prop)
    assert [item.cost for item in found.front] == sorted(item.cost for item in found.front)


def test_what_nothing_breaks_takes_one_search() -> None:
    found = front({"crashes": 1, "floods": 0})
    assert (found.front, found.searches, found.least) == ((), 1, None)


def test_a_search_that_ends_early_is_told_and_never_counts_as_tolerating() -> None:
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


@pytest.mark.parametrize(
    ("bound", "start", "happened"),
    [
        ("2 * C.n", "2 * c.n", {"crashes": 3}),
        ("C.n + 1", "c.n + 1", {"crashes": 3}),
        ("largest(C.n, 2)", "c.n", {"crashes": 1, "floods": 1}),
    ],
)
def test_a_budget_that_is_not_a_constant_by_itself_is_not_counted(
    bound: str, start: str, happened: dict[str, int]
) -> None:
    machine, (fine,) = machine_of(PAIRS.replace("BOUND", bound).replace("START", start))
    constants = machine.set_constants({})
    assert fault_kinds(machine) == {"floods": "m"}
    for named in ((), ("crashes",), ("floods", "crashes")):
        with pytest.raises(UsageError, match="'crashes' cannot be counted: the budget is limited by"):
            choose_kinds(machine, constants, named)
    assert choose_kinds(machine, constants, ("floods",)) == ("floods",)
    look = natively(machine, fine, compiled(machine, constants, (fine,)))
    found = tolerance(machine, constants, fine, {"floods": 1}, Options(workers=1), look)
    path = found.front[0].result.of("fine").path
    assert path is not None
    assert spent(Interpreter(machine, constants), path) == happened


@pytest.mark.parametrize("start", ["min(c.n, 1)", "c.n // 2", "0"])
def test_a_budget_that_begins_with_less_than_its_constant_is_not_counted(start: str) -> None:
    machine, (fine,) = machine_of(PAIRS.replace("BOUND", "C.n").replace("START", start))
    constants = machine.set_constants({})
    with pytest.raises(UsageError, match=r"'crashes' cannot be counted: with n = 2, the initial states have a budget"):
        tolerance(machine, constants, fine, {"crashes": 1}, Options(workers=1), lambda *_: pytest.fail("searched"))


def test_a_budget_whose_constant_may_not_be_0_is_not_counted() -> None:
    text = PAIRS.replace("BOUND", "C.n").replace("START", "c.n").replace("n = bound(2, low=0", "n = bound(2, low=1")
    machine, _ = machine_of(text)
    assert fault_kinds(machine) == {"floods": "m"}
    with pytest.raises(
        UsageError, match=r"'crashes' cannot be counted: the budget is limited by c[.]n, which is at least 1, .*low=0"
    ):
        choose_kinds(machine, machine.set_constants({}), ())


def test_budgets_that_share_a_constant_are_not_counted_apart() -> None:
    machine, _ = machine_of(PAIRS.replace("BOUND", "C.n").replace("START", "c.n"))
    assert choose_kinds(machine, machine.set_constants({}), ()) == ("crashes", "floods")
    with pytest.raises(
        UsageError, match=r"'drills' cannot be counted: the budget is limited by c[.]k, which also limits 'alarms'"
    ):
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


# -- the command


def test_a_grid_says_what_each_setting_tolerates(tmp_path: Path) -> None:
    found = fencepost("faults", VAULT, "--property", "a-copy-is-left", "--grid", "copies=1,2,3", "--grid", "floods=0,1",
        "--trace", str(tmp_path), "--quiet", "-v",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    lines = [" ".join(line.split()) for line in found.stdout.splitlines()]
    assert "copies=1 floods=0 0 faults crashes 1 (2 states)" in lines
    assert "copies=2 floods=1 0 faults floods 1 (2 states); crashes 2 (3 states)" in lines
    assert "copies=3 floods=0 2 faults crashes 3 (4 states)" in lines
    files = sorted(map(str, tmp_path.iterdir()))
    assert fencepost("replay", "--model", VAULT, *files).exit_code == 0


@pytest.mark.long
def test_fingerprints_give_the_same_front_with_a_probability_of_omission() -> None:
    asked = ("faults", VAULT, "--property", "a-copy-is-left", "--grid", "copies=1,2,3", "--quiet")
    whole, compact = (data_of(fencepost(*asked, "--json", *more)) for more in ((), ("--compact",)))
    assert all(point["omission"] == 0 for point in whole["grid"])
    assert all(0 < point["omission"] < 1e-12 for point in compact["grid"])
    assert compact == {
        **whole,
        "grid": [
            {**one, "omission": other["omission"]} for one, other in zip(whole["grid"], compact["grid"], strict=True)
        ],
    }
    assert "a state was missed with a probability of at most" in " ".join(fencepost(*asked, "--compact").stdout.split())


def test_a_property_on_request_is_asked(tmp_path: Path) -> None:
    asked = vault.no_two_are_lost_at_once
    protocol = Protocol(vault.MACHINE, (vault.a_copy_is_left,), on_request=(asked,))
    usual = api.faults(vault.MACHINE, vault.PROPERTIES, prop=asked.name)
    assert usual.settings[0].front
    first = api.faults(protocol, prop=asked.name, checkpoint=tmp_path)
    assert first.settings == usual.settings
    assert api.faults(protocol, prop=asked.name, checkpoint=tmp_path, resume=True).settings == usual.settings


def test_faults_that_happened_for_free_are_named_where_none_of_those_counted_did(tmp_path: Path) -> None:
    asked = ("faults", VAULT, "--property", "a-copy-is-left", "--quiet", "--trace", str(tmp_path), "--kind", "crashes")
    shown = " ".join(fencepost(*asked, "-v").stdout.split())
    assert "as set none: the property is violated without any crash no crash, not counted: floods 2 (3 states)" in shown
    (file,) = tmp_path.iterdir()
    assert file.read_text().splitlines()[1] == "title: a-copy-is-left is violated with no crash"
    found = data_of(fencepost(*asked, "--set", "floods=1", "--json"))
    assert [(item["faults"], item["free"]) for item in found["grid"][0]["front"]] == [({"crashes": 1}, {"floods": 1})]


def test_a_cell_that_the_protocol_refuses_is_listed_with_the_reason_and_the_others_are_answered() -> None:
    asked = ("faults", VAULT, "--property", "a-copy-is-left", "--quiet", "--grid", "drills=1,2", "--set", "copies=1")
    found = fencepost(*asked)
    assert found.exit_code == 0
    assert "drills=1" in found.stdout
    assert "drills=2: left out, " in found.stdout
    assert "more drills than copies" in " ".join(found.stdout.split())
    data = data_of(fencepost(*asked, "--json"))
    assert [point["setting"] for point in data["grid"]] == [{"drills": 1}]
    assert [item["constants"] for item in data["refused"]] == [{"drills": 2}]
    assert "every cell of the grid" in refused(*asked[:-3], "drills=2", "--set", "copies=1")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (
            "one-copy-is-left",
            "is of kind sometimes: faults can violate only properties that must hold in every state or step",
        ),
        ("a-copy-is-left --kind crashs", "has no fault 'crashs'. Did you mean 'crashes'?"),
        ("a-copy-is-left --cost crashes", "expected KIND=N"),
        ("a-copy-is-left --cost crashes=-1", "expected KIND=N"),
        ("a-copy-is-left --cost floods=2 --kind crashes", "floods, which are not counted: add it to `--kind`"),
        ("a-copy-is-left --cost floods=2 --set floods=0", "not counted: allow some, such as `--set"),
        ("a-copy-is-left --cost flods=2", "which is not a fault of protocol 'vault'. Did you mean 'floods'?"),
        ("a-copy-is-left --grid copies=1,9", "out of range"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: str, says: str) -> None:
    message = refused(*words(f"faults {VAULT} --property {asked}"))
    assert message.startswith("fencepost: ")
    assert says in message
    with pytest.raises(UsageError, match="was given -5 for crashes: expected a whole number"):
        api.faults(VAULT, prop="a-copy-is-left", costs={"crashes": -5})


# -- interrupted, and gone on with


def end_after(searches: int, monkeypatch: pytest.MonkeyPatch, why: Reason = BY_KEYBOARD) -> None:
    from fencepost.explorers.evidence import faults

    whole, seen = faults.search, []

    def cut(*given: Any, **more: Any) -> Any:
        found = whole(*given, **more)
        seen.append(found)
        if len(seen) <= searches:
            return found
        held = tuple(replace(item, verdict=Verdict.UNDETERMINED, path=None) for item in found.properties)
        return replace(found, complete=False, why_stopped=why, properties=held)

    monkeypatch.setattr(faults, "search", cut)


def test_an_interrupted_search_never_counts_as_tolerating(monkeypatch: pytest.MonkeyPatch) -> None:
    end_after(0, monkeypatch)
    found = front({"crashes": 1, "floods": 0})
    assert (found.searches, found.interrupted) == (1, True)
    assert found.unknown == (((1, 0, 1), "SIGINT was received"),)


def test_after_an_interrupt_no_setting_is_begun_and_a_resumed_grid_is_the_whole_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = words(f"faults {VAULT} --property a-copy-is-left --set floods=0 --grid copies=1,2,3 --json --quiet")
    whole = data_of(fencepost(*asked))
    with monkeypatch.context() as patch:
        end_after(whole["grid"][0]["searches"], patch)
        cut = fencepost(*asked, "--checkpoint", str(tmp_path))
        assert cut.exit_code == 3
        data = data_of(cut)
        assert [point["interrupted"] for point in data["grid"]] == [False, True]
        assert data["not_run"] == ["copies=3"]
        assert (
            "Not run: copies=3" in fencepost(*asked[:-2], "--quiet", "--resume", "--checkpoint", str(tmp_path)).stdout
        )
    end_after(sum(point["searches"] for point in whole["grid"][1:]), monkeypatch)
    resumed = data_of(fencepost(*asked, "--checkpoint", str(tmp_path), "--resume"))
    assert resumed == whole


def test_a_setting_that_memory_left_undetermined_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = ("faults", VAULT, "--property", "a-copy-is-left", "--grid", "copies=1,2", "--json", "--quiet")
    whole = data_of(fencepost(*asked))
    with monkeypatch.context() as patch:
        end_after(whole["grid"][0]["searches"], patch, out_of_memory(1000))
        cut = data_of(fencepost(*asked, "--checkpoint", str(tmp_path)))
        assert [point["undetermined"] for point in cut["grid"]] == [False, True]
        assert not cut["not_run"]
    assert data_of(fencepost(*asked, "--checkpoint", str(tmp_path), "--resume")) == whole


def test_a_setting_of_another_question_is_not_taken(tmp_path: Path) -> None:
    asked = ("faults", VAULT, "--property", "a-copy-is-left", "--json", "--quiet", "--checkpoint", str(tmp_path))
    data_of(fencepost(*asked, "--set", "floods=0"))
    assert f"the checkpoint in {tmp_path} belongs to another question" in refused(
        *asked, "--set", "floods=1", "--resume"
    )
