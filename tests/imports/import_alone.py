"""Import every module in a separate process: none may need another of ours to be imported first.

The processes are forked from one that has the libraries already, which is what makes this quick.
"""

import importlib
import pkgutil
import sys
from multiprocessing import get_context

LIBRARIES = ("click", "jinja2", "llvmlite.binding", "networkx", "numpy", "psutil", "rich.console", "hypothesis", "z3")


def modules() -> list[str]:
    paths = importlib.import_module("fencepost").__path__
    return [item.name for item in pkgutil.walk_packages(paths, "fencepost.") if not item.name.endswith("__main__")]


def fails(name: str) -> str:
    """Return the error of importing a module alone, or an empty string."""
    try:
        importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 (told)
        return f"{name}: {type(error).__name__}: {error}"
    return ""


def main() -> int:
    for name in LIBRARIES:
        importlib.import_module(name)
    with get_context("fork").Pool(1) as finder:
        names = finder.apply(modules)
    with get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        problems = [text for text in pool.map(fails, names, chunksize=1) if text]
    sys.stderr.write("".join(f"{text}\n" for text in problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
