"""Brokers, times, durations and counts in the form of reports."""

from datetime import UTC, datetime
from functools import lru_cache

EARLIEST, LATEST = -62_135_596_800_000, 253_402_300_799_000
"""The range of dates, in milliseconds."""


@lru_cache(maxsize=1 << 14)
def show_brokers(brokers: tuple[int, ...]) -> str:
    """Return brokers in the format of Kafka's tools."""
    return f"[{','.join(map(str, brokers))}]"


def seconds(milliseconds: int) -> str:
    """Return a duration."""
    if milliseconds < 120_000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds / 60_000:.0f} min" if milliseconds < 7_200_000 else f"{milliseconds / 3_600_000:.1f} h"


def moment(milliseconds: int) -> datetime:
    """Return a time of the log in UTC, limited to the range of dates."""
    return datetime.fromtimestamp(min(max(milliseconds, EARLIEST), LATEST) / 1000, UTC)


def when(milliseconds: int) -> str:
    """Return a time of the log as text."""
    return moment(milliseconds).strftime("%Y-%m-%d %H:%M:%S")


def clock(milliseconds: int) -> str:
    """Return the time of day."""
    return when(milliseconds)[11:]


def many(number: int, one: str, plural: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else plural or one + 's'}"


def count_histories(number: int) -> str:
    """Return a number of histories."""
    return many(number, "history", "histories")
