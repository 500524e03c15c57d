"""A wrong name of a protocol, a file or a variant is answered with what to write."""

from pathlib import Path

import pytest

from tests.helpers.commands import refused
from tests.helpers.places import MACHINES

PLANTED = (MACHINES / "planted.py").read_text()


def test_a_name_without_its_ending_points_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "there is no protocol 'vote'. Protocols are" in refused("check", "vote")
    (tmp_path / "vote.py").write_text(PLANTED)
    assert "but a file vote.py in this folder: write vote.py" in refused("check", "vote")


@pytest.mark.parametrize("name", ["ballots", "./ballots", "ballots.txt"])
def test_a_file_that_is_not_called_python_is_told_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(PLANTED)
    assert f"{Path(name)} does not end in .py: " in refused("check", f"./{name}")
    assert "with a name such as ballots.py." in refused("check", f"./{name}")


def test_a_null_byte_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vote.py").write_text("x = 1\n\0\n")
    assert refused("check", "vote.py").startswith("fencepost: vote.py: source code string cannot contain null bytes")


def test_a_default_out_of_its_range_is_told_as_what_the_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vote.py").write_text(PLANTED.replace("bound(2, low=1", "bound(1, low=2"))
    assert (
        "vote.py:11: constant 'seats' has the default 1, which is outside its range: write a default from 2 to 9, or "
        "change the range."
    ) in refused("check", "vote.py")
