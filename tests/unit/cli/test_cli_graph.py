"""`fencepost graph` writes every state and every step of a small machine, and refuses a large one."""

from pathlib import Path

import networkx as nx
from fencepost.explorers.plain import search

from tests.helpers.commands import fencepost
from tests.machines.lamps import MACHINE

MODEL = "tests/machines/lamps.py"
SMALL = ("--set", "lamps=1")


def test_graphml_has_every_state_and_step(tmp_path: Path) -> None:
    file = tmp_path / "lamps.graphml"
    done = fencepost("graph", MODEL, *SMALL, "--format", "graphml", "--output", str(file))
    assert (done.exit_code, done.stdout) == (0, "")
    made = nx.read_graphml(file, force_multigraph=True)
    result = search(MACHINE, MACHINE.set_constants({"lamps": 1}))
    starts = [number for number, initial in made.nodes(data="initial") if initial]
    assert made.number_of_nodes() == result.distinct
    assert made.number_of_edges() + len(starts) == result.generated
    assert all(action.startswith("switch-to lamps=") for _, _, action in made.edges(data="label"))


def test_dot_marks_what_a_property_says() -> None:
    text = fencepost("graph", MODEL, *SMALL, "--property", "some-lamp-is-dark").stdout
    assert text.startswith('digraph "lamps" {')
    assert text.count("violated") > 0
    assert "violated" not in fencepost("graph", MODEL, *SMALL).stdout


def test_a_label_tells_only_fields_that_differ() -> None:
    text = fencepost("graph", MODEL, *SMALL).stdout
    assert "lit=" in text
    assert "favourite=" not in text
