"""Random machines of the suite find a defect in any pass of an engine."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

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

from tests.random_machines import comparisons
from tests.random_machines.case import Case
from tests.random_machines.drawing import numbered
from tests.random_machines.engines import load

SEEDS = 60
"""Number of machines that the suite draws."""


def hoisting(patch: pytest.MonkeyPatch) -> None:
    """Count one refusal even if a guard refuses before a parameter is chosen."""
    patch.setattr(
        Nesting, "test", lambda self, item: self.found.append(Guarded(self.action.guards[item.number], item, ()))
    )


def packing(patch: pytest.MonkeyPatch) -> None:
    """Pack negative numbers unchanged."""
    true = layout.entries
    patch.setattr(layout, "entries", lambda given: [item._replace(base=0) for item in true(given)])


def masks(patch: pytest.MonkeyPatch) -> None:
    """Turn off the whole guard instead of a part of it."""
    patch.setattr(
        masked.MaskedSearch, "slot", lambda self, guard: self.masks.slots[self.numbers[guard.action, guard.number]][0]
    )


def checks(patch: pytest.MonkeyPatch) -> None:
    true = ranges.Ranges.left
    patch.setattr(
        ranges.Ranges, "left", lambda self, node: ranges.NEVER if isinstance(node, nodes.Store) else true(self, node)
    )


def order_of_bags(patch: pytest.MonkeyPatch) -> None:
    """Leave messages in the order in which they were sent."""
    patch.setattr(bags.Bags, "sort", lambda *_: None)


def liveness(patch: pytest.MonkeyPatch) -> None:
    """Make promises about actions that never happen."""
    true = calls.promises
    patch.setattr(
        calls, "promises", lambda graph, fair, *given: true(graph, replace(fair, masks=fair.masks * 0), *given)
    )


def columns(patch: pytest.MonkeyPatch) -> None:
    """Compare sixteen numbers at once by another order."""
    true = lanes.Lanewise.compared
    patch.setattr(
        lanes.Lanewise, "compared", lambda self, sign, one, other: true(self, {"<": "<="}.get(sign, sign), one, other)
    )


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
    texts = ((numbered(seed), seed) for seed in range(first, first + SEEDS))
    assert any(found(text, seed, ask, tmp_path) for text, seed in texts if word in text.partition("class State")[2])
