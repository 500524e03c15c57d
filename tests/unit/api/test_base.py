"""A variant without effect is reported as such, after a search of its base."""

from pathlib import Path
from typing import Any

import pytest
from fencepost.api import check
from fencepost.api.answers.results import Base
from fencepost.cli.status import Exit
from fencepost.model.language import action
from fencepost.model.language.errors import ModelError, UsageError
from fencepost.model.lineage import kip320
from fencepost.testing.checks import check as in_a_test

from tests.agreement.test_beside import HEAD, SESSIONS, SHARED, VARIANT, files_of
from tests.helpers.blocks import whole
from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import DOCS

FETCH = str(DOCS / "examples" / "fetch_from_anyone.py")

COUNTER = HEAD + whole(files_of(SESSIONS[SHARED])["normalized"])


def variant(folder: Path, text: str, *options: str) -> tuple[int, dict[str, Any]]:
    (folder / "base.py").write_text(COUNTER)
    file = folder / "variant.py"
    file.write_text(f"{VARIANT}{text}")
    found = fencepost("check", str(file), "--json", *options)
    return found.exit_code, data_of(found)


def test_a_variant_whose_base_is_pinned_is_compared_without_a_search() -> None:
    data = data_of(fencepost("check", FETCH, "--set", "replicas=2", "--json"))
    assert data["base"] == "differs"
    assert data["notes"][-1].endswith("(catalogue run `kip320 2/2/2/2`).")


def test_only_a_variant_of_a_users_own_has_a_base_with_which_it_may_not_be_compared() -> None:
    assert "base" not in data_of(fencepost("check", "kip320", "--set", "replicas=2", "--json"))
    assert check("kip101", replicas=2, max_leader_epoch=1).base is None
    assert check(kip320.MACHINE, (), replicas=2, max_leader_epoch=1).base is None
    machine = kip320.MACHINE.replacing(name="same", sentence="nothing else", follower_fetch=kip320.follower_fetch)
    other_engine = {"engine": "plain", "max_leader_epoch": 0, "normalize": False}
    for given in ({"max_leader_epoch": 1}, other_engine, {"max_states": 10}):
        assert check(machine, (), replicas=2, **given).base is Base.NOT_COMPARED


SWAPPED = """
@action(by=Range(1, 2))
def add(s: State, c: C, by: int) -> None:
    "It adds."
    require(s.x + FIRST <= 6)
    s.x += FIRST
@action(by=Range(1, 2))
def more(s: State, c: C, by: int) -> None:
    "It adds as well."
    require(s.x + SECOND <= 6)
    s.x += SECOND
"""


@pytest.mark.parametrize("engine", ["native", "plain"])
@pytest.mark.parametrize(
    ("ways", "base"), [(("2 * by", "by"), "same"), (("by", "2 * by"), "differs"), (("6 - 2 * by", "by"), "differs")]
)
def test_steps_are_the_same_if_their_actions_are(ways: tuple[str, str], base: str, engine: str, tmp_path: Path) -> None:
    made = [SWAPPED.replace("FIRST", one).replace("SECOND", other) for one, other in (("by * 2", "1 * by"), ways)]
    end = 'BASE = Machine("adds", "adds", State, C, initial, (add, more))\n'
    end += '@always\ndef low(s, c):\n    "It is low."\n    return s.x < 7\nPROPERTIES = (low,)\n'
    text = COUNTER.partition("@action()\ndef go")[0] + made[0] + end
    (tmp_path / "adds.py").write_text(text)
    file = tmp_path / "swapped.py"
    end = 'MACHINE = BASE.replacing(name="swapped", sentence="swapped", add=add, more=more)\n'
    file.write_text(f"from adds import *\nfrom adds import BASE, PROPERTIES\n{made[1]}{end}")
    assert check(file, engine=engine).base == Base(base)


def test_builds_and_tests_hear_of_a_variant_that_does_nothing(tmp_path: Path) -> None:
    text = 'MACHINE = BASE.replacing(name="less", sentence="no way back", wrap=None)\n'
    junit = tmp_path / "junit.xml"
    variant(tmp_path, text, "--junit", str(junit))
    assert 'errors="1"' in junit.read_text()
    assert "this variant has no effect under these constants" in junit.read_text()
    file = tmp_path / "variant.py"
    with pytest.warns(UserWarning, match="less: this variant has no effect under these constants"):
        assert in_a_test(file).base is Base.SAME
    assert "this variant has no effect" in check(file)._repr_html_()


def reset(s: object, c: object) -> None:
    """Do nothing."""


def test_a_helper_cannot_be_replaced_and_one_that_is_changed_in_its_module_is_changed_in_both(tmp_path: Path) -> None:
    for wrong, said in (
        ({"normalize": action()(reset)}, "`normalize` is action 'reset'"),
        ({"is_following": reset}, "To replace a helper, replace the actions that call it"),
        ({"initial": kip320.MACHINE.initial}, "To replace the initial action, write `dataclasses"),
    ):
        with pytest.raises((ModelError, UsageError), match=said):
            kip320.MACHINE.replacing(name="x", sentence="y", **wrong)
    text = """
import base

def is_far(s):
    return s.x > 1

base.is_far = is_far
MACHINE = BASE.replacing(name="patched", sentence="a helper is another")
"""
    status, data = variant(tmp_path, text)
    assert (status, data["base"]) == (Exit.AS_EXPECTED, "not compared")
    assert "a helper that is changed in its module is changed in both" in data["notes"][0]


def test_a_module_of_ours_that_is_changed_makes_no_base_to_compare_with(monkeypatch: pytest.MonkeyPatch) -> None:
    from fencepost.model.lineage import base as helpers

    fewer = {kip320.MACHINE.actions[0].name: None}
    machine = kip320.MACHINE.replacing(name="fewer", sentence="no broker crashes", **fewer)
    monkeypatch.setattr(helpers, "presumes_leadership", presumes_leadership)
    found = check(machine, (), replicas=2, max_leader_epoch=1, normalize=False)
    assert found.base is Base.NOT_COMPARED
    assert "its module in this process" in found.notes[-1]


def presumes_leadership(l: Any, leader: int) -> bool:
    """Return whether a replica believes that it leads: a rule of a user's own."""
    return bool(l.leader == leader and l.end >= 0)
