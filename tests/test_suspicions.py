"""Promises that cannot be broken, actions and guards that do nothing are reported, and so are guarantees without evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fencepost.cli import chapter, chapter_page
from fencepost.cli.suspicions import suspicions
from fencepost.invariants.protocols import PROTOCOLS

from tests.commands import data_of, fencepost

PLANTED = str(Path(__file__).parent / "machines" / "planted.py")


@pytest.fixture(scope="module")
def planted() -> dict[str, Any]:
    return data_of(fencepost("ablate", PLANTED, "--json", "--quiet", "--workers", "1"))


@pytest.mark.xdist_group("planted")
def test_a_planted_vacuous_property_is_reported(planted: dict[str, Any]) -> None:
    assert planted["suspicions"]["never_violated"] == ["tickets-are-counted"]


@pytest.mark.xdist_group("planted")
def test_a_planted_dead_action_is_reported(planted: dict[str, Any]) -> None:
    assert planted["suspicions"]["dead"] == ["burn-down"]


@pytest.mark.xdist_group("planted")
def test_planted_redundant_guards_are_reported_and_needed_ones_are_not(planted: dict[str, Any]) -> None:
    idle = set(planted["suspicions"]["idle"])
    assert {"sell 2", "enter 3"} <= idle
    assert not idle & {"enter 1", "enter 1a", "enter 4", "sell 1"}


@pytest.mark.xdist_group("planted")
def test_a_witness_that_is_not_reached_is_reported() -> None:
    found = fencepost("ablate", PLANTED, "--quiet", "--workers", "1", "--set", "tickets=1")
    assert "witnesses that no state or step satisfies" in " ".join(found.stdout.split())
    assert "hall-is-full" in found.stdout


@pytest.mark.xdist_group("planted")
def test_nothing_is_said_to_be_suspicious_where_only_some_rows_were_asked_for() -> None:
    found = data_of(fencepost("ablate", PLANTED, "--json", "--quiet", "--guard", "enter 4"))
    assert found["suspicions"] == {}


def test_a_guard_with_a_needed_part_is_not_idle() -> None:
    rows = [
        {"row": "go 1", "kind": "guard", "action": "go", "number": 1, "part": 0, "purpose": "nothing-broke", "cells": {}},
        {"row": "go 1a", "kind": "guard", "action": "go", "number": 1, "part": 1, "purpose": "needed", "cells": {}},
    ]
    found = suspicions({"rows": rows, "properties": [], "asked": [], "actions": []})
    assert found["idle"] == []


# -- the chapter


def test_what_was_measured_is_of_the_guards_as_they_are() -> None:
    assert chapter.stale() == [], "measure them again: `python -m fencepost.cli.chapter docs`"


def test_a_changed_guard_makes_what_was_measured_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    known = {name: {"mark": chapter.mark_of(PROTOCOLS[name]), "bases": []} for name in chapter.BASES}
    file = tmp_path / "checks.json"
    file.write_text(json.dumps(known))
    monkeypatch.setattr(chapter, "MEASURED", file)
    assert chapter.stale() == []
    known["kip320"]["mark"] = "of other guards"
    file.write_text(json.dumps(known))
    assert chapter.stale() == ["kip320"]


def test_every_guard_of_the_measured_protocols_is_in_the_chapter() -> None:
    text = "\n".join(chapter_page.chapter())
    for name, data in chapter.measured().items():
        assert f"## {name}" in text
        for row in data["bases"][0]["rows"]:
            assert f"`{row['condition']}`" in text or row["kind"] == "setting"


def test_every_guarantee_that_holds_was_seen_to_fail_in_some_variant() -> None:
    known = chapter_page.falsifiable()
    assert known
    assert chapter_page.vacuous() == list(chapter_page.UNBREAKABLE)


def test_a_guarantee_without_evidence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = chapter_page.vacuous()
    monkeypatch.setattr(chapter_page, "seen_to_fail", set)
    assert len(chapter_page.vacuous()) > len(before)


def point(min_isr: int, least: int | None, unknown: tuple[int, ...] = ()) -> dict[str, Any]:
    front = [] if least is None else [{"faults": {"crashes": least}, "length": 9, "cost": least}]
    undecided = [{"faults": {"crashes": count}, "why": "the limit was reached"} for count in unknown]
    setting = {"min_isr": min_isr, "elr": True, "unclean_election": False}
    return {"setting": setting, "least": least, "front": front, "unknown": undecided, "undetermined": bool(unknown)}


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([point(1, 1), point(2, 2), point(3, None)], "The claim holds"),
        ([point(1, 1), point(2, 1), point(3, 3)], "fails with min ISR 2 by crashes 1 (9 states)"),
        ([point(1, 1), point(3, None, (2, 3))], "is not decided in the model at these constants** for min ISR 3"),
        ([point(1, 1), point(3, None, (3,))], "The claim holds"),
    ],
)
def test_the_claim_of_kip_966_is_said_to_hold_only_where_every_search_below_it_ended(
    points: list[dict[str, Any]], says: str
) -> None:
    assert says in chapter_page.claim({"grid": points})
