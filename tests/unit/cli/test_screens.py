"""First screens of commands, as text. `python -m tests.unit.cli.test_screens` writes them again."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.helpers.commands import fencepost
from tests.helpers.places import MACHINES, ROOT

FOLDER = Path(__file__).parent / "screens"
LINES, COLUMNS = 24, 80
TIME = re.compile(r"\b\d+(\.\d+)? (m?s|min)\b(?= \(|,| of searching| of processor| with|\.|$)", re.MULTILINE)
SCREENS = {
    "loss": "check replication --version kafka-4.1 --set brokers=2",
    "inner-invariant": "check replication --version kafka-4.1 --set brokers=2 --set min_isr=2",
    "two-violations": "check kip101 --set replicas=2",
    "holds": "check kip320 --set replicas=2",
    "repaired": "check replication --version kafka-4.1-repaired --set brokers=2 --set min_isr=2",
    "unreached": "check kip320 --set replicas=1 --engine plain",
    "cut-short": "check kip320 --set replicas=2 --max-states 100 --engine plain",
    "fingerprints": "check kip320 --set replicas=2 --compact",
    "own-model": f"check {MACHINES / 'mailbox.py'} --engine plain",
    "costs": "check 'watermark-propagation kip-392 in time'",
    "for-ever": "check 'leader-discovery kip-951 2 brokers, a new topic, in the end'",
    "catalogue": "catalogue kip101 kip320 quorum",
    "walks": "simulate kip101 --walks 2000 --workers 1",
    "walks-without": "simulate kip320 --walks 100 --workers 1",
    "induction-breaks": "prove kip320 --property leader-in-isr-or-none --set replicas=2 --no-cache --workers 1",
    "runs-of-steps": "prove kip320 --property strong-isr --set replicas=2 --depth 2 --no-cache --workers 1",
    "faults": "faults replication --property acknowledged-survives --set brokers=2 --grid min_isr=1..2",
    "ablation": "ablate kip320 --set replicas=2",
    "difference": "diff kip320 --set replicas=2 --b kip279",
    "no-difference": "diff kip320 --set replicas=1 --b kip320",
    "advice": "advise --replicas 3 --min-isr 2 --kafka 4.1",
}


TITLES = (": the shortest trace has ", ": a trace of ", ", in what clients can see: ", "what happened to ")
"""Words of the line above a trace."""


def screen(command: str) -> str:
    """Return what a command prints, with times that are always the same."""
    words = shlex.split(command)
    fixed = ["--cross-check", "100"] if words[0] == "check" and "plain" not in words else []
    return TIME.sub("0.01 s", fencepost(*words, *fixed).stdout)


@pytest.mark.parametrize("name", SCREENS)
def test_a_first_screen_is_as_it_was_looked_at(name: str) -> None:
    assert screen(SCREENS[name]) == (FOLDER / f"{name}.txt").read_text("utf-8")


@pytest.mark.parametrize("name", SCREENS)
def test_a_first_screen_fits_a_terminal(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text("utf-8")
    answer, _, trace = text.partition(next((title for title in TITLES if title in text), "no trace"))
    assert max(map(len, text.splitlines())) <= COLUMNS
    assert answer.count("\n") <= LINES
    assert trace.count("\n") <= LINES
    if trace:
        assert " ".join(text.split()).startswith(" ".join(text.rsplit("\n\n", 1)[1].split()))


def test_the_readme_shows_the_screen_of_a_loss() -> None:
    verdict, _, _, trace, _ = (FOLDER / "loss.txt").read_text("utf-8").split("\n\n")
    assert f"```\n{verdict}\n\n...\n\n{trace}\n```\n" in (ROOT / "README.md").read_text("utf-8")


def write() -> None:
    """Write every screen, to be read as a diff."""
    FOLDER.mkdir(exist_ok=True)
    for name, command in SCREENS.items():
        (FOLDER / f"{name}.txt").write_text(screen(command), "utf-8")
        sys.stdout.write(f"wrote {FOLDER / name}.txt\n")


if __name__ == "__main__":
    write()
