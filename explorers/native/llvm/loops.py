"""Loops that count, and choices, in a function being built."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fencepost.explorers.native.llvm.builder import Builder
from fencepost.explorers.native.llvm.types import Sort, Value


class Round(NamedTuple):
    """A round of a loop: its number, and the labels of the next round and of the exit."""

    at: Value
    following: str
    end: str


@contextmanager
def counted(build: Builder, first: Value, last: Value) -> Iterator[Round]:
    """Run the block's code for each number from `first` to below `last`; both are computed before."""
    with _loop(build, first, last, up=True) as found:
        yield found


@contextmanager
def counted_down(build: Builder, first: Value, last: Value) -> Iterator[Round]:
    """Run the block's code for each number from `first` down to above `last`; both are computed before."""
    with _loop(build, first, last, up=False) as found:
        yield found


@contextmanager
def _loop(build: Builder, first: Value, last: Value, *, up: bool) -> Iterator[Round]:
    top, body, following, end = build.label(), build.label(), build.label(), build.label()
    before, now, after = build.at, build.register(), build.register()
    assert before is not None
    build.jump(top)
    build.begin(top)
    build.emit(f"{now} = phi i64 [{first.text}, %{before}], [{after}, %{following}]")
    ends = (first.low, max(first.low, last.high - 1)) if up else (min(first.high, last.low + 1), first.high)
    at = Value(now, Sort.NUMBER, *ends)
    build.branch(build.compared("<" if up else ">", at, last), body, end)
    build.begin(body)
    yield Round(at, following, end)
    if build.at is not None:
        build.jump(following)
    build.begin(following)
    build.emit(f"{after} = add i64 {now}, {1 if up else -1}")
    build.jump(top)
    build.begin(end)


@contextmanager
def only_if(build: Builder, condition: Value, hint: str = "") -> Iterator[None]:
    """Run the block's code if a flag is set."""
    yes, end = build.label(), build.label()
    build.branch(condition, yes, end, hint)
    build.begin(yes)
    yield
    if build.at is not None:
        build.jump(end)
    build.begin(end)
