"""A trace as a test to paste runs, and fails when the protocol has changed."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.pasted import WIDTH
from fencepost.counterexamples.replay import follow, write
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import fencepost
from tests.helpers.parameters import few
from tests.helpers.traces import mailbox_trace
from tests.machines import mailbox

FILES = sorted(ARCHIVE.glob("*.trace"))


def run(text: str) -> str:
    scope: dict[str, object] = {}
    exec(compile(text, "pasted.py", "exec"), scope)  # noqa: S102 (what we have just rendered)
    [(name, test)] = [(name, item) for name, item in scope.items() if name.startswith("test_")]
    assert inspect.isfunction(test)
    test()
    return name


@pytest.mark.parametrize("file", few(FILES, 24), ids=lambda file: file.stem)
def test_every_archived_trace_is_a_test_that_passes(file: Path) -> None:
    made = follow(read(file).trace)
    assert made.trace.prop is not None
    name = run(render("pytest", made))
    said = "shown" if made.trace.worst else made.trace.verdict
    assert name == f"test_{made.trace.protocol.name}_{made.trace.prop.name}_is_{said}_by_this_history".replace("-", "_")


def test_a_pasted_test_of_an_own_protocol_finds_its_model_and_fails_when_the_model_has_changed(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "suite").mkdir()
    model = tmp_path / "models" / "mailbox.py"
    model.write_text(inspect.getsource(mailbox))
    trace = mailbox_trace("requests-run-once", version="careless", clients=1, deduplicate=0)
    write(tmp_path / "found.trace", trace)
    output = tmp_path / "suite" / "test_pasted.py"
    shown = ("show", str(tmp_path / "found.trace"), "--model", str(model))
    found = fencepost(*shown, "--format", "pytest", "--output", str(output))
    assert found.exit_code == 0, found.stderr
    assert "model=Path(__file__).parent / '../models/mailbox.py')" in output.read_text()
    scope: dict[str, Any] = {"__file__": str(output)}
    exec(compile(output.read_text(), str(output), "exec"), scope)  # noqa: S102 (what we have just rendered)
    pasted = scope["test_mailbox_requests_run_once_is_violated_by_this_history"]
    pasted()
    model.write_text(inspect.getsource(mailbox).replace("if is_new or not c.deduplicate:", "if is_new:"))
    with pytest.raises(UsageError, match="all steps are possible, but property 'requests-run-once' is not violated at"):
        pasted()


def test_a_pasted_test_of_a_loop_says_why_the_loop_is_fair() -> None:
    text = render("pytest", follow(read(ARCHIVE / "quorum-q4-loop.trace").trace))
    assert (
        "\n    The loop is fair:\n    - weak leader-handles-fetch for each "
        "leader, follower (leader=0, follower=2): taken in step 4;\n"
        "      never enabled for all others: `require(is_sent(s, leader, follower))` refuses after step 3\n" in text
    )
    assert all(len(line) <= WIDTH for line in text.splitlines())
