"""The release: a wheel and an sdist with all files, and one version everywhere."""

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helpers.parameters import words
from tests.helpers.places import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]


def run(*command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment or None)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with a wheel and an sdist of the files in git."""
    source, made = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in run("git", "ls-files", folder=ROOT).stdout.splitlines():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(made), ".", folder=source)
    return made


def files(suffixes: tuple[str, ...] = (".py",)) -> set[str]:
    """Return the expected files of a wheel: those of every package, by their names there."""
    wanted = {}
    rooms = sorted(FOLDERS.items(), key=lambda item: item[1].count("/"))  # the innermost room names a file
    for package, folder in rooms:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes and "__pycache__" not in path.parts:
                wanted[path] = f"{package.replace('.', '/')}/{path.relative_to(ROOT / folder).as_posix()}"
    return set(wanted.values())


def test_the_version_stands_in_one_place_and_everything_agrees_with_it() -> None:
    stated = PROJECT["project"]["version"]
    assert version("fencepost") == stated
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == stated
    assert f"## [{stated}]" in (ROOT / "CHANGELOG.md").read_text()
    for path in (path for folder in FOLDERS.values() for path in (ROOT / folder).rglob("*.py")):
        assert not re.search(rf'["\']{re.escape(stated)}["\']', path.read_text()), path


def test_every_folder_with_modules_is_a_package_that_is_released() -> None:
    data = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    for folder in FOLDERS.values():
        for path in (ROOT / folder).rglob("*.py"):
            is_data = any(path.match(item) for item in data)
            assert (path.parent / "__init__.py").is_file() or is_data, path


def test_the_workflow_of_this_repository_runs_what_a_build_runs_and_that_the_readmes_command() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    steps = workflow["jobs"]["test"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run"]
    assert "./test" in (ROOT / ".ci" / "run").read_text()


def test_the_wheel_has_every_module_and_all_data(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert files((".py", ".typed", ".json", ".toml", ".trace", ".jinja", ".html", ".properties")) - names == set()
    assert not [name for name in names if name.startswith(("fencepost/tests", "fencepost/docs", "tests", "docs"))]


@pytest.mark.long
def test_a_wheel_can_be_built_from_the_sdist_alone(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(tmp_path), ".", folder=source)
    (again,) = tmp_path.glob("*.whl")
    (wheel,) = built.glob("*.whl")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())


@pytest.mark.long
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_what_is_built_works_in_an_empty_environment(kind: str, built: Path, tmp_path: Path) -> None:
    (package,) = built.glob(kind)
    run(sys.executable, "-m", "venv", "home", folder=tmp_path)
    python = tmp_path / "home" / "bin" / "python"
    run(str(python), "-m", "pip", "install", "--quiet", str(package), folder=tmp_path)
    command = str(tmp_path / "home" / "bin" / "fencepost")
    assert PROJECT["project"]["version"] in run(command, "--version", folder=tmp_path).stdout
    asked = words("check kip320 --set replicas=2 --json --quiet")
    checked = json.loads(run(command, *asked, folder=tmp_path).stdout)
    assert (checked["verdict"], checked["distinct"]) == ("holds", 5973)
    (told,) = json.loads(run(command, "vacuity", "kip320", "--json", folder=tmp_path).stdout)["protocols"]
    assert told["bases"] == ["3/2/2/2"]
    catalogue = json.loads(run(command, "guarantees", "--json", folder=tmp_path).stdout)
    assert "HYP-17" in json.dumps(catalogue)
