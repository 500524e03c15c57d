"""Find the packages: every folder with an `__init__.py` in one of the rooms that pyproject.toml lists."""

import tomllib
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).parent
ROOMS = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]


def packages() -> dict[str, str]:
    """Return the folder of each package by its name; a room inside of another one has its own name only."""
    found: dict[str, str] = {}
    for room, folder in sorted(ROOMS.items(), key=lambda item: item[1].count("/")):
        for file in sorted((HERE / folder).rglob("__init__.py")):
            parts = file.parent.relative_to(HERE / folder).parts
            place = "/".join([folder, *parts])
            found = {name: other for name, other in found.items() if other != place}
            found[".".join([room, *parts])] = place
    return found


setup(packages=list(packages()))
