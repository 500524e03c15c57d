"""What becomes of a consumer in each of KIP-392's four cases, by design and reset policy: one small run a cell.

In all of them any replica may be chosen, and followers keep the high watermark that they received, so that every case is met;
elections are clean. Case 2 has three replicas where the epoch is known, so that another leader may be chosen while it lasts. A cell watches one case: which of the
witnesses `case-...` are reached says what may become of a consumer that gets an error there, or none. The archived trace of a cell
shows the worst of that.
"""

from __future__ import annotations

from typing import NamedTuple

from fencepost.invariants.catalogue import Run
from fencepost.invariants.follower_reads_cases import CASES
from fencepost.invariants.protocols import protocol
from fencepost.invariants.runs.client_rows import casebook

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
    kip392-older earliest 1 on 65256 30 waits
    kip392-older latest 1 on 69500 30 waits
    kip392-older none 1 on 40417 25 waits
    kip392-newer earliest 1 on 93280 33 waits,continues,replays
    kip392-newer latest 1 on 98173 30 waits,continues,replays
    kip392-newer none 1 on 57990 28 waits,continues,raises
    kafka-4.1 earliest 1 on 21309 25 waits
    kafka-4.1 latest 1 on 21675 25 waits
    kafka-4.1 none 1 on 16043 22 waits
    kip392-older earliest 2 on 962923 32 continues,replays
    kip392-older latest 2 on 962923 32 continues,replays
    kip392-older none 2 on 912392 32 continues,raises
    kip392-newer earliest 2 on 945658 33 waits,continues,replays
    kip392-newer latest 2 on 945658 33 waits,continues,replays
    kip392-newer none 2 on 894640 32 waits,continues,raises
    kafka-4.1 earliest 2 on 395982 30 continues
    kafka-4.1 latest 2 on 395982 30 continues
    kafka-4.1 none 2 on 395982 30 continues
    kip392-older earliest 3 on 65256 30 resets,skips
    kip392-older latest 3 on 69500 30 resets,skips
    kip392-older none 3 on 40417 25 raises
    kip392-newer earliest 3 on 69788 30 resets,skips
    kip392-newer latest 3 on 74061 30 resets,skips
    kip392-newer none 3 on 42858 26 raises
    kafka-4.1 earliest 3 on 23121 25 continues,resets,skips
    kafka-4.1 latest 3 on 23301 25 continues,resets,skips
    kafka-4.1 none 3 on 17669 23 continues,raises
    kip392-older earliest 4 on 79567 31 continues,replays
    kip392-older latest 4 on 85235 31 continues,replays
    kip392-older none 4 on 49962 27 continues,raises
    kip392-newer earliest 4 on 78737 31 continues,replays
    kip392-newer latest 4 on 84161 31 continues,replays
    kip392-newer none 4 on 49359 27 continues,raises
    kafka-4.1 earliest 4 on 27287 27 continues
    kafka-4.1 latest 4 on 28128 27 continues
    kafka-4.1 none 4 on 20302 26 continues
    kip392-older earliest 2 off 50282 34 replays
    kip392-older latest 2 off 44999 30 resets,skips
    kip392-older none 2 off 31588 27 raises
    kip392-newer earliest 2 off 50794 34 waits,continues
    kip392-newer latest 2 off 45641 30 waits,continues
    kip392-newer none 2 off 32854 27 waits,continues
    kafka-4.1 earliest 2 off 15893 26 continues
    kafka-4.1 latest 2 off 15893 26 continues
    kafka-4.1 none 2 off 15893 26 continues
    kip392-older earliest 4 off 79737 32 resets,replays
    kip392-older latest 4 off 67763 30 resets,skips
    kip392-older none 4 off 32604 24 raises
    kip392-newer earliest 4 off 79301 32 resets,replays
    kip392-newer latest 4 off 66796 30 resets,skips
    kip392-newer none 4 off 32821 24 raises
    kafka-4.1 earliest 4 off 25569 26 continues
    kafka-4.1 latest 4 off 26562 26 continues
    kafka-4.1 none 4 off 19372 25 continues
"""
"""Version, policy, case, whether positions have epochs, distinct states, depth, and what may happen, the worst last; - for never met."""


def _cell(row: str) -> Cell:
    version, policy, case, epochs, distinct, depth, told = row.split()
    outcomes = () if told == "-" else tuple(told.split(","))
    machine = protocol("follower-reads").machine
    small, large = "replicas=2 records=3 retentions=0", "replicas=3 nearest=2 records=3 retentions=0 answers_in_flight=off"
    size = "replicas=2 records=2 retentions=1" if case != "2" else large if epochs == "on" else small
    words = f"{size} fetch_from=any watched_case={case} policy={policy} position_epochs={epochs}"
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
cases = casebook(RUNS, {name: f"case-{name}" for name in OUTCOMES})
