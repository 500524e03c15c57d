"""Random machines: what engines say of them is what the plain semantics says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.random_machines.choices import Choices, shrink
from tests.random_machines.engines import compare_typed, with_folder
from tests.random_machines.machines import machine_text
from tests.typed import Machinery, row_of

if TYPE_CHECKING:
    from fencepost.model.language.ir import nodes

SEEDS = 200
ask = with_folder(compare_typed)


@pytest.mark.parametrize("first", range(0, SEEDS, 25))
def test_a_random_machine_means_the_same_as_its_typed_program(first: int) -> None:
    found = {seed: ask(machine_text(Choices(seed=seed))) for seed in range(first, first + 25)}
    assert {seed: how for seed, how in found.items() if how} == {}
    refused = [seed for seed, how in found.items() if how is None]
    assert len(refused) <= 6, "most of what is drawn is in the language"


def test_a_machine_is_drawn_again_from_what_was_chosen() -> None:
    choices = Choices(seed=7)
    text = machine_text(choices)
    assert machine_text(Choices(choices.made)) == text
    assert machine_text(Choices([])) != text


def test_a_planted_defect_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    true_add = Machinery.add

    def add(self: Machinery, frame: list[Any], item: nodes.Add) -> None:
        """Put the message in flight before its fields are evaluated."""
        bag = self.value(frame, item.bag)
        bag.items.append(row_of(bag.kind.record, self.zero(bag.kind.record), bag.path))
        for fill in item.fills:
            self.value(frame, fill.value)
        bag.items.pop()
        true_add(self, frame, item)

    monkeypatch.setattr(Machinery, "add", add)
    seed = next(seed for seed in range(60) if ask(machine_text(Choices(seed=seed))))
    choices = Choices(seed=seed)
    whole = machine_text(choices)
    small = machine_text(Choices(shrink(choices.made, lambda given: bool(ask(machine_text(Choices(given)))), 120)))
    assert ask(small)
    assert len(small) < len(whole) * 0.8
