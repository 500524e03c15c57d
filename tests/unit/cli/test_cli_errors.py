"""Every user error ends as one message on stderr: what was given, why it is refused, what to write."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fencepost.api.asking.constants import axes_of
from fencepost.cli.commands.options import Count
from fencepost.cli.main import run
from fencepost.invariants.protocols import protocol

from tests.helpers.blocks import whole
from tests.helpers.commands import fencepost, refused
from tests.helpers.places import MACHINES, ROOT
from tests.helpers.written import HEAD

KIP320 = "from fencepost.model.lineage.kip320 import MACHINE"
REFUSED = Path(__file__).with_name("refused.txt").read_text("utf-8").replace("MACHINES/", f"{MACHINES}/")
"""Commands, each followed by its message, in which three dots stand for any text."""


@pytest.fixture
def counter(tmp_path: Path) -> Any:
    """Return a function that writes a machine counting to three, with changes, and returns its path."""

    def write(*changes: str) -> str:
        text = COUNTER
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "mine.py").write_text(text)
        return str(tmp_path / "mine.py")

    return write


@pytest.mark.parametrize(
    "case", re.split(r"^\$ ", REFUSED, flags=re.MULTILINE)[1:], ids=lambda case: case.partition("\n")[0]
)
def test_bad_input_ends_with_status_2_and_one_message(case: str) -> None:
    command, *lines = case.strip().split("\n")
    result = fencepost(*shlex.split(command))
    any_text = ".*".join(map(re.escape, " ".join(lines).split("...")))
    assert re.fullmatch(f"fencepost: {any_text}\n", result.stderr, re.DOTALL), result.stderr
    assert result.stdout == ""
    assert result.exit_code == 2


def test_numbers_are_written_as_people_write_them() -> None:
    read = [Count(1).convert(text, None, None) for text in ("20m", "1e6", "1.5k", "100_000", "7")]
    assert read == [20_000_000, 1_000_000, 1500, 100_000, 7]
    axes = axes_of(protocol("replication").machine, ["min_isr=1..3", "elr=on,off"])
    assert axes == {"min_isr": [1, 2, 3], "elr": [1, 0]}


def test_help_has_groups_and_goes_by_its_name_too() -> None:
    helped = fencepost("help", "check").output
    assert helped == fencepost("check", "--help").output
    assert re.findall(r"^(\w+):$", helped, re.MULTILINE) == ["Model", "Search", "Spark", "Catalogue", "Output"]
    assert "\b" not in fencepost("mcp", "--help").output, "no control characters"
    bare = fencepost()
    assert (bare.exit_code, bare.stdout.startswith("Usage: fencepost [OPTIONS] [COMMAND]")) == (0, True)


def test_a_program_is_not_replaced_by_what_a_command_writes(tmp_path: Path) -> None:
    model = tmp_path / "lock.py"
    model.write_text(KIP320)
    other = tmp_path / "link.trace"
    other.symlink_to(model)
    for output in (model, other):
        said = refused("check", str(model), "--trace", str(output))
        assert said == f"fencepost: --trace names {output}, a Python file that already exists. Choose another file.\n"
    assert model.read_text().startswith("from")


def test_what_show_reads_is_not_replaced(counter: Any, tmp_path: Path) -> None:
    model, trace = Path(counter("number < 10", "number < 2")), tmp_path / "a.trace"
    assert fencepost("check", str(model), "--trace", str(trace)).exit_code == 1
    before = model.read_text(), trace.read_text()
    shown = ["show", str(trace), "--model", str(model)]
    for output, form in ((model, "pytest"), (model, "html"), (trace, "mermaid")):
        result = fencepost(*shown, "--format", form, "--output", str(output))
        assert (result.exit_code, f"--output names {output}" in result.stderr) == (2, True)
    assert (model.read_text(), trace.read_text()) == before
    test = tmp_path / "test_it.py"
    for _ in range(2):
        assert fencepost(*shown, "--format", "pytest", "--output", str(test)).exit_code == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("MACHINE = = 1", (":1: invalid syntax.\n  MACHINE = = 1\n            ^\nInstead, "
            "correct the line so that Python can parse it.")),
        ("def f():\n    return (1", (":2: '(' was never closed.\n  return (1\n         ^\nInstead, "
            "correct the line so that Python can parse it.")),
        ("import no_such_module",
            (":1: ModuleNotFoundError: No module named 'no_such_module'. Python must be able to run the file "
            "before the model can be read.\n  import no_such_module\n  ^^^^^^^^^^^^^^^^^^^^^")),
        (KIP320, " defines no PROPERTIES: assign a tuple of the results of @always, @step and @sometimes to it."),
        (f"{KIP320}\nfrom fencepost.invariants.lineage import weak_isr\nPROPERTIES = (weak_isr, weak_isr)",
            ": PROPERTIES contains two properties named 'weak-isr': give each a different name."),
    ],
)  # fmt: skip
def test_a_model_file_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    assert refused("check", str(file)) == f"fencepost: {file}{message}\n"


@pytest.mark.parametrize("options", [[], ["--compact"], ["--engine", "plain"]], ids=["native", "compact", "plain"])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    require(s.epoch[broker] < 3)\n", "",
            "advance broker=0: State.epoch[0]: 4 is out of its domain 0..3. Guard the step"),
        ("for b in s.epoch)\n", "for b in s.epoch) and s.epoch[s.epoch[0] - s.epoch[1]] < 2\n",
            ("property 'close-together': State.epoch: NONE used as an "
            "index: the array has 2 elements, numbered from 0. Guard the step")),
    ],
    ids=["step", "property"],
)  # fmt: skip
def test_a_model_that_leaves_a_domain_is_shown_with_the_state_and_the_steps_to_it(
    tmp_path: Path, options: list[str], old: str, new: str, said: str
) -> None:
    text = (ROOT / "docs" / "start.md").read_text().partition("```python\n")[2].partition("```")[0]
    assert text.count(old) == 1
    file = tmp_path / "mine.py"
    file.write_text(text.replace(old, new))
    result = fencepost("check", str(file), "--quiet", *options)
    message, line, caret, way = result.stderr.split("\n", 3)
    state, steps = re.split(r" steps?:\n", way)
    taken = re.findall(r"^\d+ advance broker=(\d)$", steps, re.MULTILINE)
    reached = [taken.count(str(broker)) for broker in range(2)]
    assert re.match(rf"fencepost: .*mine\.py:\d+: {re.escape(said)}", message)
    assert set(caret) == {" ", "^"}
    assert "s.epoch[" in line[caret.find("^") : len(caret)]
    assert state == f"In the state\n  epoch=[{reached[0]},{reached[1]}]\nafter {len(taken)}"
    assert reached == ([3, 3] if not new else [0, 1])
    assert result.exit_code == 2


@pytest.mark.parametrize("options", [[], ["--compact"], ["--engine", "plain"]], ids=["native", "compact", "plain"])
def test_a_violation_that_was_found_before_a_domain_is_left_is_told_first(counter: Any, options: list[str]) -> None:
    file = counter("    require(s.number < c.n)\n", "", "number < 10", "number < 2")
    result = fencepost("check", file, *options, "--json", "--quiet")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["verdict"], data["properties"][0]["length"]) == (1, "violated", 3)
    assert data["why_stopped"] == "the model raised an error in a step or a property"
    [note] = (item for item in data["notes"] if "out of its domain" in item)
    assert "count: State.number: 4 is out of its domain 0..3. Guard the step" in note
    steps = [f"{number + 1} count\n  number {number} -> {number + 1}" for number in range(3)]
    assert note.endswith("\n\n".join(["after 3 steps:\ninitial\n  number=0", *steps]))
    page = CliRunner(env={"COLUMNS": "500"}).invoke(run, ["check", file, *options, "--quiet"]).stdout
    said = ("small is violated: the shortest", "The search ended because the model raised an error", f"{file}:")
    assert sorted(said, key=page.index) == list(said)


def test_a_violation_that_only_larger_bounds_have_counts(counter: Any, tmp_path: Path) -> None:
    file = counter("(s.number < c.n)", "(s.number < c.n, bound=C.n)", "number < 10", "number < 5")
    asked = ["check", file, "--quiet", "--grow", "20s"]
    result = fencepost(*asked, "--junit", str(tmp_path / "j.xml"))
    lines = result.stdout.splitlines()
    assert (result.exit_code, "violated with n=5" in result.stdout) == (1, True)
    assert lines[0].startswith(lines[-1])
    assert lines[-1].startswith("Violated with larger bounds: `")
    assert 'failures="1"' in (tmp_path / "j.xml").read_text()
    again = fencepost(*asked, "--set", "n=2", "--expect", "violated", "--json")
    assert (again.exit_code, json.loads(again.stdout)["verdict"]) == (0, "violated")
    assert fencepost(*asked[:3]).exit_code == 0


def test_a_search_that_was_kept_is_not_replaced(counter: Any, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    asked = ["check", counter(), "--checkpoint", str(folder), "--max-states", "2"]
    first, again, on = (fencepost(*asked, *more) for more in ([], [], ["--resume"]))
    assert [first.exit_code, again.exit_code, on.exit_code] == [3, 2, 3]
    assert again.stderr == (
        f"fencepost: {folder} contains the checkpoint of a search: "
        "write `--resume` to continue it, or name an empty folder.\n"
    )


COUNTER = HEAD + whole('''
class State(Record):
    number: Annotated[int, Range(0, C.n)]
@action()
def count(s, c):
    """Count on."""
    require(s.number < c.n)
    s.number += 1
@always
def small(s, c) -> bool:
    """The number stays below ten."""
    return s.number < 10
''')
