"""Mistakes of a Python programmer in a first model are answered with the place, the cause, and what to write."""

import re
from pathlib import Path

import pytest

from tests import mistakes
from tests.helpers.commands import refused


@pytest.mark.parametrize("item", mistakes.every(), ids=lambda item: item.title)
def test_the_whole_answer_to_a_mistake_is_as_written(item: mistakes.Mistake) -> None:
    assert mistakes.answer(item) == item.answer


def test_all_refusals_of_a_file_come_in_one_run(tmp_path: Path) -> None:
    file = tmp_path / "lease.py"
    text = mistakes.MODEL.replace("    require(is_free(s))\n", "    require(s.holder is None)\n")
    text = text.replace("    s.messages.remove(m)\n", "    s.messages.pop()\n")
    file.write_text(text.replace("return s.written == c.writes", "s.written == c.writes"))
    message = refused("check", str(file))
    assert message.count("Instead, ") == 3
    places = [int(number) for number in re.findall(r"lease\.py:(\d+): ", message)]
    assert (len(places), places) == (3, sorted(places))
