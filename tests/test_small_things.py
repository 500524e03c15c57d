"""Small things that a first user stumbled over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.api import simulate
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model import first

from tests.commands import fencepost

if TYPE_CHECKING:
    from fencepost.model.language import Constants

LOCK = str(Path(first.__file__))


def test_vacuity_is_quiet_about_what_is_not_suspicious() -> None:
    whole, quiet = fencepost("vacuity").stdout, fencepost("vacuity", "--quiet").stdout
    assert len(quiet) < len(whole)
    assert set(quiet.splitlines()) <= set(whole.splitlines())


def test_faults_say_why_a_property_of_whole_behaviours_is_not_asked_about() -> None:
    found = fencepost("faults", "quorum", "--property", "replicas-come-to-rest")
    assert found.exit_code == 2
    assert "is of kind leads-to: the fewest faults are found level by level" in found.stderr
    assert "Name one of: one-leader-per-epoch, " in found.stderr


def test_walks_say_which_properties_they_leave_out_and_refuse_them_by_name() -> None:
    walked = simulate(first.MACHINE, first.PROPERTIES, walks=10)
    assert [item.result.name for item in walked.properties] == [
        item.name for item in first.PROPERTIES if not item.kind.over_behaviours
    ]
    [note] = walked.notes
    assert note.startswith("not asked about: who-waits-gets-it, few-ask-meanwhile. A walk has an end")
    assert note.endswith("these are about whole behaviours: `fencepost check` judges them.")
    assert not simulate(first.MACHINE, first.PROPERTIES, only="one-holds", walks=10).notes
    found = fencepost("simulate", LOCK, "--property", "who-waits-gets-it")
    assert found.exit_code == 2
    assert found.stderr.endswith(
        "a walk has an end. Leave it out here: `fencepost check` judges it, with --property who-waits-gets-it.\n"
    )


def test_a_constant_has_one_spelling_and_is_read_in_both() -> None:
    for protocol in PROTOCOLS.values():
        constants: Constants = protocol.machine.set_constants({})
        for name, constant in constants.declared().items():
            assert "_" not in str(constants.shown[name])
            for word, value in constant.spellings().items():
                assert constant.parse(word) == constant.parse(word.replace("-", "_")) == value
                assert str(constant.show(value)).lower() == word or constant.kind is bool


def test_quiet_leaves_the_legend_out() -> None:
    legend = "always: must be so in every reachable state"
    loud, quiet = (fencepost("check", LOCK, "--engine", "plain", *more).stdout for more in ((), ("--quiet",)))
    assert legend in loud
    assert legend not in quiet
    assert "one-holds             always     holds" in quiet


def test_an_induction_that_breaks_says_what_that_means_and_what_is_next() -> None:
    found = fencepost("prove", LOCK, "--property", "one-holds", "--reach", "0s", "--no-cache")
    text = " ".join(found.stdout.split())
    assert "This state: no search looked for it, and it may be one that no behaviour reaches." in text
    assert "An induction that breaks is no violation: it lacks a lemma, which excludes the state before the step." in text
    assert "--property one-holds --strengthen` looks for such lemmas; or write what excludes it as an @always property" in text


def test_a_state_that_breaks_an_induction_is_looked_for_in_models_with_whole_behaviours_too() -> None:
    found = fencepost("prove", LOCK, "--property", "one-holds", "--no-cache")
    assert found.exit_code == 3
    assert "This state: it is none of the 84 reachable states under these constants" in " ".join(found.stdout.split())
