"""What becomes of a consumer in each of KIP-392's four cases, by design and reset policy: one small run a cell.

In all of them any replica may be chosen, and followers keep the high watermark that they received, so that every case is met;
elections are clean. A cell watches one case: which of the
witnesses `case-...` are reached says what may become of a consumer that gets an error there, or none. The archived trace of a cell
shows the worst of that.
"""

from __future__ import annotations

from typing import NamedTuple

from fencepost.invariants.catalogue import Run
from fencepost.invariants.follower_reads import CASES
from fencepost.invariants.protocols import protocol

OUTCOMES = tuple(item.name.removeprefix("case-") for item in CASES)
"""What may become of the consumer, the worst first."""


class Cell(NamedTuple):
    """One cell: design, policy and case; whether epochs are known; what may happen, the worst last; the run."""

    version: str
    policy: str
    case: int
    epochs: str
    outcomes: tuple[str, ...]
    run: Run


_ROWS = """
    kip392-older earliest 1 on 62144 30 waits
    kip392-older latest 1 on 66041 30 waits
    kip392-older none 1 on 38016 25 waits
    kip392-newer earliest 1 on 89132 32 waits,continues
    kip392-newer latest 1 on 93896 30 waits,continues
    kip392-newer none 1 on 55147 28 waits,continues,raises
    kafka-4.1 earliest 1 on 28101 27 waits
    kafka-4.1 latest 1 on 28665 27 waits
    kafka-4.1 none 1 on 20236 24 waits
    kip392-older earliest 2 on 44037 29 continues
    kip392-older latest 2 on 44037 29 continues
    kip392-older none 2 on 41440 29 continues
    kip392-newer earliest 2 on 42930 29 waits,continues
    kip392-newer latest 2 on 42930 29 waits,continues
    kip392-newer none 2 on 40284 29 waits,continues
    kafka-4.1 earliest 2 on 21459 29 continues
    kafka-4.1 latest 2 on 21459 29 continues
    kafka-4.1 none 2 on 21459 29 continues
    kip392-older earliest 3 on 62144 30 resets,skips
    kip392-older latest 3 on 66041 30 resets,skips
    kip392-older none 3 on 38016 25 raises
    kip392-newer earliest 3 on 66693 30 resets,skips
    kip392-newer latest 3 on 70590 30 resets,skips
    kip392-newer none 3 on 40449 26 raises
    kafka-4.1 earliest 3 on 30779 27 continues,resets,skips
    kafka-4.1 latest 3 on 30979 27 continues,resets,skips
    kafka-4.1 none 3 on 22550 24 continues,raises
    kip392-older earliest 4 on 76467 31 continues,replays
    kip392-older latest 4 on 81772 31 continues,replays
    kip392-older none 4 on 47561 27 continues,raises
    kip392-newer earliest 4 on 75642 31 continues,replays
    kip392-newer latest 4 on 80690 31 continues,replays
    kip392-newer none 4 on 46950 27 continues,raises
    kafka-4.1 earliest 4 on 36803 29 continues
    kafka-4.1 latest 4 on 38152 29 continues
    kafka-4.1 none 4 on 26317 28 continues
    kip392-older earliest 2 off 47524 34 replays
    kip392-older latest 2 off 57003 32 resets,skips
    kip392-older none 2 off 28830 27 raises
    kip392-newer earliest 2 off 48020 34 waits,continues
    kip392-newer latest 2 off 57882 32 waits,continues
    kip392-newer none 2 off 30080 27 waits,continues
    kafka-4.1 earliest 2 off 20660 28 continues
    kafka-4.1 latest 2 off 20660 28 continues
    kafka-4.1 none 2 off 20660 28 continues
    kip392-older earliest 4 off 76757 32 resets,replays
    kip392-older latest 4 off 76904 32 resets,skips
    kip392-older none 4 off 30181 24 raises
    kip392-newer earliest 4 off 76307 32 resets,replays
    kip392-newer latest 4 off 75488 32 resets,skips
    kip392-newer none 4 off 30388 24 raises
    kafka-4.1 earliest 4 off 34697 28 continues
    kafka-4.1 latest 4 off 36078 28 continues
    kafka-4.1 none 4 off 25394 27 continues
"""
"""Version, policy, case, whether positions have epochs, distinct states, depth, and what may happen, the worst last; - for never met."""


def _cell(row: str) -> Cell:
    version, policy, case, epochs, distinct, depth, told = row.split()
    outcomes = () if told == "-" else tuple(told.split(","))
    machine = protocol("follower-reads").machine
    size = "records=3 retentions=0" if case == "2" else "records=2 retentions=1"
    words = f"replicas=2 {size} fetch_from=any watched_case={case} policy={policy} position_epochs={epochs}"
    words += " keeps_received=on" if case in ("2", "4") else ""
    words += " selector=given-all" if version == "kip392-older" else ""
    declared = machine.constants.declared()
    end = "" if epochs == "on" else ", no epoch"
    slug = f"cell-{version.removeprefix('kip392-')}-{case}-{policy}{'' if epochs == 'on' else '-no-epoch'}"
    run = Run(
        machine.name,
        {name: int(declared[name].parse(value)) for name, value in (word.split("=") for word in words.split())},
        version=version,
        distinct=int(distinct),
        depth=int(depth),
        properties=tuple(item.name for item in CASES),
        unreached=tuple(item.name for item in CASES if item.name.removeprefix("case-") not in outcomes),
        title=f"case {case}, {policy}{end}",
        trace={f"case-{outcomes[-1]}": f"follower-reads-{slug}.trace"} if outcomes else {},
    )
    return Cell(version, policy, int(case), epochs, outcomes, run)


CELLS: tuple[Cell, ...] = tuple(_cell(row) for row in _ROWS.strip().splitlines())
RUNS: tuple[Run, ...] = tuple(cell.run for cell in CELLS)
