"""What other programs say of our output: Mermaid itself, and the schema of SARIF that its authors publish.

Both come from npm. `tox -e reports` installs them and sets FENCEPOST_NODE_MODULES; elsewhere these tests are skipped.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.calls import catalogue
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import follow
from fencepost.counterexamples.trace import ARCHIVE, Trace
from fencepost.invariants.catalogue import Profile
from jsonschema_rs import validator_for

from tests.helpers.commands import KIP101, fencepost
from tests.helpers.traces import lamps_trace, mailbox_trace
from tests.unit.cli.test_cli_builds import MAILBOX, SMALL, put

MODULES = Path(os.environ.get("FENCEPOST_NODE_MODULES", "no/node_modules")).resolve()
SCHEMA = MODULES / "@microsoft" / "jest-sarif" / "lib" / "schemas" / "sarif-2.1.0-rtm.5.json"
NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(
    NODE is None or not SCHEMA.is_file(),
    reason="Node.js or its packages are missing: run `tox -e reports`, which installs them",
)


def traces() -> list[Trace]:
    """Return every archived trace, and others with what those lack."""
    made = [read(file).trace for file in sorted(ARCHIVE.glob("*.trace"))]
    made += [mailbox_trace("everyone-is-done", clients=2), mailbox_trace(None, clients=1), lamps_trace()]
    return [*made, lamps_trace(title="a; b: #c <d> %% end\nloop", why="")]


def test_mermaid_parses_every_diagram_as_a_sequence_diagram(tmp_path: Path) -> None:
    files = []
    for number, trace in enumerate(traces()):
        files.append(tmp_path / f"{number}.mmd")
        files[-1].write_text(render("mermaid", follow(trace)), encoding="utf-8")
    broken = tmp_path / "broken.mmd"
    broken.write_text("sequenceDiagram\n  this is no diagram\n")
    assert NODE is not None
    script = Path(__file__).parent / "node" / "mermaid.mjs"
    command = [NODE, str(script), str(MODULES), *map(str, files), str(broken)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    *found, last = map(json.loads, done.stdout.splitlines())
    assert [item.get("diagramType", item) for item in found] == ["sequence"] * len(files)
    assert "error" in last


def errors(file: Path) -> list[str]:
    published = SCHEMA.read_text().replace("{2}]?$", r"{2}\\]?$")  # a bracket that is no pattern to jsonschema-rs
    schema: dict[str, Any] = json.loads(published)
    accepts = validator_for(schema)
    assert list(accepts.iter_errors({"version": "2.1.0", "runs": [{}]}))
    return [error.message for error in accepts.iter_errors(json.loads(file.read_text()))]


@pytest.mark.parametrize(
    "args",
    [
        [*KIP101[1:], "--quiet"],
        [str(MAILBOX), *SMALL],
        [str(MAILBOX), *SMALL, "--without", "deduplicate"],
        [str(MAILBOX), *SMALL, "--max-depth", "2"],
        [str(MAILBOX), *SMALL, "--expect", "violated"],
        ["kip320", "kip101", "--quiet", "--max-depth", "3"],
    ],
    ids=["violated", "holds", "own", "undetermined", "expected", "two"],
)
def test_the_schema_of_sarif_accepts_every_kind_of_result(args: list[str], tmp_path: Path) -> None:
    file = tmp_path / "x.sarif"
    fencepost("check", *args, "--sarif", str(file))
    assert errors(file) == []


def test_the_schema_of_sarif_accepts_a_catalogue_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "kip101 2/2/2/2", "kip320 2/2/2/2", distinct=1)
    assert [run.profile for run in catalogue.runs()] == [Profile.QUICK] * 2
    file = tmp_path / "x.sarif"
    assert fencepost("check", "--budget", "0.000001s", "--quiet", "--sarif", str(file)).exit_code == 3
    assert errors(file) == []
