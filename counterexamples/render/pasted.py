"""A trace as a test to paste into another test suite. The test needs only the file of the user's protocol."""

import re
import textwrap
from pathlib import PurePath as File

from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.replay import Replay

WIDTH = 100


def render(made: Replay, model: str = "") -> str:
    """Return a Python module with one test. `model` is the path of the user's protocol file, relative to the test."""
    trace = made.trace
    subject = f"{trace.protocol.name} {trace.prop.name if trace.prop else 'deadlock'}"
    name = re.sub(r"\W+", "_", subject).strip("_").lower()
    relative = model and not File(model).is_absolute()
    path = f"Path(__file__).parent / {File(model).as_posix()!r}" if relative else repr(model)
    own = f", model={path}" if model else ""
    paths = "from pathlib import Path\n\n" if relative else ""
    return f'''"""{_prose(trace.title, "")}"""

{paths}from fencepost.api import replay_text

HISTORY = """\\
{_quoted(trace.head())}"""


def test_{name}_is_{"shown" if trace.worst else trace.verdict}_by_this_history() -> None:
    """{_prose(trace.why or trace.finding, "    ")}

    {_fair(made)}The test fails if the protocol refuses a step, and then names the guard that refuses it.
    """
    made = replay_text(HISTORY{own})
    assert made.trace.verdict == "{trace.verdict}"
    assert made.path.length == {made.path.length}
'''


def _fair(made: Replay) -> str:
    lines = [
        textwrap.fill(_quoted(line), WIDTH, initial_indent="    - ", subsequent_indent="      ", break_long_words=False)
        for line in kept(made.trace, made.path)
    ]
    return "\n".join(["The loop is fair:", *lines, "", "    "]) if lines else ""


def _prose(text: str, indent: str) -> str:
    whole = _quoted(text if text.endswith(".") else f"{text}.")
    return textwrap.fill(
        whole, WIDTH, initial_indent=" " * (len(indent) + 3), subsequent_indent=indent, break_long_words=False
    ).lstrip()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
