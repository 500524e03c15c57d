"""The parts of `./test all`, those that fail soonest first: requirements, time limits, and the files of each."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache

JAVA = "java 17"
CHROMIUM = "chromium"


@dataclass(frozen=True)
class Part:
    """One environment of tox.ini."""

    name: str
    minutes: int
    """Time limit."""
    touches: str = ""
    """A pattern of paths: changing one of them runs the part in CI."""
    needs: tuple[str, ...] = ()
    """Programs that it starts."""
    asked: bool = False
    """Whether it takes hours, and runs only if named."""


ENGINES = r"(model/language|explorers|tests/(agreement|helpers|machines|random_machines))/"
KAFKA = r"(kafka/(?!audit|clients|clusters)\w+|model/(cluster|moves|quorum|sessions|tiers|topics)|tests/kafka)/"
PARTS = (
    Part("lint", 2, r".*\.(py|toml)$"),
    Part("imports", 5, r".*\.py$|pyproject\.toml|setup\.py"),
    Part("types", 10, r".*\.py$|pyproject\.toml|setup\.py"),
    Part("py311", 30, needs=("python3.11",)),
    Part("long", 60, ENGINES + r"|(model|invariants|counterexamples|api|cli|tests/(unit|catalogue))/"),
    Part("docs", 15, r"docs/|README|ARCHITECTURE|invariants/|tests/docs/"),
    Part("spark", 20, r"explorers/spark/|tests/spark/", (JAVA,)),
    Part("oldest", 15, r"explorers/native/|pyproject\.toml"),
    Part("dist", 15, r"pyproject\.toml|setup\.py|cli/root/|tests/soak/test_release\.py"),
    Part("py312", 40, r"pyproject\.toml", ("python3.12",)),
    Part("py313", 40, needs=("python3.13",)),
    Part("py314", 40, needs=("python3.14",)),
    Part("reports", 15, r"counterexamples/render/|cli/builds/|action\.yml|tests/browser/", ("node", "npm")),
    Part("catalogue", 20, r"(model|invariants)/|explorers/"),
    Part("proofs", 30, r"explorers/symbolic/|invariants/"),
    Part("audit", 20, r"kafka/audit/|tests/(spark|kafka)/test_audit\.py", (JAVA, "mvn")),
    Part("kafka", 90, KAFKA, (JAVA, "javac", "mvn")),
    Part("clients", 75, r"kafka/clients/|model/clients/|tests/kafka/test_clients\.py", (JAVA, "javac", "mvn", "go")),
    Part("site", 30, r"docs/|counterexamples/browser/|tests/browser/", ("npm", CHROMIUM)),
    Part("pyodide", 20, r"model/language/|counterexamples/browser/|tests/pyodide/", ("node", "npm")),
    Part("spark-long", 60, needs=(JAVA,)),
    Part("fuzz", 60, r"tests/soak/hostile\.py"),
    Part("soak", 150, r"tests/(soak|random_machines)/", (JAVA,)),
    Part("benchmarks", 60, r"benchmarks/[a-z]+\.py", asked=True),
    Part("clusters", 180, r"kafka/clusters/", (JAVA, "javac", "mvn"), asked=True),
    Part("kafka-long", 300, needs=(JAVA, "javac", "mvn"), asked=True),
    Part("figures", 360, needs=(JAVA,), asked=True),
    Part("mutants", 600, asked=True),
)
BY_NAME = {part.name: part for part in PARTS}
SUITE = ("lint", "imports", "types", f"py3{sys.version_info.minor}")
"""Parts that `./test` covers."""


@cache
def has(program: str) -> bool:
    if program == JAVA:
        home = os.environ.get("JAVA_HOME")
        java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
        found = re.search(r'version "(\d+)', said)
        return found is not None and int(found[1]) >= 17
    if program == CHROMIUM:
        return bool(os.environ.get("FENCEPOST_CHROMIUM") or shutil.which("chromium"))
    if program.startswith("python"):
        own = program == f"python3.{sys.version_info.minor}"
        return own or answers(program)
    return shutil.which(program) is not None


def answers(program: str) -> bool:
    """Return whether a program starts: a version manager lists Pythons that it has not installed."""
    found = shutil.which(program)
    return found is not None and not subprocess.run([found, "--version"], capture_output=True, check=False).returncode


def missing(part: Part) -> list[str]:
    return [program for program in part.needs if not has(program)]


def touched(paths: list[str]) -> tuple[list[Part], list[str]]:
    about = {path: [part for part in PARTS if part.touches and re.match(part.touches, path)] for path in paths}
    return [part for part in PARTS if any(part in parts for parts in about.values())], [
        path for path, parts in about.items() if not parts
    ]
