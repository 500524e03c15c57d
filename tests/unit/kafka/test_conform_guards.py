"""Each guard of the bound models is classified: a check in Kafka, a physical condition, or a bound of the model."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fencepost.explorers.program.removal import Guard, guards
from fencepost.kafka import driver
from fencepost.kafka.conform.binding import QUORUM, REPLICATION, Binding
from fencepost.kafka.conform.guards import GuardsReport, Sight, variant_rows
from fencepost.kafka.driver.ablation import Whose
from fencepost.kafka.driver.releases import RELEASES, Release
from fencepost.kafka.quorum import guards as quorum
from fencepost.kafka.quorum import mapping as nodes
from fencepost.kafka.quorum.mapping import RELEASES as QUORUM_RELEASES
from fencepost.kafka.replication import guards as replication
from fencepost.kafka.replication import mapping as brokers
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import UsageError

MACHINE = REPLICATION.machine
BASE = MACHINE.set_constants(dict(MACHINE.version("kafka-4.1").values))
NODES = QUORUM.as_built("kafka-4.1", QUORUM.machine.set_constants({}))
SOME = Release("4.1.2", "kafka-4.1", Path(), Path())
both = pytest.mark.parametrize("bound", [REPLICATION, QUORUM], ids=lambda bound: bound.protocol)


def base_of(version: str) -> Constants:
    return REPLICATION.as_built(version, MACHINE.set_constants(dict(MACHINE.version(version).values)))


def every(bound: Binding) -> list[Guard]:
    return [guard for guard in guards(bound.machine) if not guard.part]


def test_what_is_expected_of_a_driver_is_what_its_source_says() -> None:
    folder = Path(driver.__file__).parents[1]
    java = "".join(file.read_text() for file in sorted(folder.rglob("*.java")))
    checks = (*replication.KAFKAS.values(), *quorum.KAFKAS.values())
    expected = {answer for check in checks for answer in check.answers if not re.fullmatch("[A-Z_]*", answer)}
    assert len(expected) > 6
    for text in (*expected, *brokers.ASIDE, *nodes.ASIDE):
        said, _, state = text.partition(": ")
        assert f'"{said}' in java, text
        assert f'"{state}"' in java, text


@both
def test_every_guard_is_a_check_of_kafka_physical_or_a_bound(bound: Binding) -> None:
    found = {guard.name: bound.ablation.whose(guard) for guard in every(bound)}
    assert set(found.values()) == set(Whose)
    undriven = [guard for guard in every(bound) if guard.action.replace("-", "_") in bound.not_driven]
    assert undriven
    assert all(found[guard.name] is Whose.BOUND for guard in undriven)


@both
def test_no_guard_is_classified_that_does_not_exist(bound: Binding) -> None:
    known = {(guard.action, guard.condition) for guard in every(bound)}
    kafkas, groups = bound.ablation.kafkas, (bound.ablation.physical, bound.ablation.bounds)
    named = [place for group in groups for found in group.values() for place in found]
    places = [*kafkas, *(place for place in named if not isinstance(place, str))]
    assert set(places) <= known
    for pattern in (place for place in named if isinstance(place, str)):
        assert any(re.fullmatch(pattern, condition) for _, condition in known)
    assert len(set(places)) == len(places)
    assert not {action.replace("-", "_") for action, _ in kafkas} & bound.not_driven.keys()


@pytest.mark.parametrize("version", sorted({*RELEASES.values()}))
def test_no_check_is_in_the_shadow_of_others_that_does_not_exist(version: str) -> None:
    assert set(REPLICATION.ablation.shadowed(base_of(version))) <= set(replication.KAFKAS)
    if version in QUORUM_RELEASES.values():
        base = QUORUM.as_built(version, QUORUM.machine.set_constants({}))
        assert set(QUORUM.ablation.shadowed(base)) <= set(quorum.KAFKAS)


def test_a_guard_that_nobody_has_classified_is_named() -> None:
    changed = replace(every(REPLICATION)[0], condition="s.moon == FULL")
    with pytest.raises(UsageError, match=r"the guard `broker-crashes 1` .* is not classified"):
        REPLICATION.ablation.whose(changed)


@pytest.mark.parametrize(
    ("bound", "base", "unseen"), [(REPLICATION, BASE, replication.TABLES.unseen), (QUORUM, NODES, quorum.TABLES.unseen)]
)
def test_reasons_name_rules_that_exist(bound: Binding, base: Constants, unseen: dict[str, str]) -> None:
    names = {row.variant.name for row in variant_rows(bound, base)}
    for name in unseen:
        assert any(item == name or item.startswith(f"{name}=") for item in names), name


def test_a_row_that_was_not_noticed_and_has_no_reason_fails_the_run() -> None:
    row = next(item for item in variant_rows(REPLICATION, BASE) if not item.why)
    hidden = next(item for item in variant_rows(REPLICATION, BASE) if item.why)
    assert row.sight is hidden.sight is Sight.NOWHERE
    assert GuardsReport(REPLICATION, SOME, [hidden]).verdict == "conforms"
    assert GuardsReport(REPLICATION, SOME, [hidden, row]).verdict == "differs"
