"""Memory sizes and durations, parsed and formatted."""

import re
from collections.abc import Mapping, Sequence

from fencepost.model.language.errors import UsageError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|min|m|h|d)")


def parse_size(text: str, option: str) -> int:
    """Return the number of bytes in a size such as `8G`, `512M` or `1.5GiB`, whose units are powers of 1024."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].upper()]) if found else 0
    if size <= 0:
        raise UsageError(
            f"{option} {text!r} is not an amount of memory: expected a positive number with K, M, G or T, such as 8G."
        )
    return size


def parse_duration(text: str, option: str) -> float:
    """Return the seconds in a duration such as `10m`, `90s`, `1h30m` or `500ms`. The default unit is seconds."""
    word = text.strip().lower().replace(" ", "")
    if re.fullmatch(r"\d+(\.\d+)?", word):
        word += "s"
    parts = _PART.findall(word)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if seconds <= 0 or "".join(number + unit for number, unit in parts) != word:
        raise UsageError(
            f"{option} {text!r} is not a duration: expected a positive number with s, m or h, such as 10m or 1h30m."
        )
    return seconds


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence, such as `one, two and three`."""
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def show_size(size: float) -> str:
    """Return a size as text, in the largest unit for which the number is at least 1."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def show_seconds(seconds: float) -> str:
    """Return a duration as text, rounded for readability."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def show_rate(count: int, seconds: float, noun: str) -> str:
    """Return a rate as text, rounded, such as `1.05 M states/s`."""
    rate = count / seconds if seconds > 0 else 0.0
    for bound, unit in ((1e6, "M "), (1e3, "k ")):
        if rate >= bound:
            return f"{rate / bound:.3g} {unit}{noun}/s"
    return f"{rate:.0f} {noun}/s"


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, such as `1 state` or `12 states`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def in_values(values: Mapping[str, object]) -> str:
    """Return constants with their values as text, such as `crashes=2 fences=1`."""
    return " ".join(f"{name}={value}" for name, value in values.items())
