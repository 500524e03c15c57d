"""Words that a native reader stumbles over appear on no page, and in few messages and docstrings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost.model.language.trees import module_of

from tests.helpers.places import ROOT

WORN = re.compile(
    r"\b(is none|are none|goes wrong|went wrong|go wrong|in the end|told|tells|whoever|somebody|nobody|what is asked"
    r"|at hand|whose it is|has not any more|by itself alone|(?<!there )(?:is|are) no(?! longer| more\b))\b",
    re.IGNORECASE,
)
"""Better words: does not, raises an error, eventually, reports, any broker that, no broker, requested, current."""
QUOTED = re.compile(r"^```.*?^```|`[^`\n]*`|\"[^\"\n]*\"|“[^”]*”", re.MULTILINE | re.DOTALL)
"""Code and quotations, whose words are not ours."""
ROOMS = ("api", "cli", "counterexamples", "docs/site", "explorers", "kafka")
BUDGET = 9
"""Most messages and docstrings with such a word."""
PAGES = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/**/*.md"))


def worn(text: str) -> list[str]:
    """Return the worn words of a text outside of quotations, each with its context."""
    plain = QUOTED.sub("", text)
    return [plain[max(0, found.start() - 30) : found.end() + 20] for found in WORN.finditer(plain)]


def modules(*rooms: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of rooms, each with its text."""
    for room in rooms:
        for file in sorted((ROOT / room).rglob("*.py")):
            yield file.relative_to(ROOT), file.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_no_worn_words(page: Path) -> None:
    assert worn(page.read_text()) == []


def test_few_messages_and_docstrings_have_worn_words() -> None:
    found = [
        f"{file}: {word}"
        for file, text in modules(*ROOMS)
        if WORN.search(text)
        for node in ast.walk(module_of(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        for word in worn(node.value)
    ]
    assert len(found) <= BUDGET, "\n".join(found)


def test_no_docstring_begins_with_what() -> None:
    assert [
        file for file, text in modules(*ROOMS, "model", "invariants") if re.search(r'(?:\A|:\n *)"""What\b', text)
    ] == []
