"""The idioms of the cookbook run, and show what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fencepost.api.asking.model_files import load_protocol
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Verdict

from tests.helpers.places import DOCS

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = DOCS / "examples" / "cookbook"
IDIOMS = sorted(file for file in FOLDER.glob("*.py") if not file.name.startswith("test_"))


def test_there_are_ten_idioms() -> None:
    assert len(list(FOLDER.glob("*.py"))) == 10


@pytest.mark.parametrize("file", IDIOMS, ids=lambda file: file.stem)
def test_an_idiom_holds_as_it_stands(file: Path) -> None:
    found = load_protocol(file)
    made = search(found.machine, found.machine.set_constants({}), found.properties, Options(workers=1))
    assert {item.name: item.verdict for item in made.properties} == {
        item.name: Verdict.HOLDS for item in found.properties
    }
    assert all(made.fired.values())
