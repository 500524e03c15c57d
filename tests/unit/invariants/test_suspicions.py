"""Promises that cannot be violated, and actions and guards without effect, are reported, as are guarantees without
evidence.
"""

import re
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from fencepost.api.calls import vacuity
from fencepost.api.topics import matrices
from fencepost.cli.status import Exit
from fencepost.invariants.catalogue import values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Kind
from fencepost.site import checks, stale

from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import MACHINES

PLANTED = str(MACHINES / "planted.py")


@pytest.mark.xdist_group("planted")
def test_a_witness_that_is_not_reached_is_reported() -> None:
    found = fencepost("ablate", "-v", PLANTED, "--quiet", "--workers", "1", "--set", "tickets=1")
    assert "witnesses that no state or step satisfies" in " ".join(found.stdout.split())
    assert "hall-is-full" in found.stdout


# -- the chapter


def measured_as_now(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: {"mark": matrices.mark_of(PROTOCOLS[name]), "bases": []} for name in matrices.bases()}
    monkeypatch.setattr(matrices, "measured", lambda: known)
    counted = {replicas: {"mark": stale.crashes_mark(replicas)} for replicas in stale.SIZES}
    monkeypatch.setattr(stale, "crashes_measured", lambda: counted)
    assert (matrices.stale(), stale.stale_crashes()) == ([], [])


def with_another_effect(name: str) -> Any:
    found = PROTOCOLS[name]
    item, other = next(pair for pair in combinations(found.machine.actions, 2) if pair[0].params == pair[1].params)
    changed = tuple(replace(one, function=other.function) if one is item else one for one in found.machine.actions)
    return replace(found, machine=replace(found.machine, actions=changed))


@pytest.mark.long
@pytest.mark.parametrize("name", list(matrices.bases()))
def test_a_changed_effect_a_changed_property_and_changed_constants_make_what_was_measured_stale(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured_as_now(monkeypatch)
    now = matrices.mark_of(PROTOCOLS[name])
    assert matrices.mark_of(with_another_effect(name)) != now
    assert matrices.mark_of(replace(PROTOCOLS[name], properties=PROTOCOLS[name].properties[1:])) != now
    with monkeypatch.context() as patch:
        patch.setitem(matrices.bases(), name, matrices.bases()[name][1:])
        assert matrices.stale() == [name]
    with monkeypatch.context() as patch:
        patch.setattr(matrices, "TIMES", matrices.TIMES + 1)
        assert name in matrices.stale()
    with monkeypatch.context() as patch:
        own = {name: OTHERWISE[name]}
        patch.setattr(matrices, "values_of", lambda run: {**values_of(run), **own.get(run.protocol, {})})
        assert matrices.stale() == [name]
    assert matrices.stale() == []


OTHERWISE = {
    "kip320": {"max_leader_epoch": 1}, "replication": {"max_leader_epoch": 1}, "quorum": {"losses": 3},
    "metadata-reads": {"wrong_contexts": 2}, "leader-discovery": {"elections": 3},
    "hints-and-tokens": {"old_brokers": 1}, "follower-reads": {"retentions": 3}, "controller-failover": {"shrinks": 3},
    "watermark-propagation": {"records": 4}, "unclean-recovery": {"fences": 2},
}  # fmt: skip


def test_stale_figures_are_named_with_what_measures_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "stale", lambda: ["kip320"])
    monkeypatch.setattr(stale, "stale_crashes", lambda: ["3"])
    first, second = (line for line in stale.stale() if "kip320" in line or "--faults" in line)
    assert first.startswith("stale: invariants/figures/matrices/kip320.json: measured with another model or question; ")
    assert "`python -m benchmarks.figures.matrices kip320`" in first
    assert "`python -m benchmarks.figures.matrices --faults 3`" in second


def test_a_verdict_that_is_no_longer_true_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "stale", lambda: ["kip320"])
    assert list(stale.refuted()) == []
    row, base = next(matrices.histories(matrices.measured()["kip320"]))
    known = {"kip320": {"mark": "", "bases": [{**base, "rows": [{**row, "steps": row["steps"][1:]}]}]}}
    monkeypatch.setattr(stale.matrices, "measured", lambda: known)
    (line,) = stale.refuted()
    where = "refuted: invariants/figures/matrices/kip320.json"
    assert line.startswith(f"{where}: {row['row']} is listed as needed, and its history fails: ")


# -- the checks of each KIP


def test_every_check_of_a_kip_is_a_row_of_a_matrix_and_shown_necessary_or_has_a_reason() -> None:
    found = matrices.measured()
    best = {name: matrices.best_of(data) for name, data in found.items()}
    rows = {name: {row["row"] for base in data["bases"] for row in base["rows"]} for name, data in found.items()}
    for items in checks.ADDED.values():
        for name, reasons in items.items():
            assert set(reasons) <= rows[name]
            for row, reason in reasons.items():
                assert (checks.necessity(best, name, row, "")[0] == "**needed**") != bool(reason), f"{name} {row}"
    text = "\n".join(checks.kips_page(best))
    assert all(f"## {kip}" in text for kip in ("KIP-320", "KIP-841", "KIP-903", "KIP-966"))
    assert "not measured" not in text


# -- names and guarantees


def test_every_guarantee_that_holds_was_seen_to_fail_in_some_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vacuity.falsifiable()
    before = vacuity.vacuous()
    assert before == list(vacuity.UNBREAKABLE)
    monkeypatch.setattr(vacuity, "seen_to_fail", set)
    assert {"KIP903-S4"} <= set(vacuity.vacuous()) - set(before)


@pytest.mark.parametrize("name", list(matrices.bases()))
def test_vacuity_tells_of_each_protocol_what_was_never_seen(name: str) -> None:
    found = fencepost("vacuity", name, "--json")
    whole = data_of(found)
    assert whole["stale"] in ([], [name])
    assert found.exit_code == (Exit.UNDETERMINED if whole["stale"] else Exit.AS_EXPECTED), found.stdout
    (data,) = whole["protocols"]
    assert (data["protocol"], data["guarantees"], data["unreached"]) == (name, [], [])
    assert set(data["bases"]) <= set(matrices.bases()[name])
    assert whole["stale"] or data["bases"] == list(matrices.bases()[name])
    safety = {item.name for item in PROTOCOLS[name].properties if item.kind is not Kind.SOMETIMES}
    assert not safety & set(data["never_violated"])
    assert not set(data["idle"]) & {
        row["row"] for base in matrices.measured()[name]["bases"] for row in base["rows"] if row["purpose"] == "needed"
    }


def test_vacuity_finds_a_planted_vacuous_property_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vacuity.seen_to_fail()
    monkeypatch.setattr(vacuity, "seen_to_fail", lambda: whole - {("lineage", "weak-isr")})
    found = fencepost("vacuity", "kip320")
    assert found.exit_code == 1
    text = " ".join(found.stdout.split())
    assert "properties that no run and no row of a matrix violates: weak-isr" in text
    assert re.search(r"guarantees that hold and were never violated: \w", text)


# -- crashes that a record survives


def point(min_isr: int, least: int | None, unknown: tuple[int, ...] = ()) -> dict[str, Any]:
    front = [] if least is None else [{"faults": {"crashes": least}, "length": 9, "cost": least}]
    undecided = [{"faults": {"crashes": count}, "why": "the limit was reached"} for count in unknown]
    setting = {"min_isr": min_isr, "elr": True, "unclean_election": False}
    found = {"setting": setting, "kinds": ["crashes"], "least": least, "front": front, "unknown": undecided}
    return {**found, "undetermined": bool(unknown)}


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([point(1, 1), point(2, 2), point(3, None)], "The claim holds"),
        ([point(1, 1), point(2, 1), point(3, 3)], "fails with min ISR 2 by crashes 1 (9 states)"),
        ([point(1, 1), point(3, None, (2, 3))], "is not decided in the model with these constants** for min ISR 3"),
        ([point(1, 1), point(3, None, (3,))], "The claim holds"),
    ],
)
def test_the_claim_of_kip_966_holds_if_every_search_below_it_ended(points: list[dict[str, Any]], says: str) -> None:
    assert says in checks.claim({"grid": points})
