"""Small things that a first user stumbled over."""

from __future__ import annotations

from tests.commands import fencepost


def test_vacuity_is_quiet_about_what_is_not_suspicious() -> None:
    whole, quiet = fencepost("vacuity").stdout, fencepost("vacuity", "--quiet").stdout
    assert len(quiet) < len(whole)
    assert set(quiet.splitlines()) <= set(whole.splitlines())


def test_faults_say_why_a_property_of_whole_behaviours_is_not_asked_about() -> None:
    found = fencepost("faults", "quorum", "--property", "replicas-come-to-rest")
    assert found.exit_code == 2
    assert "is of kind leads-to: the fewest faults are found level by level" in found.stderr
    assert "Name one of: one-leader-per-epoch, " in found.stderr
