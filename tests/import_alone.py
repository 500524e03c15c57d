"""Import every module in a process of its own: none may need another to be imported first."""

from __future__ import annotations

import importlib.util
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PACKAGES = ("model", "figures", "invariants", "explorers", "counterexamples", "api", "testing", "pages", "cli")


def modules() -> list[str]:
    """Return the names of all modules."""
    found = []
    for package in PACKAGES:
        spec = importlib.util.find_spec(f"fencepost.{package}")
        paths = list(spec.submodule_search_locations or []) if spec else []
        found += [item.name for item in pkgutil.walk_packages(paths, f"fencepost.{package}.")]
    return [name for name in found if not name.endswith("__main__")]


def fails(name: str) -> str:
    """Return what goes wrong when a module is imported alone, or an empty string."""
    done = subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, text=True, check=False)  # noqa: S603
    return f"{name}: {done.stderr.strip().splitlines()[-1]}" if done.returncode else ""


def main() -> int:
    """Import all and return the exit status."""
    with ThreadPoolExecutor(4) as pool:
        problems = [text for text in pool.map(fails, modules()) if text]
    sys.stderr.write("".join(f"{text}\n" for text in problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
