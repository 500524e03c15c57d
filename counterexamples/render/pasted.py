"""A trace as a test to paste into a suite of one's own: it needs no file but that of one's own protocol."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.counterexamples.replay import Replay

WIDTH = 100


def render(made: Replay, model: str = "") -> str:
    """Return a Python module with one test; `model` is the file of the protocol, if it is the user's own."""
    trace = made.trace
    subject = f"{trace.protocol.name} {trace.prop.name if trace.prop else 'deadlock'}"
    name = re.sub(r"\W+", "_", subject).strip("_").lower()
    own = f", model={model!r}" if model else ""
    return f'''"""{_prose(trace.title, "")}"""

from fencepost.api import replay_text

HISTORY = """\\
{_quoted(trace.head())}"""


def test_{name}_is_{"shown" if trace.worst else trace.verdict}_by_this_history() -> None:
    """{_prose(trace.why or trace.finding, "    ")}

    Fails when the protocol refuses a step, and then names the guard that refuses it.
    """
    made = replay_text(HISTORY{own})
    assert made.trace.verdict == "{trace.verdict}"
    assert made.path.length == {made.path.length}
'''


def _prose(text: str, indent: str) -> str:
    """Return a sentence as the text of a docstring."""
    whole = _quoted(text if text.endswith(".") else f"{text}.")
    return textwrap.fill(
        whole, WIDTH, initial_indent=" " * (len(indent) + 3), subsequent_indent=indent, break_long_words=False
    ).lstrip()


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
