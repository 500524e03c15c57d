"""Lost records: which records are in copies of a partition's log but not on the leader, and whether they were
acknowledged. A record may be lost if a copy contains it, but the leader's log has a later epoch at the same offset. The
record was acknowledged if its offset is below the high watermark of a copy that contains it. Otherwise, a record that a
leader lacks was not acknowledged if every leader since the record was written was elected from the ISR or the ELR, and
no finding contradicts this.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from fencepost.kafka.audit.findings import SORTS, Found
from fencepost.kafka.audit.judging import NO_LEADER
from fencepost.kafka.audit.logs import Compared, Copy, Run
from fencepost.kafka.formatting import clock, many

BAD = ("unclean", "last-known", "none-of-them")
"""Kinds of elections after which the leader may lack acknowledged records."""
REGAINED = "regained-leadership"
DOUBTS = frozenset(
    {name for name in SORTS if name.endswith("-elected") and name != "nobody-elected"}
    | {REGAINED, "unclean-election", "not-electable", "isr-not-sane", "inactive-member", "stale-member"}
    | {"elr-without-replica", "created-twice", "snapshot-differs", "epoch-not-opened"}
)
"""Kinds of findings after which even a leader from the ISR or the ELR may lack acknowledged records."""
PARTS = 100
UNKNOWN = "the metadata log does not show how later leaders were elected"


class Lost(NamedTuple):
    """Offsets of an epoch that the leader lacks, and the copies that have them. `why` is empty if nothing was lost."""

    epoch: int
    first: int
    last: int
    began: int
    ended: int
    copies: list[int]
    acknowledged: bool
    why: str

    @property
    def reported(self) -> bool:
        """Whether the records were acknowledged, or may have been."""
        return self.acknowledged or self.why not in ("", UNKNOWN)


@dataclass
class Partition:
    compared: Compared
    history: list[dict[str, Any]]
    found: list[dict[str, Any]]

    @property
    def copies(self) -> list[Copy]:
        return self.compared.copies

    @property
    def now(self) -> dict[str, Any]:
        return self.history[-1]

    @cached_property
    def elections(self) -> dict[int, dict[str, Any]]:
        return {row["leader_epoch"]: row for row in reversed(self.history)}

    @cached_property
    def ends(self) -> list[int]:
        return [
            max([copy.start, *(last + 1 for _, last, _ in self.batches(number))])
            for number, copy in enumerate(self.copies)
        ]

    def batches(self, number: int) -> Iterator[tuple[int, int, int]]:
        """Yield the first offset, last offset and epoch of each range of batches in a copy."""
        for run in self.compared.runs:
            if run.same[number] >= 0:
                yield run.first, run.last, run.epochs[number]

    def epochs(self, number: int) -> list[tuple[int, int]]:
        """Return where each epoch starts in a copy: at its first batch or, if it has none, where the checkpoint says.
        In a compacted log, the checkpoint takes precedence, because compaction may have removed an epoch's records.
        """
        entries = self.copies[number].epochs
        known = dict(entries) if self.compared.compacted else {}
        for first, _, epoch in self.batches(number) if not known else ():
            known.setdefault(epoch, first)
        known |= {epoch: start for epoch, start in entries if start >= self.ends[number] and epoch not in known}
        return sorted(known.items(), key=lambda item: (item[1], item[0]))

    @cached_property
    def reference(self) -> int:
        """The number of the copy to compare the others with, or -1. It is a copy of the leader's log, made after the
        election. If there is no leader, it is a copy from the broker that is most likely to be elected.
        """
        now = self.now
        led = now["leader"] != NO_LEADER
        able = [now["leader"]] if led else now["isr"] or now["elr"]
        numbers = [
            number
            for number, copy in enumerate(self.copies)
            if copy.broker in able and not copy.mark
            if not led or now["leader_epoch"] in dict(self.epochs(number))
        ]
        return max(numbers, key=lambda number: (self.epochs(number)[-1:], self.ends[number]), default=-1)

    # What the leader lacks

    def lost(self) -> list[Lost]:
        """Return the ranges that the reference copy lacks; merge adjacent ranges of an epoch if a copy has both."""
        made: list[Lost] = []
        for one in (one for run in self.compared.runs if self.reference >= 0 for one in self._lacks(run)):
            last = made[-1] if made else one
            have = [number for number in last.copies if number in one.copies]
            if have and (last.epoch, last.last + 1, *last[6:]) == (one.epoch, one.first, *one[6:]):
                made[-1] = last._replace(last=one.last, ended=max(last.ended, one.ended), copies=have)
            else:
                made.append(one)
        return made

    def _lacks(self, run: Run) -> Iterator[Lost]:
        mine, epochs = run.same[self.reference], self.epochs(self.reference)
        first, led = max(run.first, self.copies[self.reference].start), self.now["leader"] != NO_LEADER
        here = next((epoch for epoch, start in reversed(epochs) if start <= first), -1)
        if mine >= 0 and not self.compared.compacted:
            here = run.epochs[self.reference]
        for group in sorted({same for same in run.same if same >= 0 and first <= run.last} - {mine}):
            epoch, have = run.epochs[group], [number for number, same in enumerate(run.same) if same == group]
            if epoch < 0 or (led and (epoch == here or epoch >= self.now["leader_epoch"])):
                continue  # a later copy may have more of the leader's own epoch
            if self.compared.compacted and here < 0:
                continue
            one = Lost(epoch, first, run.last, run.began, run.ended, have, False, UNKNOWN)
            if led:
                one = one._replace(why=self._doubt(epoch, min(it for it, _ in epochs if it > epoch), have))
            known = max(self._committed(number) for number in have)
            if known > first:
                why = f"the records were acknowledged, because a high watermark was {known:,}"
                yield one._replace(last=min(run.last, known - 1), acknowledged=True, why=why)
            if known <= run.last:
                yield one._replace(first=max(first, known))

    def _committed(self, number: int) -> int:
        """Return a copy's high watermark, or 0 if the log may have been truncated after the watermark was stored."""
        copy = self.copies[number]
        cut = copy.high_watermark > self.ends[number] or any(row["election"] in BAD for row in self.history)
        return copy.high_watermark if copy.stopped or not cut else 0

    def _doubt(self, epoch: int, by: int, have: list[int]) -> str:
        """Return why records that are not on the leader of epoch `by` may have been acknowledged."""
        if not all(one in self.elections for one in range(epoch, by + 1)):
            return UNKNOWN
        opened, leads = self.elections[epoch]["offset"], self.elections[by]
        for row in self.history:
            if opened < row["offset"] <= leads["offset"] and row["election"] in BAD:
                return f"the election at offset {row['offset']:,} is of kind {row['election']}"
        leader, owners = leads["leader"], {self.copies[number].broker for number in have}
        known = {copy.broker for copy in self.copies}
        for item in self.found:
            # a broker that led again may have acknowledged records of its own after that
            own = item["sort"] == REGAINED and (
                item["offset"] == leads["offset"] or known & {*item["brokers"]} - owners
            )
            if item["sort"] in DOUBTS and opened <= item["offset"] <= leads["offset"] and not own:
                return f"{item['sort']} at offset {item['offset']:,}"
        between = {row["leader"] for row in self.history if epoch < row["leader_epoch"] < by} - {NO_LEADER, leader}
        if between <= owners and leader in {self.elections[epoch]["leader"], *owners}:
            return f"broker {leader} and every leader before it had the records"
        return ""

    # texts

    def findings(self) -> Iterator[Found]:
        brokers = [f"broker {copy.broker}" if copy.broker >= 0 else "an unknown broker" for copy in self.copies]
        name = {number: f"{brokers[number]} ({copy.path})" for number, copy in enumerate(self.copies)}
        offset, time = self.now["offset"], self.now["time"]
        for one in self.lost():
            if one.reported:
                epochs = [epoch for epoch, _ in self.epochs(self.reference) if epoch > one.epoch]
                row = self.elections.get(min(epochs, default=-1), self.now)
                who = tuple(self._brokers(one.copies))
                has = ", ".join(name[number] for number in one.copies)
                times = f"{clock(one.began)} to {clock(one.ended)}"
                text = (
                    f"{span(one.first, one.last)} of epoch {one.epoch} ({times}) are on {has} but not on "
                    f"{name[self.reference]}, {self._leads()}; {one.why}"
                )
                sort = "records-lost" if one.acknowledged else "records-may-be-lost"
                yield _found(sort, row["offset"], row["time"], who, text)
        for text, who in self._differences(name):
            yield _found("copies-differ", offset, time, who, text)
        for number, copy in enumerate(self.copies):
            if copy.mark:
                continue  # a log that is being deleted loses its segments one by one
            who = (copy.broker,) if copy.broker >= 0 else ()
            if copy.stopped and copy.high_watermark > self.ends[number]:
                text = f"{name[number]} ends at {self.ends[number]:,}, below its high watermark {copy.high_watermark:,}"
                yield _found("log-below-high-watermark", offset, time, who, text)
            for text in self._damage(number):
                yield _found("copy-damaged", offset, time, who, f"{name[number]}: {text}")
            if text := self._epoch_fault(number):
                yield _found("epochs-differ", offset, time, who, f"{name[number]}: {text}")

    def _leads(self) -> str:
        led = self.now["leader"] != NO_LEADER
        return f"the leader in epoch {self.now['leader_epoch']}" if led else "the broker that may be elected"

    def _differences(self, name: dict[int, str]) -> Iterator[tuple[str, tuple[int, ...]]]:
        for run in self.compared.runs:
            groups = [number for number in sorted(set(run.same) - {-1}) if run.epochs[number] >= 0]
            for one, other in pairwise(sorted(groups, key=lambda number: run.epochs[number])):
                if run.epochs[one] == run.epochs[other]:
                    who = tuple(self._brokers((one, other)))
                    at = f"{span(run.first, run.last)} of epoch {run.epochs[one]}"
                    yield f"{at}: the records on {name[one]} and {name[other]} differ", who
                    return

    def _damage(self, number: int) -> Iterator[str]:
        for note in self.compared.notes:
            if note["copy"] == number and note["bytes"] and (not note["at_end"] or self.copies[number].stopped):
                place = f"position {note['position']:,} of {note['path']}"
                yield f"{many(note['bytes'], 'byte')} at {place}, after offset {note['after']:,}: {note['what']}"
        expected = -1
        for first, last, _ in self.batches(number):
            if 0 <= expected < first:
                yield f"{span(expected, first - 1)} are missing"
            expected = last + 1

    def _epoch_fault(self, number: int) -> str:
        entries = self.copies[number].epochs
        for first, last, epoch in self.batches(number):
            if not entries or epoch > entries[-1][0] or self.compared.compacted:
                return ""
            for at in (first, last):
                said = [one for one, start in entries if start <= at]
                if said and said[-1] != epoch >= 0:
                    return f"offset {at:,} has epoch {epoch}, but epoch {said[-1]} according to leader-epoch-checkpoint"
        return ""

    def notes(self) -> list[tuple[str, bool]]:
        made = [(note, "cannot be read" in note) for copy in self.copies for note in copy.notes]
        if not self.compared.whole:
            made.append(("the copies differ in so many places that they were not read to their ends", True))
        for note in self.compared.notes:
            if not note["bytes"]:
                made.append((f"{note['path']} is {note['what']}", True))
            elif note["at_end"] and not self.copies[note["copy"]].stopped:
                made.append((f"{note['path']}: the last {many(note['bytes'], 'byte')} are an incomplete batch", False))
        for number, copy in enumerate(self.copies):
            epoch = max((epoch for _, _, epoch in self.batches(number)), default=-1)
            if copy.epochs and epoch > copy.epochs[-1][0]:
                made.append((f"the leader-epoch-checkpoint of {copy.path} is older than its segments", False))
            if not copy.stopped and copy.high_watermark > self.ends[number]:
                cut = f"{copy.path} ends at {self.ends[number]:,}, below its high watermark {copy.high_watermark:,}"
                made.append(
                    (f"{cut}: the log's end is missing, or its files were copied while the broker wrote to them", False)
                )
        made += [
            (f"{span(one.first, one.last)} of epoch {one.epoch}: {UNKNOWN}", True)
            for one in self.lost()
            if one.why == UNKNOWN and not one.acknowledged
        ]
        newest = max((epoch for number in range(len(self.copies)) for epoch, _ in self.epochs(number)), default=-1)
        if newest > self.now["leader_epoch"]:
            made.append(
                (
                    f"the copies contain epoch {newest}, but the metadata log ends at epoch {self.now['leader_epoch']}",
                    True,
                )
            )
        return made

    def data(self) -> dict[str, Any]:
        lost = self.lost()
        paths, now = [copy.path for copy in self.copies], self.now
        return {
            "leader": now["leader"],
            "leader_epoch": now["leader_epoch"],
            "reference": paths[self.reference] if self.reference >= 0 else None,
            "copies": [
                {"path": copy.path, "broker": copy.broker, "first": copy.start, "end": self.ends[number],
                 "high_watermark": copy.high_watermark, "epochs": [list(item) for item in self.epochs(number)]}
                for number, copy in enumerate(self.copies)
            ],
            "acknowledged": self._acknowledged(lost),
            "parts": [
                {"first": run.first, "last": run.last, "epochs": sorted({*run.epochs} - {-1}),
                 "copies": [path for path, same in zip(paths, run.same, strict=True) if same >= 0]}
                for run in self.compared.runs if len(set(run.same)) > 1
            ][:PARTS],
            "lost": [
                {**one._asdict(), "copies": [paths[it] for it in one.copies], "brokers": self._brokers(one.copies)}
                for one in lost if one.reported
            ],
            "notes": [text for text, _ in self.notes()],
        }  # fmt: skip

    def _brokers(self, numbers: Iterable[int]) -> list[int]:
        return sorted({self.copies[number].broker for number in numbers} - {-1})

    def _acknowledged(self, lost: list[Lost]) -> list[dict[str, Any]]:
        never = {(one.epoch, one.first) for one in lost if not one.why}
        made: dict[int, dict[str, Any]] = {}
        for run in self.compared.runs:
            for number, (epoch, same) in enumerate(zip(run.epochs, run.same, strict=True)):
                if same < 0 or any(epoch == one and run.first >= at for one, at in never):
                    continue
                row = made.setdefault(epoch, {"epoch": epoch, "first": run.first, "surely": None, "latest": -1})
                if run.last > row["latest"]:
                    have = [at for at, it in enumerate(run.same) if it >= 0 and run.epochs[at] == epoch]
                    row |= {"latest": run.last, "brokers": self._brokers(have)}
                sure = min(run.last, self._committed(number) - 1)
                row["surely"] = max(row["surely"] or 0, sure) if sure >= run.first else row["surely"]
        return [made[epoch] for epoch in sorted(made)]


def span(first: int, last: int) -> str:
    return f"offset {first:,}" if first == last else f"offsets {first:,} to {last:,}"


def _found(sort: str, offset: int, time: int, who: tuple[int, ...], text: str) -> Found:
    return Found(sort, SORTS[sort].severity, offset, time, offset, -1, who, text)
