"""The runs and cases of commit 26dd7bd, where they were written down as Python, are those of today."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

from tests.catalogue_rows import rows

BEFORE = Path(__file__).parent / "data" / "runs-26dd7bd.txt"


def test_every_run_and_every_case_of_before_is_there_with_its_figures() -> None:
    before, today = BEFORE.read_text().splitlines(), list(rows())
    gone = set(before) - set(today)
    assert not gone, "\n".join(
        line for line in unified_diff(before, today, "before", "today", n=0, lineterm="") if line[1:] in gone
    )
