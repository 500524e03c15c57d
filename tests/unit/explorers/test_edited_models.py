"""A model edited between two runs is a new one: no cached result of the first applies to it."""

import importlib
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import fencepost.api as f
import pytest
from fencepost.explorers import plain
from fencepost.explorers.program.subset.program import check
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options
from fencepost.invariants.protocols import PROTOCOLS

from tests.helpers.blocks import whole
from tests.helpers.written import HEAD

MODEL = HEAD + whole("""
class Size(IntEnum):
    SMALL = 0
    LARGE = 1
class C(Constants):
    most = bound(2, low=0, high=5, meaning="the largest step")
class State(Record):
    steps: Annotated[int, Range(0, 4)]
    x: Annotated[int, Range(0, 60)]
@action(by=Range(0, C.most), size=Size)
def go(s, c, by, size):
    require(s.steps < 4)
    s.steps += 1
    s.x += by + size
@always
def good(s, c):
    return s.x <= 12
""").replace("class Size", "from enum import IntEnum\n\nclass Size")
EDITS = {
    "a parameter has one value more": ("Range(0, C.most)", "Range(0, C.most + 1)"),
    "an enum has one member more": ("LARGE = 1", "LARGE = 1\n    HUGE = 2"),
}


def always_in_same_epoch(l: Any, leader: int, f: Any) -> bool:
    return l.leader == leader


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("compact", [False, True], ids=["exact", "compact"])
def test_a_checkpoint_of_an_edited_model_is_refused(
    model: Path, edit: tuple[str, str], compact: bool, tmp_path: Path
) -> None:
    folder = str(tmp_path / "checkpoint")
    assert f.check(model, compact=compact, max_depth=3, checkpoint=folder).verdict.value == "undetermined"
    model.write_text(MODEL.replace(*edit))
    assert f.check(model, compact=compact).verdict.value == "violated"
    with pytest.raises(f.FencepostError, match="the model changed after"):
        f.check(model, compact=compact, checkpoint=folder, resume=True)
    model.write_text(MODEL)
    assert f.check(model, compact=compact, checkpoint=folder, resume=True).verdict.value == "holds"


@pytest.mark.parametrize("engine", ["native", "plain"])
@pytest.mark.parametrize("edit", [("x += 1", "x += 9"), ("def", "\ndef"), ("def", "not Python")])
def test_a_helper_that_was_edited_after_its_import_is_refused(
    engine: str, edit: tuple[str, str], model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text read would differ from the code executed: Python imported it before, as it is not beside the model."""
    helper = tmp_path / "elsewhere" / "edited_helper.py"
    helper.parent.mkdir()
    helper.write_text(text := "def more(s):\n    s.x += 1\n")
    monkeypatch.syspath_prepend(helper.parent)
    model.write_text(f"from edited_helper import more\n{MODEL.replace('s.x += by', 'more(s); s.x += by')}")
    monkeypatch.delitem(sys.modules, "edited_helper", raising=False)
    importlib.import_module("edited_helper")
    helper.write_text(text.replace(*edit))
    with pytest.raises(f.FencepostError, match="was edited after it was imported"):
        f.check(model, engine=engine)
    monkeypatch.delitem(sys.modules, "edited_helper")
    helper.write_text(text)
    assert f.check(model, engine=engine).verdict.value == "violated"


BEGINS = HEAD + whole("""
class C(Constants):
    far = switch(default=False, meaning="it goes far")
    fast = switch(default=False, meaning="it goes fast")
class State(Record):
    b: Annotated[int, Range(0, 5)]
@action()
def initial(s, c):
    s.b = 1 if c.far else 0
@action()
def go(s, c):
    require(s.b != 1)
    require(s.b < 3)
    s.b += 2
@always
def low(s, c):
    return s.b != 3
def refuse(c: C) -> str | None:
    return "not that fast" if c.fast > 1 else None
MACHINE = Machine("begins", "a model that is edited", State, C, initial, (go,), refuse=refuse)
""")


@pytest.mark.parametrize("edit", [("else 0", "else 1"), ("1 if c.far", "3 if c.far")], ids=["all", "a setting"])
def test_rows_of_a_model_that_begins_elsewhere_are_refused(model: Path, edit: tuple[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    model.write_text(BEGINS)
    first = f.ablate(model, checkpoint=folder)
    assert f.ablate(model, checkpoint=folder, resume=True).data["rows"] == first.data["rows"]
    model.write_text(BEGINS.replace(*edit))
    assert [row.purpose for row in f.ablate(model).rows] != [row.purpose for row in first.rows]
    with pytest.raises(f.FencepostError, match="belongs to another question"):
        f.ablate(model, checkpoint=folder, resume=True)


def test_a_setting_that_the_machine_refuses_now_or_did_before_is_asked_again(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    for text, purpose in ((BEGINS, "same-states"), (BEGINS.replace("> 1", "> 0"), "refused"), (BEGINS, "same-states")):
        model.write_text(text)
        found = f.ablate(model, checkpoint=folder, resume=folder.exists())
        assert found.row("fast=on").purpose == purpose


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_proof_that_was_kept_does_not_answer_for_a_model_that_was_edited(model: Path, edit: tuple[str, str]) -> None:
    assert f.prove(model, depth=4).verdict.value == "not-found"
    assert f.prove(model, depth=4).verdict.value == "not-found"
    model.write_text(MODEL.replace(*edit))
    assert f.prove(model, depth=4).verdict.value == "violated"


def test_a_proof_for_all_values_of_a_constant_is_of_those_from_its_low_bound_on(model: Path) -> None:
    text = MODEL.replace("low=0", "low=2").replace("s.x <= 12", "c.most >= 2")
    model.write_text(text)
    assert f.prove(model, unbounded={"most": None}).verdict.value == "proved"
    model.write_text(text.replace("low=2", "low=1"))
    assert f.prove(model, unbounded={"most": None}).verdict.value == "undetermined"


@pytest.mark.long
def test_a_function_is_checked_again_if_a_name_that_it_reads_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = PROTOCOLS["kip320"].machine
    before = check(machine)
    assert check(machine) is before
    more = check(machine, PROTOCOLS["kip320"].properties)
    assert all(more.functions[python] is made for python, made in before.functions.items())
    assert len(before.functions) < len(more.functions)
    (python,) = (item for item in before.functions if item.__name__ == "in_same_epoch")
    constants = machine.set_constants({"replicas": 2})
    options = Options(max_depth=9)
    first = search(machine, constants, options=options)
    changed = FunctionType(always_in_same_epoch.__code__, python.__globals__, "always_in_same_epoch")
    monkeypatch.setitem(python.__globals__, "in_same_epoch", changed)
    after = check(machine).functions
    assert (changed in after, python in after) == (True, False)
    found = search(machine, constants, options=options)
    assert found.generated == plain.search(machine, constants, options=options).generated != first.generated
