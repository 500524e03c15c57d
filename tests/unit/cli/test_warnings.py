"""Warnings: reasons why an answer looks better than it is, each in a model that has it and in one that does not."""

from pathlib import Path

import pytest
from fencepost.api.answers.results import of_text
from fencepost.api.calls import first_model as first
from fencepost.api.calls.check import check
from fencepost.explorers.program.ir.translate import translate
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.commands import data_of, fencepost
from tests.helpers.parameters import few
from tests.helpers.places import MACHINES
from tests.helpers.written import file_of

CARELESS = file_of(
    """
from enum import IntEnum
class C(Constants):
    people = shape(2, low=1, high=3, meaning="people")
    losses = bound(1, low=0, high=2, meaning="parcels that may be lost")
    returns = bound(1, low=0, high=2, meaning="parcels that may be returned")
    patience = bound(3, low=0, high=9, meaning="days until somebody complains")
Person = Annotated[int, Index(C.people)]
class Kind(IntEnum):
    GIFT = 0
    BILL = 1
class Parcel(Record):
    to: Person
    kind: Kind
class Complaint(Record):
    by: Person
class Budget(Record):
    losses: Annotated[int, Range(0, C.losses)]
    returns: Annotated[int, Range(0, C.returns)]
class State(Record):
    sent: Annotated[int, Range(0, 2)]
    lost: Annotated[int, Range(0, 2)]
    budget: Budget
    post: Annotated[Bag[Parcel], Size(2)]
    complaints: Annotated[Bag[Complaint], Size(1)]
@action()
def initial(s, c):
    s.sent = 0
    s.budget.losses = c.losses
    s.budget.returns = c.returns
@action(to=Person)
def sends(s, c, to):
    require(s.sent < 2)
    s.sent += 1
    s.post.add(to=to, kind=Kind.GIFT)
@action(m=InFlight("post"))
def loses(s, c, m):
    require(s.budget.losses > 0)
    s.lost += 1
    s.post.remove(m)
@action(by=Person)
def complains(s, c, by):
    require(s.lost > 2)
    s.complaints.add(by=by)
@action(m=InFlight("post"))
def arrives(s, c, m):
    s.post.remove(m)
@always
def bills_go_to_the_first(s, c):
    return all(m.to == 0 for m in s.post if m.kind == Kind.BILL)
@always
def complaints_are_alone(s, c):
    for m in s.complaints:
        if m.by != 0:
            return False
    return True
@always
def gifts_go_to_somebody(s, c):
    return all(m.to < c.people for m in s.post if m.kind == Kind.GIFT)
@step(on=complains)
def complaints_lower_nothing(before, after, c, by):
    return before.sent == after.sent
@sometimes
def nothing_was_sent(s, c):
    return s.sent == 0
@sometimes
def post_is_empty(s, c):
    return len(s.post) == 0
@always
def forgotten(s, c):
    return s.lost <= s.sent
def three_lost(s, c):
    return s.lost == 3
def one_lost(s, c):
    return s.lost == 1
def none_in_the_post(s, c):
    return len(s.post) == 0
THIRD = leads_to("the-third-is-the-last", "It is.", when=three_lost, then=none_in_the_post, fair=(weak(loses),))
EMPTIES = leads_to("the-post-empties", "It does.", when=one_lost, then=none_in_the_post, fair=(weak(loses),))
MACHINE = Machine("careless", "Parcels that may be lost", State, C, initial, (sends, loses, complains))
PROPERTIES = (bills_go_to_the_first, complaints_are_alone, gifts_go_to_somebody, complaints_lower_nothing,
              nothing_was_sent, post_is_empty, THIRD, EMPTIES)
""",
    "careless",
)
"""Parcels in a careless model: everything runs and holds, but almost nothing means anything."""
LISTED = "initial, (sends, loses, complains))"
SPENT = ("require(s.budget.losses > 0)\n", "require(s.budget.losses > 0)\n    s.budget.losses -= 1\n")

WARNINGS = {
    ("unread-constant", "patience"): (
        ("nothing reads constant 'patience' (days until somebody complains), so its value "
            "does not matter: read c.patience in the model, or remove the constant."),
        ("require(s.sent < 2)", "require(s.sent < 2 and s.lost < c.patience)"),
    ),
    ("unspent-budget", "budget.losses"): (
        ("budget s.budget.losses is never spent, although action 'loses' "
            "contains `require(s.budget.losses > 0)`: spend the budget in the action, as in s.budget.losses -= 1."),
        SPENT,
    ),
    ("unspent-budget", "budget.returns"): (
        ("budget s.budget.returns starts with constant 'returns' and is never spent: no action or property reads "
            "it. Write require(s.budget.returns > 0) and s.budget.returns -= 1 in the action that the "
            "budget limits, or remove the budget."),
        ("def arrives(s, c, m):\n",
            "def arrives(s, c, m):\n    require(s.budget.returns > 0)\n    s.budget.returns -= 1\n"),
    ),
    ("action-left-out", "arrives"): (
        ("the file defines action 'arrives', which is not in the actions of MACHINE, so it never happens: "
            "list it there, or remove it."),
        (LISTED, "initial, (sends, loses, complains, arrives))"),
    ),
    ("property-left-out", "forgotten"): (
        ("the file defines property 'forgotten', which is not in PROPERTIES, so it is not checked: list it "
            "there, or remove it."),
        ("THIRD, EMPTIES)", "THIRD, forgotten, EMPTIES)"),
    ),
    ("premise-never-happened", "the-third-is-the-last"): (
        ("the-third-is-the-last is vacuous: no reachable state satisfies "
            "its `when`. Correct `when`, or let the machine reach a state that satisfies it."),
        ("return s.lost == 3", "return s.lost == 2"),
    ),
    ("only-initially", "nothing-was-sent"): (
        ("witness nothing-was-sent shows nothing about the steps: an initial state satisfies it, and no other "
            "state does. Require something that only a step can cause."),
        ("return s.sent == 0", "return s.sent < 2"),
    ),
    ("nothing-to-judge", "bills-go-to-the-first"): (
        "bills-go-to-the-first could not fail: it concerns messages that no step ever sends.",
        ("kind=Kind.GIFT)", "kind=Kind.BILL if to == 0 else Kind.GIFT)"),
    ),
    ("nothing-to-judge", "complaints-are-alone"): (
        "complaints-are-alone could not fail: it concerns messages that no step ever sends.",
        ("    s.post.add(to=to, kind=Kind.GIFT)",
            "    s.post.add(to=to, kind=Kind.GIFT)\n    if s.sent == 1 and to == 0:\n        s.complaints.add(by=to)"),
    ),
    ("nothing-to-judge", "complaints-lower-nothing"): (
        "complaints-lower-nothing could not fail: it concerns only steps of action 'complains', which never happened.",
        ("require(s.lost > 2)\n    s.complaints.add(by=by)", "require(s.lost > 1)"),
    ),
}  # fmt: skip
"""By kind and name: the text of the warning, and the change that fixes the model."""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text = CARELESS.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / "parcels.py"
    file.write_text(text)
    return file


def found_in(file: Path, engine: str = "plain") -> dict[tuple[str, str], str]:
    return {(item.kind, item.about): item.text for item in check(file, engine=engine).warnings}


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_careless_model_is_warned_of_all_that_it_leaves_out_and_of_nothing_else(engine: str) -> None:
    assert found_in(CARELESS, engine) == {key: text for key, (text, _) in WARNINGS.items()}


@pytest.mark.parametrize("key", list(WARNINGS), ids=" ".join)
def test_a_warning_is_gone_once_the_model_is_mended(key: tuple[str, str], tmp_path: Path) -> None:
    change = WARNINGS[key][1]
    more = [(LISTED, "initial, (sends, loses, complains, arrives))")] if key[1] == "budget.returns" else []
    left = set(found_in(written(tmp_path, change, *more)))
    assert key not in left
    assert left <= set(WARNINGS)


def test_initial_among_the_actions_is_warned_of(tmp_path: Path) -> None:
    file = written(tmp_path, (LISTED, "initial, (initial, sends, loses, complains))"), ("Size(2)]", "Size(9)]"))
    [warning] = [it for it in check(file, engine="plain", max_states=50).warnings if it.kind == "initial-among-actions"]
    assert (warning.about, warning.text) == (
        "initial", ("action 'initial' creates the initial states and is also listed among the actions, so it may "
        "happen again in every state: remove initial from `actions`, or write a separate action for the reset."),
    )  # fmt: skip


def test_a_property_whose_parameter_has_no_value_is_warned_of(tmp_path: Path) -> None:
    head = "@always\ndef gifts_go_to_somebody(s, c"
    file = written(tmp_path, (head, head.replace("@always", "@always(n=Annotated[int, Range(2, C.losses)])") + ", n"))
    said = "gifts-go-to-somebody could not fail: its parameter 'n' has no value with these constants."
    assert found_in(file)["nothing-to-judge", "gifts-go-to-somebody"] == said


@pytest.mark.parametrize("name", few(PROTOCOLS, 4))
def test_the_models_of_the_catalogue_have_no_warnings(name: str) -> None:
    found = PROTOCOLS[name]
    assert of_text(found, translate(found.machine, found.every_property)) == ()


def test_the_page_and_the_json_have_the_warnings() -> None:
    page = fencepost("check", str(CARELESS), "--engine", "plain")
    assert page.exit_code == 0
    page_text = " ".join(page.stdout.split())
    assert [text for text, _ in WARNINGS.values() if f"Warning: {text}" not in page_text] == []
    data = data_of(fencepost("check", str(CARELESS), "--engine", "plain", "--json"))
    assert {(item["kind"], item["about"]): item["text"] for item in data["warnings"]} == {
        key: text for key, (text, _) in WARNINGS.items()
    }


def test_with_strict_a_warning_is_an_error_and_a_model_without_any_is_as_it_is(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    asked = ("check", str(CARELESS), "--engine", "plain", "--strict", "--set", "people=1", "--junit", str(junit))
    result = fencepost(*asked, "--sarif", str(tmp_path / "sarif.json"))
    assert result.exit_code == 2
    assert "message=\"nothing reads constant 'patience'" in junit.read_text()
    assert "--strict treats warnings as errors: fix the model, or leave --strict out." in result.stderr
    assert "Warning: nothing reads constant 'patience'" in result.stdout
    result = fencepost("check", str(MACHINES / "mailbox.py"), "--engine", "plain", "--strict")
    assert (result.exit_code, "Warning" in result.stdout) == (0, False)


def test_a_parameter_that_may_be_none_is_warned_of_since_none_is_never_tried(tmp_path: Path) -> None:
    file, asks = tmp_path / "lock.py", "@action(client={})\ndef client_asks"
    file.write_text(Path(first.__file__).read_text().replace(asks.format("Client"), asks.format("MaybeClient")))
    [warning] = [item for item in check(file, engine="plain").warnings if item.kind == "none-never-tried"]
    assert warning.about == "client-asks"
    assert warning.text.startswith(
        "parameter 'client' of action 'client-asks' has a domain with NONE, but NONE is never tried: "
    )
