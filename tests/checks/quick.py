"""The checks of a change, in two parallel lanes: tests in one, and every other check in the other."""

import hashlib
import os
import shlex
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

from tests.checks.parts import JAVA, has

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".checks"
"""Folder for compiled machines, the checkers' caches, and the progress of `./test all`."""
INSTALLED = KEPT / "installed"
"""The package as installed for users: the checkers do not follow editable installations."""
PYTHON = sys.executable
UV = [str(Path(PYTHON).parent / "uv"), "pip", "install", "--quiet", "--python", PYTHON]
SPARK = [*UV, "--config-setting=--build-option=--compression=stored", "pyspark>=4"]
"""PySpark has no wheel: uv builds one, and compressing it would nearly double the time."""
WITHOUT_JAVA = (
    "Spark's tests were left out: they need Java 17 or newer, which was not found. Install it (Debian: "
    "apt-get install openjdk-17-jre-headless) or set JAVA_HOME."
)
SPARK_TEST = "tests/spark/test_explore.py::test_real_executors_find_the_same_and_one_that_dies_costs_no_state"


class Lane(threading.Thread):
    """Commands run one after another, each with its output when it ends; later ones run after a failure."""

    def __init__(self, steps: list[tuple[str, list[list[str]]]]) -> None:
        super().__init__()
        self.steps = steps
        self.failed: list[str] = []

    def run(self) -> None:
        for name, commands in self.steps:
            began, said = time.monotonic(), ""
            for command in commands:
                folder = KEPT if "mypy" in command else ROOT  # else kafka looks like the library
                done = subprocess.run(
                    command, cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    check=False,
                )  # fmt: skip
                if done.returncode:
                    said += f"$ {shlex.join(command)}\n{done.stdout.decode(errors='replace')}"
            word = f"failed\n{said}" if said else "passed"
            print(f"{name}: {word} ({time.monotonic() - began:.0f} s)", flush=True)  # noqa: T201
            if said:
                self.failed.append(name)


def environment() -> dict[str, str]:
    return {
        "FENCEPOST_CACHE": str(KEPT / "cache"),
        "PYTHONWARNINGS": "error::DeprecationWarning:fencepost",
        "MYPYPATH": str(INSTALLED),
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "",  # a command that compiles its libraries again starts three times as slowly
        "PATH": f"{Path(PYTHON).parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }


def requirements() -> dict[str, Any]:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return {"project": data["project"], "groups": data["dependency-groups"]}


def install_packages(*words: str, by: list[str] = UV) -> None:
    """Install packages, and show the installer's output only on failure."""
    done = subprocess.run([*by, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{shlex.join([*by, *words])} failed:\n{done.stdout}{done.stderr}")


def install() -> None:
    """Install the tests' dependencies into this environment, once. Spark's engine is installed beside the tests."""
    KEPT.mkdir(exist_ok=True)
    stamp = Path(sys.prefix) / "installed.txt"
    wanted = hashlib.sha256(repr((requirements(), sys.version, has(JAVA))).encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    install_packages("uv>=0.5", by=[PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"])
    spark = [name for name in requirements()["project"]["optional-dependencies"]["spark"] if "pyspark" not in name]
    extras = ["-e", ".[prove,hypothesis,mcp]", *(spark if has(JAVA) else [])]
    install_packages(*extras, "--group", "test", "--group", "checks")
    stamp.write_text(wanted)


def lanes() -> tuple[list[str], Lane]:
    """Return the command of the tests, and the lane of the other checks."""
    tests = [PYTHON, "-m", "pytest"]
    build = [*UV, "--no-deps", "--no-build-isolation", "--upgrade", "--target", str(INSTALLED), "."]
    apart = ["env", f"PYTHONPATH={INSTALLED}"]
    circles = [*apart, PYTHON, "-m", "tests.imports.circles"]  # without one, each module imports alone
    mypy = [PYTHON, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(KEPT / "mypy")]
    spark = [("spark", [SPARK, [PYTHON, "-m", "pytest", "-q", "-n", "0", SPARK_TEST]])] if has(JAVA) else []
    return tests, Lane(
        [
            ("lint", [["ruff", "check", "."], ["ruff", "format", "--check", "."]]),
            ("imports", [build, [*apart, "lint-imports"], circles]),
            ("types", [[*mypy, "-p", "fencepost"]]),
            *spark,
        ]
    )


def run() -> int:
    """Run what a change must pass, and return the exit status."""
    began = time.monotonic()
    install()
    tests, lane = lanes()
    lane.start()
    done = subprocess.run(tests, cwd=ROOT, env=environment(), check=False)
    lane.join()
    failed = [*lane.failed, *(["tests"] if done.returncode else [])]
    if not has(JAVA):
        print(WITHOUT_JAVA)  # noqa: T201
        failed += ["spark"] if os.environ.get("CI") else []
    word = f"{', '.join(failed)} failed" if failed else "all checks passed"
    print(f"{word} ({time.monotonic() - began:.0f} s)")  # noqa: T201
    return bool(failed)
