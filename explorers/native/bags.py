"""Bags in generated code: messages compared, sorted, added and removed field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.model.language.records import ArrayOf, BagOf, Record, Scalar, fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.model.language.constants import Linear


def bag_text(record: type[Record], suffix: str, most: Callable[[Linear], int]) -> str:
    """Return the operations on a bag of these messages: a count and slots in canonical order."""
    paths = list(_leaf_paths(record, most))
    order = []
    equal = []
    clear = []
    copy = []
    for loops, path in paths:
        pad = "    " * (1 + len(loops))
        head = [("    " * (1 + depth)) + loop for depth, loop in enumerate(loops)]
        order += [*head, f"{pad}if a.{path} != b.{path}:", f"{pad}    return a.{path} < b.{path}"]
        equal += [*head, f"{pad}if a.{path} != b.{path}:", f"{pad}    return False"]
        clear += [*head, f"{pad}a.{path} = 0"]
        copy += [*head, f"{pad}a.{path} = b.{path}"]
    return f"""
@helper
def less_{suffix}(a, b):
{chr(10).join(order)}
    return False


@helper
def same_{suffix}(a, b):
{chr(10).join(equal)}
    return True


@helper
def clear_{suffix}(a):
{chr(10).join(clear)}


@helper
def copy_{suffix}(a, b):
{chr(10).join(copy)}


@helper
def swap_{suffix}(a, b):
{chr(10).join(_swaps(paths))}


@helper
def add_{suffix}(_e, bag, room):
    at = bag.count
    if at >= room:
        _note(_e, FULL)
        at = room - 1
    else:
        bag.count = at + 1
    clear_{suffix}(bag.items[at])
    return bag.items[at]


@helper
def remove_{suffix}(_e, bag, m):
    for at in range(bag.count):
        if same_{suffix}(bag.items[at], m):
            for after in range(at + 1, bag.count):
                copy_{suffix}(bag.items[after - 1], bag.items[after])
            clear_{suffix}(bag.items[bag.count - 1])
            bag.count -= 1
            return
    _note(_e, ABSENT)


@helper
def sort_{suffix}(bag):
    for end in range(1, bag.count):
        at = end
        while at > 0 and less_{suffix}(bag.items[at], bag.items[at - 1]):
            swap_{suffix}(bag.items[at], bag.items[at - 1])
            at -= 1


@helper
def distinct_{suffix}(bag):
    found = 0
    for at in range(bag.count):
        if at == 0 or not same_{suffix}(bag.items[at], bag.items[at - 1]):
            found += 1
    return found
"""


def _swaps(paths: list[tuple[list[str], str]]) -> list[str]:
    lines = []
    for loops, path in paths:
        lines += [("    " * (1 + depth)) + loop for depth, loop in enumerate(loops)]
        pad = "    " * (1 + len(loops))
        lines += [f"{pad}kept = a.{path}", f"{pad}a.{path} = b.{path}", f"{pad}b.{path} = kept"]
    return lines


def _leaf_paths(
    record: type[Record], most: Callable[[Linear], int], prefix: str = "", loops: tuple[str, ...] = ()
) -> list[tuple[list[str], str]]:
    """Return (loop heads, path) for every scalar of a message; arrays are walked to their full room."""
    found: list[tuple[list[str], str]] = []
    for name, field in fields(record):
        path = f"{prefix}{name}"
        if isinstance(field, Scalar):
            found.append((list(loops), path))
        elif isinstance(field, ArrayOf):
            variable = f"i{len(loops)}"
            inner = (*loops, f"for {variable} in range({most(field.length)}):")
            if isinstance(field.element, Scalar):
                found.append((list(inner), f"{path}[{variable}]"))
            else:
                found += _leaf_paths(field.element.record, most, f"{path}[{variable}].", inner)
        elif not isinstance(field, BagOf):
            found += _leaf_paths(field.record, most, f"{path}.", loops)
    return found
