"""Folding of long lines: never inside a name or a number, and preferably not inside brackets."""

from itertools import pairwise

OPENING, CLOSING = "{[(", "}])"
CHANGE, WORD, FIELD, ITEM = range(4)
"""Places to fold a line, from best to worst: after a change, a word, a field of a message, or an inner item."""


def fold(text: str, width: int, indent: str = "", more: str = "  ") -> list[str]:
    """Return a string as indented lines of up to `width` characters, if possible. `more` also indents later lines."""
    first = width - len(indent)
    spans = cut(text, first, first - len(more))
    return [f"{indent}{more if start else ''}{text[start:end].rstrip()}" for start, end in spans]


def cut(text: str, first: int, rest: int) -> list[tuple[int, int]]:
    """Return the spans of a string's lines: the first has at most `first` characters, and each later one at most
    `rest`, if possible. Each line ends at the last place of the best kind that occurs in the line's last two thirds.
    """
    places, spans, start, room = _places(text), [], 0, first
    while len(text.rstrip()) - start > room:
        ends = [(kind, end) for kind, end in places if start < end and len(text[start:end].rstrip()) <= room]
        ends = [(kind, end) for kind, end in ends if end - start > room / 3] or ends
        ends = ends or [(kind, end) for kind, end in places if end > start][:1]
        if not ends:
            break
        _, end = min(ends, key=lambda place: (place[0], -place[1]))
        spans.append((start, end))
        start, room = end, rest
    return [*spans, (start, len(text))]


def fields_of(message: str) -> list[str]:
    bounds = [1, *(end for kind, end in _places(message) if kind == FIELD), len(message)]
    return [message[start : end - 1] for start, end in pairwise(bounds)]


def _places(text: str) -> list[tuple[int, int]]:
    found, depth = [], 0
    for index, sign in enumerate(text[:-1]):
        depth += (sign in OPENING) - (sign in CLOSING)
        if sign == " " and depth <= 0:
            found.append((CHANGE if text[index - 1 : index] in (",", ":", ";") else WORD, index + 1))
        elif sign in " ," and text[index + 1] != " ":
            found.append((FIELD if depth == 1 else ITEM, index + 1))
    return found
