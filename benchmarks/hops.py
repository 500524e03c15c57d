"""A command's path through the modules, as distinct pairs (module of the caller, module of the callee).

python -m benchmarks.hops [--list] [--order] [ARGUMENT ...]

Without arguments, the command is `check kip320 --set replicas=2`. A first run imports, compiles and fills caches. A
second run in the same process, including all threads, is counted. Each pair counts once, however often it occurs.
"""

import argparse
import contextlib
import io
import sys
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any, Self

COMMAND = ("check", "kip320", "--set", "replicas=2", "--quiet")
OURS = "fencepost."


class Hops:
    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        threading.setprofile(self._called)
        sys.setprofile(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        callee = _module(frame)
        if not callee:
            return
        back = frame.f_back
        while back is not None and not _module(back):  # skip frames of libraries, such as click
            back = back.f_back
        caller = _module(back) if back is not None else ""
        if caller and caller != callee:
            self.pairs[caller, callee] = self.pairs.get((caller, callee), 0) + 1


def _module(frame: FrameType) -> str:
    name = str(frame.f_globals.get("__name__", ""))
    return name if name.startswith(OURS) else ""


def hops_of(command: tuple[str, ...]) -> dict[tuple[str, str], int]:
    """Return the pairs in a command's second run, with the number of calls of each."""
    from fencepost.cli.main import run

    def once() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            run.main(list(command))

    once()
    with Hops() as found:
        once()
    return found.pairs


def summary(pairs: Iterable[tuple[str, str]]) -> str:
    known = list(pairs)
    return f"{len(known)} hops between {len({name for pair in known for name in pair})} modules"


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--list", "--order"):
        parser.add_argument(name, action="store_true")
    known, command = parser.parse_known_args()
    pairs = hops_of(tuple(command) or COMMAND)
    if known.list or known.order:
        for caller, callee in pairs if known.order else sorted(pairs):
            print(f"{caller.removeprefix(OURS)} -> {callee.removeprefix(OURS)}  {pairs[caller, callee]:,}")
    print(summary(pairs))


if __name__ == "__main__":
    main()
