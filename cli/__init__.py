"""The command line: commands, views and outputs for builds."""

import os
import sys
from pathlib import Path
from types import TracebackType


def _started(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """End an interrupt during the imports, before any command can explain it, without a traceback."""
    if not issubclass(kind, KeyboardInterrupt) or hasattr(sys, "ps1"):
        sys.__excepthook__(kind, error, trace)
        return
    sys.stderr.write("fencepost: interrupted before there was a result. Nothing is known.\n")
    sys.stderr.flush()
    os._exit(3)


def _is_command() -> bool:
    """Say whether this process is our command: others import parts of us, and end as they like."""
    return any(Path(word).name in ("fencepost", "fencepost.exe", "fencepost.cli") for word in sys.orig_argv[1:3])


if sys.excepthook is sys.__excepthook__ and _is_command():
    sys.excepthook = _started
