"""Every engine agrees with the plain semantics on random machines, which find a defect in any pass of an engine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.explorers.liveness import calls
from fencepost.explorers.native import layout, masked, tiers
from fencepost.explorers.native.compile import Kernels, lowered
from fencepost.explorers.native.compile import load as load_kernels
from fencepost.explorers.native.llvm.objects import CHEAP
from fencepost.explorers.native.lower import bags, lanes
from fencepost.explorers.program.ir import nodes, ranges
from fencepost.explorers.program.ir.nest import Guarded, Nesting
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.symbolic import expressions, terms
from fencepost.model.language.errors import ModelError

from tests.helpers.parameters import few
from tests.random_machines import claims, comparisons
from tests.random_machines.case import Case
from tests.random_machines.constructs import accepting, lines_of_the_checker, typed_constructs, typed_constructs_of
from tests.random_machines.engines import compare_typed, load, with_folder
from tests.random_machines.machines import numbered
from tests.random_machines.run import KINDS, kind_of, look_at

TOGETHER = (11, 49, 14, 131, 221, 63, 114, 9, 168)
"""Machines that together contain every construct: `python -m tests.random_machines cover` finds such a set."""
WRONG = {
    "index": 8, "NONE as an index": 40, "value": 18, "shift by a negative number": 145, "number too long": 143,
    "full bag": 156, "no such message": 38, "full channel": 93, "empty channel": 15,
    "no such message in a channel": 1222, "negative cost": 529,
}  # fmt: skip
"""A machine for each kind of runtime error."""
SMALLEST = (
    2, 4, 7, 8, 9, 14, 15, 17, 19, 25, 26, 27, 43, 45, 46, 49, 51, 52, 58, 59, 66, 67, 69, 70, 71, 77, 82, 87, 93,
    95, 97, 98, 101, 104, 107, 109, 113, 118, 122, 124, 133, 134, 138, 141, 142, 149, 155, 157, 166, 169, 172, 173,
    174, 177, 184, 191, 201, 202, 213, 215, 219, 221, 223, 225, 227, 229, 230, 233, 235, 239, 241, 243, 244, 249,
    251, 254, 258, 259, 262, 263, 267, 268, 270, 277, 278, 281, 284, 285, 286, 287, 291, 294, 306, 308, 315, 316,
    323, 325, 327, 329,
)  # fmt: skip
"""The hundred of the first 325 machines that are compared soonest: with 40 states or more, or with an error."""
ask = with_folder(compare_typed)


def test_machines_have_every_construct_of_the_language(tmp_path: Path) -> None:
    lines, typed = set(), set()
    for seed in TOGETHER:
        with lines_of_the_checker() as seen:
            machine, properties = load(numbered(seed), tmp_path)
        lines |= seen
        typed |= typed_constructs_of(machine, properties)
    assert accepting() - lines == set(), "lines of the checker that accept what no random machine has"
    assert typed_constructs() - typed == set()


def test_machines_meet_every_kind_of_runtime_error(tmp_path: Path) -> None:
    met = set()
    for seed in WRONG.values():
        machine, properties = load(numbered(seed), tmp_path)
        met.add(kind_of(Case(machine, properties, machine.set_constants({}), seed).expected["error"]))
    assert met == set(KINDS) == set(WRONG)


@pytest.mark.parametrize("first", few(range(0, 16, 4), 4))
def test_a_random_machine_means_the_same_as_its_typed_program(first: int) -> None:
    found = {seed: ask(numbered(seed)) for seed in range(first, first + 4)}
    assert {seed: how for seed, how in found.items() if how} == {}
    refused = [seed for seed, how in found.items() if how is None]
    assert len(refused) <= 1, "most of what is drawn is in the language"


@pytest.mark.parametrize("part", range(10))
def test_every_engine_says_of_a_random_machine_what_the_plain_semantics_says(part: int, tmp_path: Path) -> None:
    rows = [look_at(seed, tmp_path) for seed in SMALLEST[part::10]]
    assert {row["seed"]: row["differs"] for row in rows if row.get("differs")} == {}
    assert sum(row.get("compared", 0) for row in rows) > 100


@pytest.mark.parametrize("seed", few([6005274, 6001950, 6006120, 6007815], 4))
def test_what_an_engine_refuses_or_meets_first_is_no_difference(seed: int, tmp_path: Path) -> None:
    """A number without a term, a cost over 64 bits, an error in a level that decides or of another initial state."""
    assert not look_at(seed, tmp_path)["differs"]


DRAWN = 60  # number of machines that the suite draws


def hoisting(patch: pytest.MonkeyPatch) -> None:
    """Count one refusal even if a guard refuses before a parameter is chosen."""

    def alone(self: Nesting, item: Any) -> None:
        self.found.append(Guarded(self.action.guards[item.number], item, ()))

    patch.setattr(Nesting, "test", alone)


def packing(patch: pytest.MonkeyPatch) -> None:
    """Pack negative numbers unchanged."""
    true = layout.entries
    patch.setattr(layout, "entries", lambda given: [item._replace(base=0) for item in true(given)])


def masks(patch: pytest.MonkeyPatch) -> None:
    """Turn off the whole guard instead of a part of it."""

    def whole(self: masked.MaskedSearch, guard: Any) -> int:
        return self.masks.slots[self.numbers[guard.action, guard.number]][0]

    patch.setattr(masked.MaskedSearch, "slot", whole)


def checks(patch: pytest.MonkeyPatch) -> None:
    """Leave out the checks of stores."""
    true = ranges.Ranges.left

    def never(self: ranges.Ranges, node: Any) -> Any:
        return ranges.NEVER if isinstance(node, nodes.Store) else true(self, node)

    patch.setattr(ranges.Ranges, "left", never)


def order_of_bags(patch: pytest.MonkeyPatch) -> None:
    """Leave messages in the order in which they were sent."""
    patch.setattr(bags.Bags, "sort", lambda *_: None)


def liveness(patch: pytest.MonkeyPatch) -> None:
    """Make promises about actions that never happen."""
    true = calls.promises
    patch.setattr(calls, "promises", lambda graph, fair, *more: true(graph, replace(fair, masks=fair.masks * 0), *more))


def columns(patch: pytest.MonkeyPatch) -> None:
    """Compare sixteen numbers at once by another order."""
    true, orders = lanes.Lanewise.compared, {"<": "<="}
    patch.setattr(lanes.Lanewise, "compared", lambda self, sign, *given: true(self, orders.get(sign, sign), *given))


def layouts(patch: pytest.MonkeyPatch) -> None:
    """Pack states for the constants that the code was compiled for."""
    patch.setattr(Kernels, "layout", lambda self, _: self.source.layout)


def proofs(patch: pytest.MonkeyPatch) -> None:
    """Take each difference for a sum in proofs."""
    patch.setitem(expressions._OPERATORS, nodes.BinaryOp.SUBTRACT, terms.plus)


def tiering(case: Case) -> str:
    """Compare a search that switches over to code with another comparison."""
    assert case.kernels.level == CHEAP
    with pytest.MonkeyPatch.context() as patch:
        columns(patch)
        odd = load_kernels(lowered(translate(case.machine, case.of_states), case.constants, normalize=True))
        patch.setattr(tiers, "load", lambda *_: odd)
        return comparisons.changing(case)


def reachable(patch: pytest.MonkeyPatch) -> None:
    """In code for one run's constants, take what steps store for zero."""
    patch.setattr(ranges.Ranges, "store", lambda *_: None)


PLANTED: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Callable[[Case], str], str]] = {
    "hoisting": (hoisting, comparisons.whole, "require"),
    "packing": (packing, comparisons.whole, "State"),
    "masks": (masks, comparisons.masks, " and "),
    "checks": (checks, comparisons.whole, "max"),
    "order of bags": (order_of_bags, comparisons.successors, "box.add"),
    "tiering": (lambda _: None, tiering, "<"),
    "liveness": (liveness, comparisons.whole, "leads_to("),
    "columns": (columns, comparisons.successors, "<"),
    "other constants": (layouts, comparisons.constants, "C.k"),
    "reachable values": (reachable, comparisons.changing, "s."),
    "proofs": (proofs, comparisons.proof, "@always"),
}
"""By pass: the defect, the comparison that finds it, and a word that relevant machines contain."""


FIRST = {"masks": 37, "checks": 18, "order of bags": 65, "liveness": 117, "proofs": 39}
"""The machine that shows it, so that earlier ones need not be searched again."""


def found(text: str, seed: int, ask: Callable[[Case], str], folder: Path) -> bool:
    """Return whether a comparison of a machine shows a difference; a crash of an engine counts."""
    try:
        machine, properties = load(text, folder)
        return bool(ask(Case(machine, properties, machine.set_constants({}), seed)))
    except ModelError:
        return False
    except Exception:  # noqa: BLE001 (an engine that breaks is what is looked for)
        return True


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_found(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plant, ask, word = PLANTED[name]
    plant(monkeypatch)
    first = FIRST.get(name, 0)
    texts = ((numbered(seed), seed) for seed in range(first, first + DRAWN))
    assert any(found(text, seed, ask, tmp_path) for text, seed in texts if word in text.partition("class State")[2])


SEEDS = (60, 120, 300104)
GOES_WRONG = 240  # a machine that raises an error in some cells beside those in which a search reaches its witness
OTHER_ARGUMENTS = claims.ARGUED + 230
SHOWS = {
    "all bounds only add steps": 6, "every cell beside is covered": 6, "every verdict is that of every cell": 0,
    "no verdict changes": 6, "fewer faults are covered": 23, "a fault more is tolerated": 16,
    "nothing else reads a bound": 8, "no bound is reached": 4, "every guard is needed": 0, "no guard is needed": 0,
    "everything is prevented": 0, "all machines are the one that was driven": 1, "all constants were driven": 0,
    "all were driven together": 52, "counts alike are the same steps": 0, "every violation is allowed": 0,
    "a bound cuts a state more": 1,
}  # fmt: skip
"""For each planted mistake a machine about which it makes false claims."""


@pytest.mark.xdist_group("claims")
@pytest.mark.parametrize("seed", few([GOES_WRONG, OTHER_ARGUMENTS], 2))
def test_no_claim_is_refuted(seed: int) -> None:
    assert claims.ask(seed, plants=False)["false"] == []


@pytest.mark.parametrize("name", few(claims.PLANTS, 2))
def test_a_false_claim_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, where, what, instead = claims.PLANTS[name]
    assert claims.ask(SHOWS[name], (kind,))["false"] == []
    monkeypatch.setattr(where, what, instead)
    assert claims.ask(SHOWS[name], (kind,))["false"]


@pytest.mark.long
@pytest.mark.xdist_group("claims")
def test_claims_of_every_kind_are_made_and_could_have_failed() -> None:
    found = claims.summary([claims.ask(seed, plants=False) for seed in SEEDS])
    for kind in claims.QUESTIONS:
        assert found[f"{kind}, could have failed"] > 0
    assert found["false"] == []


@pytest.mark.long
def test_every_planted_false_claim_is_refuted() -> None:
    found = claims.summary([claims.ask(SEEDS[0], plants=True)])
    planted = [name for name in found if name.endswith(": false")]
    assert planted
    assert [name for name in planted if found[name.replace(": false", ": refuted")] != found[name]] == []
