"""The pages on checks: what each guard and each switch of a protocol is for, from the measured matrices."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.matrix import MEANING
from fencepost.counterexamples.render import render
from fencepost.explorers.program.removal import guards
from fencepost.invariants.protocols import PROTOCOLS, protocol
from fencepost.site.pages import kips, tolerance
from fencepost.site.pages.histories import history
from fencepost.site.pages.markdown import NOTICE, ROW, number, row, table
from fencepost.site.pages.matrices import ORDER, best_of, measured
from fencepost.site.pages.vacuity import TELLS, UNBREAKABLE, falsifiable, report, vacuous

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.model.language.machine import Machine
    from fencepost.site.pages.matrices import Found

COUNTED = ("needed", "nothing-broke", "same-states", "bound")
"""The purposes whose guards are counted for each base."""
INTRODUCTION = (
    "Every guard of a protocol was removed in turn, and every switch turned, and the protocol searched again. A guard is *needed* if "
    "a property that holds with it is violated without it. What a page says of the other guards reaches as far as the constants at "
    "which they were removed, and is the most that was found at any of them."
)
COMMANDS = (
    "`fencepost vacuity PROTOCOL --row 'GUARD'` shows a row in full: what was found at each set of constants, and the shortest "
    "history without the guard, as a trace. `fencepost ablate PROTOCOL` makes such a matrix at any constants."
)


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of each page by its path."""
    found = measured()
    return {
        "checks.md": index(),
        **{f"checks/{name}.md": page(name, data) for name, data in found.items()},
        "checks/kips.md": kips.page({name: best_of(data) for name, data in found.items()}),
        "checks/crashes.md": tolerance.page(),
    }


def index() -> Iterator[str]:
    """Yield the lines of the index: how many guards are needed, by protocol."""
    yield from ("# Why every check is there", "", NOTICE, "", INTRODUCTION, "", COMMANDS, "")
    counts = {
        name: Counter(found["purpose"] for found, _ in best_of(data).values()) for name, data in measured().items()
    }
    rows = (
        [f"[{name}](checks/{name}.md)", *(number(count[item] or None) for item in ORDER)]
        for name, count in counts.items()
    )
    yield from table(("protocol", *ORDER), rows, numbers=range(1, 1 + len(ORDER)))
    yield from ("", "[The checks that each KIP added](checks/kips.md) and")
    yield from ("[how many crashes an acknowledged record survives](checks/crashes.md) have pages of their own.", "")
    yield from table(("purpose", "meaning"), ((f"**{name}**", text) for name, text in MEANING.items()))
    others = [name for name in PROTOCOLS if name not in measured()]
    yield from ("", f"No matrix was measured of {', '.join(others)}.", "", *_falsifiable())


def _falsifiable() -> Iterator[str]:
    known, without = falsifiable(), vacuous()
    yield from ("## Guarantees that were seen to fail", "")
    yield (
        f"{len(known) - len(without)} of {len(known)} guarantees that hold were seen to fail in a variant of their protocol, by a run "
        "of the catalogue or without a guard, so none of these holds by its wording alone."
    )
    if without:
        yield from ("", "Not seen to fail:", "")
        yield from (f"- {name}: {UNBREAKABLE.get(name, 'nobody knows why')}" for name in without)


def page(name: str, data: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of the page of a protocol."""
    machine, best = protocol(name).machine, best_of(data)
    yield from (f"# Checks of {name}", "", NOTICE, "", f"{machine.sentence[0].upper()}{machine.sentence[1:]}.", "")
    count = Counter(found["purpose"] for found, _ in best.values())
    counts = ", ".join(f"{count[item]} {item}" for item in ORDER if count[item])
    yield (f"{len(best)} guards and settings: {counts}. What these words mean is in the [index](../checks.md).")
    yield from ("", *_suspicious(name))
    yield from ("## Guards", "", row(("guard", "what it asks for", "purpose", "without it")), row(("---",) * 4))
    known = {item.name: item for item in guards(machine)}
    for item in machine.actions:
        yield row((f"**{item.label}**", f"*{item.sentence}*", "", ""))
        yield from (
            _guard(guard.name, guard.condition, guard.sentence, best[guard.name])
            for guard in known.values()
            if guard.action == item.label and guard.name in best
        )
    yield from ("", *_settings(machine, [found for found in best.values() if found[0]["kind"] == "setting"]))
    yield from _bases(data)
    yield from _example(name, best)


def _guard(name: str, condition: str, sentence: str, found: Found) -> str:
    """Return the row of a guard; its sentence and the constants are left out where the row would get too wide."""
    number_ = name.rpartition(" ")[2]
    purpose = f"**{found[0]['purpose']}**" if found[0]["broken"] else found[0]["purpose"]
    for asks in (f"`{condition}`: {sentence}" if sentence else f"`{condition}`", f"`{condition}`"):
        for how in (without_it(found), without_it(found, where=False)):
            made = row((number_, asks, purpose, how))
            if len(made) <= ROW:
                return made
    return made


def without_it(found: Found, *, where: bool = True) -> str:
    """Return what is violated first, after how many steps, and at which constants; or why nothing was decided, or where steps left a domain."""
    data, base = found
    if not data["broken"]:
        left = re.search(r"\w+\.\w[^:]*(?=: )", data.get("departure", ""))
        return data["why"] or (f"steps leave the domain of `{left[0]}` and go no further" if left else "")
    first, length = next(iter(data["broken"].items()))
    others = len(data["broken"]) - 1
    more = f", {others} more" if others else ""
    return f"{first} after {length - 1} steps{more}" + (f" ({base['run']})" if where else "")


def _settings(machine: Machine, found: list[Found]) -> Iterator[str]:
    if not found:
        return
    declared = machine.constants.declared()
    yield from ("## Switches and choices", "")
    rows = (
        [f"`{item[0]['row']}`", declared[item[0]["constant"]].meaning, item[0]["purpose"], without_it(item)]
        for item in found
        if item[0]["constant"] in declared
    )
    yield from table(("set to", "constant", "purpose", "with it"), rows)
    yield ""


def _bases(data: dict[str, Any]) -> Iterator[str]:
    yield from ("## Constants", "", "Guards were removed at the constants of these runs; the numbers count guards.", "")
    rows = (
        [base["run"], number(base["distinct"]), str(base["depth"]), *(str(_count(base, item)) for item in COUNTED)]
        for base in data["bases"]
    )
    yield from table(("run", "distinct", "depth", *COUNTED), rows, numbers=range(1, 7))
    yield ""


def _count(base: dict[str, Any], purpose: str) -> int:
    return sum(item["purpose"] == purpose and item["kind"] == "guard" for item in base["rows"])


def _suspicious(name: str) -> Iterator[str]:
    """Yield what is suspicious at all constants together."""
    found = report(protocol(name))
    if any(found[key] for key in TELLS):
        yield from ("## What nothing depended on", "")
        for key, text in TELLS.items():
            if found[key]:
                yield f"- {text}: {', '.join(f'`{item}`' for item in found[key])}"
        yield ""


def example_of(best: dict[str, Found]) -> Found | None:
    """Return the guard without which a property is violated soonest, but not at once; None if there is none."""
    shown = [
        found for found in best.values() if found[0]["kind"] == "guard" and len(found[0].get("steps", ())) >= SHORTEST
    ]
    return min(shown, key=lambda item: len(item[0]["steps"]), default=None)


def _example(name: str, best: dict[str, Found]) -> Iterator[str]:
    """Yield one history as a diagram."""
    found = example_of(best)
    if found is None:
        return
    prop = next(iter(found[0]["broken"]))
    yield from (
        f"## Without `{found[0]['row']}`",
        "",
        f"The shortest history to a violation of {prop} ({found[1]['run']}):",
        "",
    )
    yield from ("```mermaid", *render("mermaid", history(name, found)).rstrip().splitlines(), "```", "")


SHORTEST = 3
"""Steps from which on a history is worth a picture."""
