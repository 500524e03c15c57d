"""Records judged by copies of logs: the smallest case in which each rule applies, and one in which it does not."""

from typing import Any

import pytest

pytest.importorskip("pyarrow")

from fencepost.kafka.audit.logs import Compared, Copy, Run
from fencepost.kafka.audit.records import UNKNOWN, Partition

from tests.helpers.replicas import Harm, Played

ELECTIONS = {0: (1, "created"), 1: (2, "isr"), 2: (3, "isr")}
"""By epoch: who led it, and how it was elected, at ten times the epoch as offset."""


def copy(broker: int, epochs: tuple[tuple[int, int], ...], mark: int = -1, **more: Any) -> Copy:
    given = {"stopped": False, "mark": "", "topic_id": "T", "start": 0, **more}
    return Copy(f"/{broker}", broker, "t", 0, given.pop("mark"), given.pop("topic_id"), mark, given.pop("start"),
                given.pop("stopped"), epochs, (), 0, ())  # fmt: skip


def partition(
    copies: list[Copy],
    runs: list[Run],
    elections: dict[int, tuple[int, str]] = ELECTIONS,
    found: tuple[tuple[str, int, int], ...] = (),
    *,
    compacted: bool = False,
) -> Partition:
    history = [
        {
            "offset": 10 * epoch, "time": 0, "leader": leader, "leader_epoch": epoch, "isr": [3], "elr": [],
            "election": how,
        }
        for epoch, (leader, how) in elections.items()
    ]  # fmt: skip
    said = [{"sort": sort, "offset": offset, "brokers": [broker]} for sort, offset, broker in found]
    return Partition(Compared(copies, compacted, runs), history, said)


def tail(epochs: list[int], same: list[int], first: int = 5) -> list[Run]:
    """Return runs with offsets 0 to 4 of epoch 0 everywhere, then five offsets in which the copies differ."""
    return [Run(0, first - 1, 0, 0, [0] * len(same), [0] * len(same)), Run(first, first + 4, 0, 0, epochs, same)]


LEADER = copy(3, ((0, 0), (2, 5)))
ONLY = tail([-1, 0], [-1, 1])
OTHER = tail([2, 0], [0, 1])


@pytest.mark.parametrize("runs", [ONLY, OTHER], ids=["nothing there", "later records there"])
@pytest.mark.parametrize(
    ("having", "more", "lost"),
    [
        pytest.param(copy(1, ((0, 0),)), {}, [], id="a clean election cut it off"),
        pytest.param(copy(1, ((0, 0),), 8), {}, [(5, 7, True)], id="a high watermark was above a part"),
        pytest.param(copy(1, ((0, 0),), 99), {}, [], id="the high watermark is that of a longer log"),
        pytest.param(copy(1, ((0, 0),)), {"elections": {**ELECTIONS, 2: (3, "unclean")}}, [(5, 9, False)],
            id="unclean"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("elr-without-replica", 10, 3),)}, [(5, 9, False)],
            id="a finding in between"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("unclean-election", 30, 3),)}, [], id="a finding afterwards"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("regained-leadership", 10, 1),)}, [(5, 9, False)],
            id="of who regained"),
        pytest.param(copy(1, ((0, 0),)), {"found": (("regained-leadership", 20, 3),)}, [],
            id="of another that regained"),
        pytest.param(copy(2, ((0, 0),)), {"elections": {**ELECTIONS, 0: (3, "created")}}, [(5, 9, False)],
            id="it wrote them"),
        pytest.param(copy(1, ((0, 0),)), {"elections": {2: (3, "isr")}}, [], id="the log does not reach back"),
    ],
)  # fmt: skip
def test_what_the_leader_lacks_is_lost_only_for_a_reason(
    runs: list[Run], having: Copy, more: dict[str, Any], lost: list[tuple[int, int, bool]]
) -> None:
    made = partition([LEADER, having], runs, **more)
    assert [(one.first, one.last, one.acknowledged) for one in made.lost() if one.reported] == lost
    if more.get("elections") == {2: (3, "isr")}:
        assert (f"offsets 5 to 9 of epoch 0: {UNKNOWN}", True) in made.notes()


def test_what_is_no_loss_is_silent() -> None:
    newer = partition([LEADER, copy(1, ((0, 0), (2, 5)), 10)], tail([-1, 2], [-1, 1]))
    deleted = partition([copy(3, ((2, 10),), start=10), copy(1, ((0, 0),), 10)], ONLY)
    compacted = partition([LEADER, copy(1, ((0, 0),), 5)], tail([2, 0], [0, 1], 1), compacted=True)
    late = partition([copy(3, ((0, 0),)), copy(1, ((0, 0),), 10)], ONLY)
    assert [list(one.findings()) for one in (newer, deleted, compacted, late)] == [[], [], [], []]
    assert [one.reference for one in (newer, late)] == [0, -1]


@pytest.mark.parametrize(("harm", "least"), [("", 1), ("unclean", 1), ("disk", 0.95)])
def test_random_histories_are_judged_rightly(harm: Harm, least: float) -> None:
    """A healthy history has no finding, lost records are found, and no other record is reported as acknowledged."""
    lost = found = 0
    for seed in range(400):
        played = Played(f"{harm} {seed}", harm)
        made = played.partition()
        if made.reference < 0 or made.now["leader"] < 0:
            continue
        logs = [log for _, log, _ in played.copies]
        gone = (played.committed & {record for log in logs for record in log}) - set(logs[made.reference])
        reported = {
            logs[one.copies[0]][at]: one.acknowledged
            for one in made.lost()
            if one.reported
            for at in range(one.first, one.last + 1)
        }
        assert {record for record, sure in reported.items() if sure} <= gone, seed
        assert harm or not list(made.findings()), seed
        lost, found = lost + len(gone), found + len(gone & set(reported))
    assert found >= least * lost
    assert bool(lost) == bool(harm)
