"""The notebook of the documentation runs, with the output that was committed."""

import copy
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="the notebook has an environment of its own: tox -e docs")

import nbformat
from nbclient import NotebookClient

from tests.helpers.places import DOCS

pytestmark = pytest.mark.long
FILE = DOCS / "examples" / "fencepost.ipynb"
CELLS = 15


@pytest.fixture(scope="module")
def committed() -> Any:
    return nbformat.read(FILE, as_version=4)


@pytest.fixture(scope="module")
def executed(committed: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    notebook = copy.deepcopy(committed)
    folder = str(tmp_path_factory.mktemp("notebook"))
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return notebook


def outputs(notebook: Any, kind: str) -> list[str]:
    found = [output.get("data", {}).get(kind) for cell in notebook.cells for output in cell.get("outputs", [])]
    return [text for text in found if text]


@pytest.mark.xdist_group("notebook")
def test_the_notebook_is_short_and_shows_what_was_committed(committed: Any, executed: Any) -> None:
    assert len(committed.cells) < CELLS
    frames = [text for text in outputs(executed, "text/plain") if not text.startswith("<Figure")]
    assert frames == [text for text in outputs(committed, "text/plain") if not text.startswith("<Figure")]
    assert any("violated" in text for text in frames)
    assert any("needed" in text for text in frames)
    assert any("<svg" in text for text in outputs(executed, "text/html"))
    assert len(outputs(executed, "image/png")) == 1
    streams = [item for cell in executed.cells for item in cell.get("outputs", []) if item["output_type"] == "stream"]
    assert [item["text"] for item in streams if item["name"] == "stderr"] == []
