"""Pinned figures are written into the files of runs, and nothing else in these files changes."""

from dataclasses import replace
from importlib import resources

import pytest
from fencepost.api.calls.pins import Figures, pinned, with_figures
from fencepost.invariants.catalogue import RUN_FILES
from fencepost.invariants.run_files import Runs
from fencepost.model.language.errors import UsageError

FILE = '''# A comment.
protocol = "quorum"

[ids]
KR-S4 = "committed-is-the-same-everywhere"
stops = "nobody-fails"
delay = "commit-is-known-in-time"

[[group]]  # another
set = "nodes=3 voters=3"
run."3 voters" = {pin=[77_039, 28]}  # a third
run."3 voters, Q8" = [{set="diverging_high_watermark_counts=on", pin=[0, 0]},
  {fails="""KR-S4 9,
  stops 10""", why="9 and 10 stay here"}]

[[group]]
judges = "delay"
run."clock" = {pin=[3, 4], worst="delay 203"}
run."clock, ignored" = {set="empty_answers_raise_high_watermark=off", pin=[5, 6], fails="delay 18", worst="delay never"}
'''


def figures(name: str) -> Figures:
    """Return the pins of a run in the file above."""
    (run,) = (run for run in Runs({"a file": FILE}).all if run.name == f"quorum {name}")
    return Figures(run.distinct or 0, run.depth or 0, run.violated, run.worst)


@pytest.mark.parametrize("name", RUN_FILES)
def test_writing_what_is_pinned_already_changes_no_character(name: str) -> None:
    text = (resources.files("fencepost.invariants") / "runs" / f"{name}.toml").read_text()
    found = {
        run.name: Figures(run.distinct or 0, run.depth or 0, run.violated, run.worst) for run in Runs({name: text}).all
    }
    assert pinned(name, text, found) == text


def test_counts_depths_and_lengths_change_and_comments_and_layout_stay() -> None:
    found = Figures(77_835, 29, {"committed-is-the-same-everywhere": 11, "nobody-fails": 8}, {})
    made = pinned("a file", FILE, {"quorum 3 voters, Q8": found})
    assert made == FILE.replace("[0, 0]", "[77_835, 29]").replace("KR-S4 9", "KR-S4 11").replace("stops 10", "stops 8")


@pytest.mark.parametrize("worst", [7, "unbounded", "never"])
def test_worst_cases_change_whether_they_are_numbers_or_words(worst: int | str) -> None:
    found = replace(figures("clock, ignored"), worst={"commit-is-known-in-time": worst})
    made = pinned("a file", FILE, {"quorum clock, ignored": found})
    assert made == FILE.replace("delay never", f"delay {worst}")


def test_a_run_with_what_was_found_expects_it() -> None:
    run = next(run for run in Runs({"a file": FILE}).all if run.title == "3 voters, Q8")
    found = Figures(1, 2, {"committed-is-the-same-everywhere": 3, "nobody-fails": 4, "records-are-unique": 5}, {})
    again = with_figures(run, found)
    assert (again.distinct, again.depth) == (1, 2)
    assert again.violated == {"committed-is-the-same-everywhere": 3, "nobody-fails": 4}


def test_a_figure_that_a_group_shares_is_not_changed_for_one_of_its_runs() -> None:
    shared = FILE.replace('judges = "delay"\n', 'judges = "delay"\nworst = "delay 203"\n').replace(
        ', worst="delay 203"', ""
    )
    found = replace(figures("clock"), worst={"commit-is-known-in-time": 204})
    with pytest.raises(
        UsageError, match=r"some figures of 'quorum clock' are given in its group: write them in its row"
    ):
        pinned("a file", shared, {"quorum clock": found})


def test_a_row_of_another_form_is_refused() -> None:
    other = FILE.replace('run."3 voters" = {pin=[77_039, 28]}', 'run."3 voters".pin = [77_039, 28]')
    with pytest.raises(UsageError, match="figures are written into rows of the form"):
        pinned("a file", other, {"quorum 3 voters": figures("3 voters")})
