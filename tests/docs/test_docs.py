"""Blocks and commands of pages run, with the results that the pages show, and pages have few worn words."""

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.asking.model_files import load_protocol
from fencepost.counterexamples.stateful import PROFILES, Profile
from fencepost.explorers.search import search
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language.trees import module_of

from tests.helpers import commands
from tests.helpers.places import DOCS, ROOT

LONG = re.compile(r"check +#|faults replication|--checkpoint")
"""Commands of pages that take more than a few seconds, or leave files behind."""
SLOW = re.compile(r"--format html|check replication|simulate")
MODEL, SUITE = "fetch_from_anyone.py", "test_fetch_from_anyone.py"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)


def lines(*pages: str) -> list[str]:
    return [line for page in pages for block in blocks(page, "sh") for line in block.splitlines()]


def run(line: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    tool, *words = shlex.split(line, comments=True)
    command = [sys.executable, "-m", tool, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=300)


def test_the_model_of_the_first_page_can_be_checked_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(blocks("docs/start.md", "python")[0])
    done = run("fencepost check model.py --json --quiet", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"verdict": "holds"' in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=[pytest.mark.long] * bool(SLOW.search(line)))
        for line in dict.fromkeys(
            line.partition("#")[0].strip()
            for line in lines("README.md", "docs/start.md", "docs/use/ablation.md")
            if line.startswith("fencepost") and not LONG.search(line)
        )
    ],
)
def test_the_commands_of_the_first_pages_are_accepted(line: str) -> None:
    done = commands.fencepost(*shlex.split(line, comments=True)[1:])
    assert done.exit_code in (0, 1), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("line", [*lines("docs/use/walks.md"), *lines("docs/use/check.md")])
def test_the_commands_of_longer_pages_are_accepted(line: str) -> None:
    done = run(line)
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr


def test_blocks_of_pages_are_python_that_runs_and_tests_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "development", Profile("development", 30, fixed=True))
    scope: dict[str, Any] = {}
    for page in ("docs/model/language.md", "docs/use/walks.md"):
        for block in blocks(page, "python"):
            exec(compile(block, page, "exec"), scope)  # noqa: S102 (our own page)
    assert "follower_fetch" in scope
    scope["test_kip320"]()


IDIOMS = sorted(file for file in (DOCS / "examples" / "cookbook").glob("*.py") if not file.name.startswith("test_"))


@pytest.mark.parametrize("file", IDIOMS, ids=lambda file: file.stem)
def test_an_idiom_of_the_cookbook_holds_as_it_stands(file: Path) -> None:
    found = load_protocol(file)
    made = search(found.machine, found.machine.set_constants({}), found.properties, Options(workers=1))
    assert len(made.properties) == len(found.properties)
    assert {item.verdict for item in made.properties} == {Verdict.HOLDS}
    assert all(made.fired.values())


# -- a protocol of one's own


def test_the_page_on_own_models_shows_the_files_that_are_tested() -> None:
    *parts, suite = blocks("docs/model/own-model.md", "python")
    assert len(parts) == 2
    assert all(part in (DOCS / "examples" / MODEL).read_text() for part in parts)
    assert (DOCS / "examples" / SUITE).read_text() == suite


@pytest.mark.long
def test_every_command_of_the_page_on_own_models_ends_as_it_says(tmp_path: Path) -> None:
    for file in (DOCS / "examples").glob("*.py"):
        shutil.copy(file, tmp_path)
    printed = {}
    for line in lines("docs/model/own-model.md"):
        done = run(line, tmp_path)
        status = re.search(r"# .*status (\d)", line)
        assert done.returncode == (int(status[1]) if status else 0), f"{line}\n{done.stdout}\n{done.stderr}"
        printed[line] = done.stdout
    checks = [text for line, text in printed.items() if " check " in line]
    assert checks[0].startswith("`epochs-never-fall-in-a-log` is violated: 11 states.")
    assert re.search(r"violated for broker=\d, offset=1\n", checks[0])
    assert ["epochs-never-fall-in-a-log is violated" in text for text in checks] == [True, True, False]
    assert all(re.search(r"^holds  .*weak-isr", text, re.MULTILINE) for text in checks)
    html = (tmp_path / "epochs-fall.html").read_text()
    assert "require(in_same_epoch(l, leader, f))" in html
    suites = [text for line, text in printed.items() if line.startswith("pytest")]
    assert ["4 passed" in suites[0], "1 passed" in suites[1]] == [True, True]


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
    plain = QUOTED.sub("", text)
    return [plain[max(0, found.start() - 30) : found.end() + 20] for found in WORN.finditer(plain)]


def modules(*rooms: str) -> Iterator[tuple[Path, str]]:
    for room in rooms:
        for file in sorted((ROOT / room).rglob("*.py")):
            yield file.relative_to(ROOT), file.read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_no_worn_words(page: Path) -> None:
    assert worn(page.read_text()) == []


def test_few_messages_and_docstrings_have_worn_words_and_no_docstring_begins_with_what() -> None:
    found, begins = [], re.compile(r'(?:\A|:\n *)"""What\b')
    for file, text in modules(*ROOMS, "model", "invariants"):
        assert not begins.search(text), file
        if file.is_relative_to("model") or file.is_relative_to("invariants") or not WORN.search(text):
            continue
        values = (node.value for node in ast.walk(module_of(text)) if isinstance(node, ast.Constant))
        said = (value for value in values if isinstance(value, str) and " " in value)
        found += [f"{file}: {word}" for value in said for word in worn(value)]
    assert len(found) <= BUDGET, "\n".join(found)


def test_each_file_of_tests_is_run_by_some_part() -> None:
    settings = (ROOT / "pyproject.toml").read_text().partition("testpaths")[2].partition("]")[0]
    run_by_parts = re.findall(r"tests/[\w/]+(?:\.py)?", settings + (ROOT / "tox.ini").read_text())
    files = [str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")]
    assert [file for file in files if not any(f"{file}/".startswith(f"{name}/") for name in run_by_parts)] == []
