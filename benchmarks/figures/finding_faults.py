"""Measure the fewest faults with which each finding loses a record: `python -m benchmarks.figures.finding_faults`.

HYP-12 is omitted, because it violates only liveness properties, with any number of faults. Writes
invariants/figures/finding-faults.json.
"""

from typing import Any

from fencepost.api.asking.constants import axes_of
from fencepost.api.calls.faults import faults
from fencepost.cli.views.console import Display
from fencepost.invariants.figures.store import save
from fencepost.invariants.protocols import protocol
from fencepost.site.stale import PROTOCOL, QUESTIONS, constants_in, faults_mark


def _shown(point: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a setting that the table shows."""
    front = [{name: value for name, value in item.items() if name != "steps"} for item in point["front"]]
    shown = {name: point[name] for name in ("setting", "kinds", "most", "least", "undetermined", "states")}
    return {**shown, "constants": {"brokers": point["constants"]["brokers"]}, "front": front}


def main() -> None:
    found = protocol(PROTOCOL)
    rows = {}
    for entry, question in QUESTIONS.items():
        with Display(quiet=False) as display:
            data = faults(
                found,
                prop=question.prop,
                constants=constants_in(question.constants),
                kinds=question.kinds,
                grid=axes_of(found.machine, (f"min_isr={question.min_isr}",)),
                workers=1,
                progress=display,
            ).to_dict()
        rows[entry] = {"grid": [_shown(point) for point in data["grid"]]} if "," in entry else data
    save("finding-faults", {"mark": faults_mark(), "findings": rows})


if __name__ == "__main__":
    main()
