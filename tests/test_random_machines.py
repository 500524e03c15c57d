"""Random machines: what engines say of them is what the plain semantics says."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from fencepost.explorers.native.search import search as native
from fencepost.explorers.plain import search as plain

from tests.random_machines.choices import Choices, shrink
from tests.random_machines.engines import compare_searches, compare_typed, with_folder
from tests.random_machines.machines import machine_text
from tests.typed import Machinery, row_of

if TYPE_CHECKING:
    from fencepost.explorers.verdict import Options, Result
    from fencepost.model.language import Constants, Machine, Property
    from fencepost.model.language.ir import nodes

SEEDS = 200
ask = with_folder(compare_typed)


@pytest.mark.parametrize("first", range(0, SEEDS, 25))
def test_a_random_machine_means_the_same_as_its_typed_program(first: int) -> None:
    found = {seed: ask(machine_text(Choices(seed=seed))) for seed in range(first, first + 25)}
    assert {seed: how for seed, how in found.items() if how} == {}
    refused = [seed for seed, how in found.items() if how is None]
    assert len(refused) <= 6, "most of what is drawn is in the language"


@pytest.mark.parametrize("first", range(0, SEEDS, 25))
def test_a_search_in_compiled_code_finds_what_the_plain_search_finds(first: int) -> None:
    compiled = with_folder(partial(compare_searches, other=native))
    found = {seed: compiled(machine_text(Choices(seed=seed))) for seed in range(first, first + 25)}
    assert {seed: how for seed, how in found.items() if how} == {}


def test_whole_searches_are_compared() -> None:
    def elsewhere(machine: Machine, _: Constants, properties: tuple[Property, ...], options: Options) -> Result:
        return plain(machine, machine.set_constants({"n": 3, "k": 4, "b": 3}), properties, options)

    same, other = (with_folder(partial(compare_searches, other=search)) for search in (plain, elsewhere))
    texts = [machine_text(Choices(seed=seed)) for seed in range(20)]
    assert not any(map(same, texts))
    assert sum(bool(other(text)) for text in texts) > 3


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
