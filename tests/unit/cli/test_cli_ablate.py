"""`fencepost ablate` reports every guard's purpose, saves finished rows, and shows the trace of every cell."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.evidence.ablation import Ablation, Row, RowOutcome
from fencepost.explorers.running.interrupts import BY_KEYBOARD
from fencepost.explorers.verdict import Result

from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.places import MACHINES
from tests.helpers.written import file_of

PLANTED = str(MACHINES / "planted.py")
pytestmark = pytest.mark.xdist_group("planted")
LEAVES = """
class State(Record):
    x: Annotated[int, Range(0, 2)]
@action()
def go(s, c):
    require(s.x < 1)
    s.x += 1
@always
def small(s, c):
    return s.x < 3
"""


def ablated(*more: str) -> dict[str, Any]:
    return data_of(fencepost("ablate", PLANTED, "--json", "--quiet", "--workers", "1", *more))


def test_each_cell_has_a_trace_that_replays_and_is_on_the_page_and_what_is_suspicious_is_named(tmp_path: Path) -> None:
    data = ablated("--trace", str(tmp_path / "traces"), "--html", str(tmp_path / "matrix.html"))
    assert data["asked"] == [item["name"] for item in data["properties"] if item["kind"] != "sometimes"]
    assert all(list(row["cells"]) == data["asked"] for row in data["rows"])
    found, idle = data["suspicions"], set(data["suspicions"]["idle"])
    assert (found["never_violated"], found["dead"]) == (["tickets-are-counted"], ["burn-down"]), "as planted"
    assert {"sell 2", "enter 3"} <= idle
    assert not idle & {"enter 1", "enter 1a", "enter 4", "sell 1"}
    cell = next(row for row in data["rows"] if row["row"] == "enter 1a")["cells"]["nobody-walks-through-a-shut-door"]
    assert (cell["verdict"], cell["length"], cell["steps"]) == ("violated", 3, ["sell", "enter guest=1"])
    files = sorted(map(str, (tmp_path / "traces").iterdir()))
    violated = [cell for row in data["rows"] for cell in row["cells"].values() if "length" in cell]
    assert files == sorted(cell["file"] for cell in violated)
    done = fencepost("replay", "--model", PLANTED, *files)
    assert done.exit_code == 0, done.output
    assert f"{len(files)} of {len(files)} traces replayed." in done.stdout
    text = (tmp_path / "matrix.html").read_text()
    opened = set(re.findall(r'<td class="cell"><a [^>]*href="#(\S+?)"', text))
    assert opened == set(re.findall(r'div class="trace" id="(\S+?)"', text))
    assert len(opened) == len(violated)
    assert not re.search(r"<link|src=|https?:", text)


def test_the_page_names_steps_that_left_a_domain_and_are_not_followed(tmp_path: Path) -> None:
    page = tmp_path / "matrix.html"
    assert fencepost("ablate", str(file_of(LEAVES, "leaves")), "--quiet", "--html", str(page)).exit_code == 0
    pattern = r'id="(\S+)" class="nothing-broke">.*?not followed: (.*?)</div>'
    noted = re.findall(pattern, page.read_text(), re.DOTALL)
    assert noted == [("go-1", "go: State.x: 3 is out of its domain 0..2.")]


def test_finished_rows_are_taken_from_the_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("ablate", PLANTED, "--workers", "1", "--checkpoint", str(tmp_path))
    whole, begun = Ablation.explore, []

    def cut(self: Ablation, row: Row) -> RowOutcome:
        begun.append(row)
        if len(begun) > 4:
            self.ask(BY_KEYBOARD)
        return whole(self, row)

    with monkeypatch.context() as patch:
        patch.setattr(Ablation, "explore", cut)
        fencepost(*asked)
    kept = len(list(tmp_path.glob("*.json")))
    again = fencepost(*asked, "--resume")
    assert (kept, again.exit_code) == (4, 0)
    assert f"4 of 15 rows from the checkpoint in {tmp_path}" in again.stderr
    assert "planted: 11 rows" in again.stderr
    assert again.stdout == fencepost("ablate", PLANTED).stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"purpose": "implied"', '"purpose": "needed"'),
        lambda text: re.sub(', "sum": "[^"]*"', "", text),
        lambda text: text[: len(text) // 2],
        lambda _: "[]",
    ],
)
def test_a_row_that_was_edited_is_refused_by_name(change: Callable[[str], str], tmp_path: Path) -> None:
    asked = ("ablate", PLANTED, "--quiet", "--guard", "enter 3", "--guard", "enter 4", "--checkpoint", str(tmp_path))
    fencepost(*asked)
    file = next(tmp_path.glob("enter-3*"))
    file.write_text(change(file.read_text()))
    assert "enter-3.json: this checkpoint file is missing or damaged" in refused(*asked, "--resume")
    assert fencepost(*asked[:-2]).exit_code == 0


def test_a_folder_without_rows_of_this_question_is_no_checkpoint(tmp_path: Path) -> None:
    asked = ("ablate", PLANTED, "--guard", "enter 3", "--checkpoint", str(tmp_path))
    said = f"fencepost: there is no checkpoint in {tmp_path}: run once with `--checkpoint {tmp_path}`, or "
    assert refused(*asked, "--resume").startswith(said)
    fencepost(*asked)
    refusal = refused(*asked, "--resume", "--set", "tickets=2")
    assert f"the checkpoint in {tmp_path} belongs to another question" in refusal
    more = fencepost(*asked[:2], "--guard", "enter 4", *asked[4:], "--resume")
    assert (more.exit_code, "0 of 1 row from the checkpoint" in more.stderr) == (0, True)


def test_single_rows_can_be_asked_for() -> None:
    data = ablated("--guard", "enter 4", "--guard", "strict=off", "--guard", "seats=1", "--also", "seats=1")
    rows = {"enter 4": "needed", "strict=off": "needed", "seats=1": "nothing-broke"}
    assert {row["row"]: row["purpose"] for row in data["rows"]} == rows


def test_a_row_that_is_not_decided_gives_the_status_of_undetermined() -> None:
    found = fencepost("ablate", PLANTED, "--quiet", "-v", "--guard", "sell 1", "--max-states", "5")
    assert (found.exit_code, "; 1 is undetermined" in found.stdout.splitlines()[0]) == (3, True)
    assert "undetermined  1" in found.stdout
    assert "the limit of 5 states was reached" in found.stdout


def test_a_property_that_the_whole_protocol_violates_is_said_to_say_nothing() -> None:
    found = fencepost("ablate", PLANTED, "--quiet", "-v", "--without", "strict", "--guard", "enter 1b")
    assert found.exit_code == 1
    assert "`guests-have-seats` is violated by the unmodified protocol" in found.stdout
    assert "guests-have-tickets 3" in found.stdout
    assert "needed  1: another property is violated without the guard" in found.stdout


def test_no_row_is_run_where_the_whole_protocol_violates_all_that_was_asked() -> None:
    found = fencepost("ablate", PLANTED, "--quiet", "--without", "strict", "--property", "guests-have-seats")
    told = " ".join(found.stdout.split())
    assert (found.exit_code, "undetermined" in told) == (1, False)
    assert "already violates every property that was checked. Not run: 15 of 15 rows." in told


def test_an_interrupt_before_the_first_row_gives_a_partial_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Ablation.explore_whole

    def cut(self: Ablation) -> Result:
        self.ask(BY_KEYBOARD)
        return whole(self)

    monkeypatch.setattr(Ablation, "explore_whole", cut)
    found = fencepost("ablate", PLANTED, "--quiet")
    assert found.exit_code == 3
    told = " ".join(found.stdout.split())
    assert "Partial: SIGINT was received while the unmodified protocol was searched. Not run: 15 of 15 rows." in told


WANDERER = str(
    file_of(
        """
class C(Constants):
    far = bound(2, low=1, high=5, meaning="steps from the start to home")
    wavering = switch(default=False, meaning="they may turn back before they are home")
class State(Record):
    place: Annotated[int, Range(0, C.far)]
@action()
def walk(s, c):
    require(s.place < c.far)
    s.place += 1
@action()
def turn_back(s, c):
    require(c.wavering)
    require(s.place > 0)
    require(s.place < c.far)
    s.place -= 1
def is_home(s, c):
    return s.place == c.far
@always
def place_exists(s, c):
    return 0 <= s.place <= c.far
comes_home = leads_to("comes_home", "They come home.", when=None, then=is_home, fair=(weak(walk),))
PROPERTIES = (place_exists, comes_home)
""",
        "wanderer",
    )
)
"""A walk home in which a guard prevents walking to and fro for ever."""


def test_a_guard_that_protects_only_what_must_happen_in_the_end_is_told_apart() -> None:
    found = data_of(fencepost("ablate", WANDERER, "--json", "--quiet", "--liveness"))
    rows = {row["row"]: row for row in found["rows"]}
    assert found["liveness"] == {"asked": ["comes-home"], "holding": ["comes-home"], "violated": []}
    for name in ("turn-back 1", "wavering=on"):
        assert (rows[name]["purpose"], rows[name]["liveness"]) == ("liveness", ["comes-home"])
    assert rows["walk 1"]["purpose"] == "bound"
    assert "turn-back 1" not in found["suspicions"]["idle"]
    without = data_of(fencepost("ablate", WANDERER, "--json", "--quiet"))
    assert "turn-back 1" in without["suspicions"]["idle"]
    assert next(row for row in without["rows"] if row["row"] == "turn-back 1")["purpose"] == "same-states"


def test_a_leads_to_property_alone_is_judged_with_all_that_must_hold() -> None:
    options = ("--json", "--quiet", "--property", "comes-home")
    found = data_of(fencepost("ablate", WANDERER, *options, "--liveness"))
    assert (found["asked"], found["liveness"]["asked"]) == (["place-exists"], ["comes-home"])
    said = "With `--liveness`, leads-to and at-most properties count too."
    assert said in fencepost("ablate", WANDERER, *options).stderr


def test_an_at_most_property_may_need_a_guard(tmp_path: Path) -> None:
    text = Path(WANDERER).read_text().replace("leads_to(", "at_most(", 1)
    text = text.replace("when=None,", "when=is_anywhere, costs={walk: 1}, bound=C.far,")
    text = text.replace("@always\n", "def is_anywhere(s, c):\n    return True\n@always\n")
    (tmp_path / "costs.py").write_text(text)
    found = data_of(fencepost("ablate", str(tmp_path / "costs.py"), "--json", "--quiet", "--liveness"))
    assert {row["row"] for row in found["rows"] if row["purpose"] == "liveness"} == {"turn-back 1", "wavering=on"}


def test_what_does_not_happen_in_the_end_of_the_whole_machine_is_told() -> None:
    asked = ("ablate", WANDERER, "--with", "wavering", "--liveness")
    found = fencepost(*asked)
    said = "`comes-home` is violated by the unmodified protocol, so the rows say nothing about it."
    assert (found.exit_code, said in " ".join(found.stdout.split())) == (1, True)
    short = data_of(fencepost(*asked, "--json", "--quiet"))
    assert short["liveness"] == {"asked": ["comes-home"], "holding": [], "violated": ["comes-home"]}


def test_behaviours_of_the_whole_machine_are_judged_before_its_rows(tmp_path: Path) -> None:
    """Rows of a large machine take hours, so violations of the whole machine are reported first."""
    file = tmp_path / "far.py"
    file.write_text(Path(WANDERER).read_text().replace("s.place == c.far\n", "1 << (c.far - 1 - s.place) == 1\n"))
    found = fencepost("ablate", str(file), "--liveness")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "property 'comes-home': negative shift count" in found.stderr
    assert "rows" not in found.stderr
