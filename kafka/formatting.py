"""Formatting of brokers, times, durations and counts in reports."""

from datetime import UTC, datetime
from functools import lru_cache

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_000
"""The earliest and latest times that can be shown, in milliseconds."""


@lru_cache(maxsize=1 << 14)
def show_brokers(brokers: tuple[int, ...]) -> str:
    """Return brokers in the format of Kafka's tools."""
    return f"[{','.join(map(str, brokers))}]"


def seconds(milliseconds: int) -> str:
    if milliseconds < 120_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds / 60_000:.0f} min" if milliseconds < 7_200_000 else f"{milliseconds / 3_600_000:.1f} h"


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(min(max(milliseconds, EARLIEST), LATEST) / 1000, UTC)


def when(milliseconds: int) -> str:
    return moment(milliseconds).strftime("%Y-%m-%d %H:%M:%S")


def clock(milliseconds: int) -> str:
    return when(milliseconds)[11:]


def many(number: int, one: str, plural: str = "") -> str:
    return f"{number:,} {one if number == 1 else plural or one + 's'}"


def count_histories(number: int) -> str:
    return many(number, "history", "histories")
