"""Fault tables in words: what settings tolerate, and how they break."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.api.asking.quantities import counted
from fencepost.api.topics.claims import Tolerates, faults_in_words, is_weighted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fencepost.api.answers.contract import Value
    from fencepost.api.answers.contract_evidence import BreakingData, PointData

BY_OPERATOR = {
    "reassignments": "a reassignment",
    "cancels": "a reassignment",
    "raises": "a change of min ISR",
    "lowers": "a change of min ISR",
    "elr_disables": "ELR turned off",
}
"""Budgets that an operator's own actions spend, in words."""


def tolerated(point: PointData) -> str:
    """Return how many faults a setting tolerates, in words."""
    if point["undetermined"]:
        return "undetermined"
    claim = Tolerates.of(point)
    if claim is not None:
        return claim.sentence
    return (
        f"none: it fails without any{'' if _all_spent(point) or not point['kinds'] else ' ' + either(point['kinds'])}"
    )


def _all_spent(point: PointData) -> bool:
    """Return whether a history without counted faults is known to be one without any fault at all."""
    return any(item.get("free") == {} for item in point["front"] if not item["faults"])


def breaks_with(point: PointData) -> str:
    """Return every minimal set of faults, with its cost unless each fault costs 1.

    What happened for free in its history is named, and how many states its trace has.
    """
    weighted = is_weighted(point)
    return "; ".join(_broken(item, point["kinds"], weighted=weighted) for item in point["front"])


def _broken(item: BreakingData, kinds: list[str], *, weighted: bool) -> str:
    free = item.get("free")
    shown = words_of(item["faults"], [] if free == {} else kinds)
    shown += f", cost {item['cost']}" if weighted else ""
    return f"{shown}{f', for free {words_of(free)}' if free else ''} ({counted(item['length'], 'state')})"


def words_of(used: dict[str, int], kinds: list[str] | tuple[str, ...] = ()) -> str:
    """Return faults in words: `crashes 2, fences 1`, or `no crash or fence` if only these kinds are counted."""
    return faults_in_words(used) if any(used.values()) or not kinds else f"no {either(kinds)}"


def either(kinds: list[str] | tuple[str, ...]) -> str:
    """Return kinds of faults as alternatives: `crash or fence`."""
    *first, last = [one_of(name) for name in kinds]
    return f"{', '.join(first)} or {last}" if first else last


def one_of(kind: str) -> str:
    """Return the name of one fault of a kind: `crash` of `crashes`, `unclean election` of `unclean_elections`."""
    words = kind.replace("_", " ")
    return words.removesuffix("es") if words.endswith(("sses", "shes", "ches", "xes")) else words.removesuffix("s")


def name_of(shown: Mapping[str, Value]) -> str:
    """Return a setting in a few words, as it is written on the command line."""
    return " ".join(f"{name}={str(value).lower()}" for name, value in shown.items()) or "as set"


def left_out(omission: float) -> str:
    """Return how sure it is that no state was left out, in words; nothing where all states were kept whole."""
    return f", kept as fingerprints: one was left out with a probability of at most {omission:.1g}" if omission else ""
