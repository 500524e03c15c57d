"""The driver's source for one release: classes are named where they are, lines for other releases are left out.

A line that ends in `// until 4.1` is for 4.1 and what was before, one that ends in `// since 4.3` for 4.3 and what
comes after.
"""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING

from fencepost.model.language.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMED = re.compile(r"\b(?:org\.apache\.kafka|kafka)(?:\.[a-z][a-z0-9]*)+\.([A-Z]\w*)")


MARKED = re.compile(r"// (until|since) (\d+)\.(\d+)$")


def lines_for(text: str, version: str) -> str:
    """Return the text without the lines that are for other releases."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    release = (int(numbers[1]), int(numbers[2])) if numbers else (99, 0)
    kept = []
    for line in text.splitlines(keepends=True):
        mark = MARKED.search(line.rstrip())
        bound = (int(mark[2]), int(mark[3])) if mark else release
        if mark is None or (release <= bound if mark[1] == "until" else release >= bound):
            kept.append(line)
    return "".join(kept)


def classes_in(folder: Path) -> dict[str, set[str]]:
    """Return the packages of every class of Kafka in these jars, by its simple name."""
    found: dict[str, set[str]] = {}
    for path in sorted(folder.glob("kafka*.jar")):
        try:
            with zipfile.ZipFile(path) as jar:
                names = jar.namelist()
        except (zipfile.BadZipFile, OSError) as error:
            raise UsageError(f"{path} cannot be read as a jar of Kafka ({error}): fetch or build it again.") from error
        for name in names:
            package, _, simple = name.removesuffix(".class").rpartition("/")
            if name.endswith(".class") and "$" not in simple:
                found.setdefault(simple, set()).add(package.replace("/", "."))
    return found


def adapted(text: str, classes: Mapping[str, set[str]]) -> str:
    """Return the text with every class of Kafka named where it is; an ambiguous one stays as it was."""

    def place(named: re.Match[str]) -> str:
        simple = named[1]
        package = named[0].removesuffix(f".{simple}")
        packages = classes.get(simple, set())
        return named[0] if package in packages or len(packages) != 1 else f"{next(iter(packages))}.{simple}"

    return NAMED.sub(place, text)
