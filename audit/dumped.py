"""What `kafka-dump-log.sh --cluster-metadata-decoder` prints, as the lines that our own decoder writes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fencepost.audit.logs import Note, with_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BATCH = re.compile(r"baseOffset: (\d+) lastOffset: (\d+) .*?partitionLeaderEpoch: (-?\d+) .*?isControl: (\w+)")
VALID = re.compile(r"isvalid: (\w+)")
RECORD = re.compile(r"^\|? ?offset: (\d+) .*?(?:CreateTime|LogAppendTime): (-?\d+) .*?payload: ?(.*)$")
MOST = 5
"""Lines that are shown of those that are no line of the tool."""


def lines(path: Path, number: int, runs: list[list[int]], notes: list[Note], after: int = -1) -> Iterator[bytes]:
    """Yield a line for each record after an offset; runs of offsets and what could not be understood are added to the lists."""
    last, epoch, control = -1, -1, False
    with path.open(encoding="utf-8", errors="replace") as opened:
        for at, line in enumerate(opened, 1):
            batch = BATCH.search(line)
            record = RECORD.match(line.rstrip("\n"))
            if batch:
                last, epoch, control = int(batch[2]), int(batch[3]), batch[4] == "true"
                valid = VALID.search(line)
                if valid and valid[1] != "true":
                    notes.append(Note("damaged", f"{path}, line {at}: the tool says that the batch at {batch[1]} is not valid"))
                if control:
                    runs[:] = with_run(runs, int(batch[1]), last)
            elif record and not control:
                found = _payload(record[3])
                if found is None:
                    notes.append(Note("refused", f"{path}, line {at}: no record of the metadata log: {record[3][:60]!r}"))
                    continue
                kind, version, about, fields = found
                offset = int(record[1])
                runs[:] = with_run(runs, offset, offset)
                if offset > after:
                    yield f"{number}\t{offset}\t{max(last, offset)}\t{epoch}\t{record[2]}\t{kind}\t{version}\t{about}\t{fields}\n".encode()
            elif (
                not batch
                and not record
                and not line.startswith(("Dumping ", "Log starting ", "Snapshot end", "|"))
                and line.strip()
            ):
                _strange(path, at, line, notes)


def _payload(text: str) -> tuple[str, int, str, str] | None:
    try:
        found = json.loads(text)
        about = f"{found['data'].get('topicId', '')}\t{found['data'].get('partitionId', -1)}"
        return str(found["type"]), int(found["version"]), about, json.dumps(found["data"], separators=(",", ":"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _strange(path: Path, at: int, line: str, notes: list[Note]) -> None:
    if sum(note.what == "strange" for note in notes) < MOST:
        notes.append(Note("strange", f"{path}, line {at}: no line of kafka-dump-log.sh: {line.strip()[:60]!r}"))
