"""Small systems that others have counted: states, steps and depths are the published ones, and every omitted rule is
missed.
"""

import re
import tomllib
from functools import cache
from typing import Any

import fencepost.api as f
import pytest

from tests.helpers.commands import fencepost
from tests.helpers.places import DOCS
from tests.helpers.search import Search

FOLDER = DOCS / "examples" / "classics"
PAGE = (DOCS / "model" / "known-systems.md").read_text()
DATA = tomllib.loads((FOLDER / "published.toml").read_text())
COUNTS, BROKEN = DATA["count"], DATA["broken"]
PLAIN_STATES = 500
"""Most states of a system that the plain semantics explores here; larger ones take it seconds."""


def named(rows: list[dict[str, Any]]) -> list[Any]:
    """Return a parameter for each row; all rows of one model run in one process, which compiles it once."""
    return [
        pytest.param(
            row,
            id="-".join([row["model"], *(f"{name}={value}" for name, value in row.get("constants", {}).items())]),
            marks=[
                pytest.mark.xdist_group(f"classic-{row['model']}"),
                *([pytest.mark.long] if row.get("long") else []),
            ],
        )
        for row in rows
    ]


def check(row: dict[str, Any], engine: str = "native") -> Any:
    return checked(row["model"], tuple(row.get("constants", {}).items()), engine)


@cache
def checked(model: str, constants: tuple[tuple[str, Any], ...], engine: str) -> Any:
    return f.check(FOLDER / f"{model}.py", engine=engine, workers=1, constants=dict(constants))


@pytest.mark.parametrize("row", named(COUNTS))
def test_the_states_are_as_many_as_others_have_counted(row: dict[str, Any]) -> None:
    found = check(row)
    expected = row.get("counted", row["published"])
    assert [found.distinct, found.generated, found.depth][: len(expected)] == expected
    assert found.verdict is f.Verdict.HOLDS
    assert found.warnings == ()


@pytest.mark.parametrize("row", named([row for row in COUNTS if row["published"][0] <= PLAIN_STATES]))
def test_the_plain_semantics_finds_the_same(row: dict[str, Any]) -> None:
    native, plain = check(row), check(row, "plain")
    assert (plain.distinct, plain.generated, plain.depth) == (native.distinct, native.generated, native.depth)
    assert [(item.name, item.verdict) for item in plain.properties] == [
        (item.name, item.verdict) for item in native.properties
    ]


@pytest.mark.parametrize("row", named(BROKEN))
def test_a_rule_that_is_left_out_is_missed(row: dict[str, Any]) -> None:
    assert check(row).of(row["violated"]).verdict is f.Verdict.VIOLATED


def test_a_count_of_ours_that_differs_has_its_reason_and_as_many_states() -> None:
    for row in (row for row in COUNTS if "counted" in row):
        assert row["counted"] != row["published"]
        assert row["counted"][0] == row["published"][0]
        assert row["because"]


@pytest.mark.parametrize("row", named([row for row in COUNTS if row["model"] == "termination_detection"][:1]))
def test_with_a_step_for_each_reason_to_take_it_the_count_of_ewd_840_is_the_published_one(row: dict[str, Any]) -> None:
    machine = f.check(FOLDER / "termination_detection.py", max_depth=1, engine="plain").question.protocol.machine
    search = Search(machine, {})
    again = 0
    for key in (key for level in search.levels() for key in level):
        s = search.interpreter.schema.restore(key)
        reasons = s.token_is_black + (s.token in s.black) + (s.token > 0 and s.token not in s.active)
        again += max(0, reasons - 1)
    assert [search.found.distinct, search.found.generated + again] == row["published"][:2]


def test_the_page_has_every_count_and_its_source() -> None:
    for row in COUNTS:
        (line,) = (line for line in PAGE.splitlines() if f"(../examples/classics/{row['model']}.py)" in line)
        star = "\\*" if "counted" in row else ""
        assert f"{' / '.join(f'{number:,}' for number in row['published'])}{given(row)}{star}" in line
        assert row["source"].removeprefix("specifications/") in line


def given(row: dict[str, Any]) -> str:
    values = ", ".join(f"{name}={value}" for name, value in row.get("constants", {}).items())
    return f" ({values})" if values else ""


@pytest.mark.parametrize("row", named([row for row in COUNTS if "cut" in row]))
def test_with_the_steps_that_a_bound_cuts_off_the_count_is_the_published_one(row: dict[str, Any]) -> None:
    found = check(row)
    cut = sum(guard.refused for guard in found.guards if guard.condition in row["cut"])
    assert [found.distinct, found.generated + cut, found.depth] == row["published"]


def test_the_pages_commands_end_as_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parent.parent.parent)
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines():
        command, _, comment = line.partition("#")
        assert fencepost(*command.split()[1:]).exit_code == int("status 1" in comment), line
