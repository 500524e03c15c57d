"""`./test`, `./test all [PART ...]`, `./test changed`, and `./test -k WORDS tests/unit` for a run of pytest."""

import os
import subprocess
import sys
import time

from tests.checks import everything, quick
from tests.checks.parts import BY_NAME, PARTS, SUITE, touched

MINUTES = 58
"""Time limit in CI: an hour with a margin."""


def main(words: list[str]) -> int:
    """Run the requested checks, and return the exit status."""
    if not words:
        return quick.run()
    if words[0] == "all":
        return all_of(words[1:])
    if words[0] == "changed":
        return changed(float(os.environ.get("FENCEPOST_BEGAN", time.time())))
    quick.install()
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, cwd=quick.ROOT, env=quick.environment(), check=False).returncode


def all_of(names: list[str]) -> int:
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        print(f"{unknown[0]} is no part. Parts are: {', '.join(BY_NAME)}.", file=sys.stderr)  # noqa: T201
        return 2
    quick.install()
    outcomes = everything.run([BY_NAME[name] for name in names] or PARTS, named=bool(names))
    return any(item.word in (everything.FAILED, everything.STOPPED) for item in outcomes)


def changed(began: float) -> int:
    """Run the parts affected by a change, within the hour of CI that began then."""
    parts, unmapped = touched(everything.changed_paths())
    parts = [part for part in parts if part.name not in SUITE]
    about = ", ".join(part.name for part in parts) or "nothing that ./test left out"
    print(f"the change is about: {about}")  # noqa: T201
    if unmapped:
        print(f"no part is about: {', '.join(unmapped)}")  # noqa: T201
    until = time.monotonic() + began + MINUTES * 60 - time.time()
    outcomes = everything.run(parts, until=until)
    others = [part.name for part in PARTS if part not in parts and part.name not in SUITE]
    print("not run:", ", ".join(others))  # noqa: T201
    for item in outcomes:
        if item.closing:
            print(f"{item.part}: {item.closing}")  # noqa: T201
    return any(item.word == everything.FAILED for item in outcomes)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command goes on with the part that it was at")
