"""Measure the fewest faults with which each finding loses a record: `python -m benchmarks.figures.finding_faults`.

HYP-12 is omitted, because it violates only liveness, whatever the number of faults. Writes
invariants/figures/finding-faults.json.
"""

from fencepost.api.asking.constants import axes_of
from fencepost.api.calls.faults import faults
from fencepost.cli.views.console import Display
from fencepost.invariants.figures.store import save
from fencepost.invariants.protocols import protocol
from fencepost.site.stale import LOSS, PROTOCOL, QUESTIONS, constants_in, faults_mark


def main() -> None:
    found = protocol(PROTOCOL)
    rows = {}
    for entry, question in QUESTIONS.items():
        with Display(quiet=False) as display:
            rows[entry] = faults(
                found,
                prop=LOSS,
                constants=constants_in(question.constants),
                kinds=question.kinds,
                grid=axes_of(found.machine, (f"min_isr={question.min_isr}",)),
                workers=1,
                progress=display,
            ).to_dict()
    save("finding-faults", {"mark": faults_mark(), "findings": rows})


if __name__ == "__main__":
    main()
