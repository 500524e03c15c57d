"""`fencepost check` tells loops and costs, for people and for machines, and writes traces of both."""

from pathlib import Path

import pytest

from tests.helpers.commands import data_of, fencepost
from tests.helpers.places import MACHINES

pytestmark = pytest.mark.xdist_group("post")

FAIR = 'fair=(weak(send), weak(receive, each="m")),'
MORE = """
from fencepost.model.language import at_most


def has_mail(s: State, c: C, broker: int) -> bool:
    return any(m.to == broker for m in s.messages)


def has_no_mail(s: State, c: C, broker: int) -> bool:
    return not has_mail(s, c, broker)


steps_to_read = at_most(
    "steps-to-read",
    "A broker's mail is read.",
    costs={send: 1, receive: 10},
    unit="ms",
    when=has_mail,
    then=has_no_mail,
    fair=(weak(receive, each="m.to"),),
    broker=Broker,
)
PROPERTIES = (*PROPERTIES, steps_to_read)
"""


@pytest.fixture(name="model")
def _model(tmp_path: Path) -> str:
    """Return a model of messages, in which nobody has to receive, with a property that has costs."""
    text = (MACHINES / "post.py").read_text()
    assert FAIR in text
    file = tmp_path / "post.py"
    file.write_text(text.replace(FAIR, "fair=(weak(send),),") + MORE)
    return str(file)


def test_json_tells_loop_values_and_costs(model: str) -> None:
    found = {item["name"]: item for item in data_of(fencepost("check", model, "--json", "--quiet"))["properties"]}
    lasting = found["everything-arrives"]
    assert (lasting["kind"], lasting["verdict"], lasting["loop"]) == ("leads-to", "violated", lasting["length"] - 1)
    assert len(lasting["steps"]) == lasting["length"] - 1
    cost = found["steps-to-read"]
    assert (cost["kind"], cost["verdict"], cost["for"]) == ("at-most", "holds", {"broker": 0})
    assert (cost["worst"], cost["best"], cost["bound"], cost["unit"]) == (21, 10, None, "ms")
    assert len(cost["steps"]) == cost["length"] - 1


def test_the_page_tells_fairness_loop_and_costs(model: str) -> None:
    assert "Nothing happens any more" in fencepost("check", model, "--quiet").stdout
    page = fencepost("check", model, "--quiet", "-v").stdout
    assert "fairness: weak send\n" in page
    assert "Nothing happens any more" in page
    assert "holds: worst 21 ms, at least 10 ms: a trace of " in page


@pytest.mark.parametrize(("prop", "verdict"), [("everything-arrives", "violated"), ("steps-to-read", "worst")])
def test_trace_writes_what_replays(model: str, prop: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    done = fencepost("check", model, "--property", prop, "--trace", str(file), "--quiet")
    assert done.exit_code == (1 if verdict == "violated" else 0)
    assert f"property: {prop}\n" in file.read_text()
    assert f"verdict: {verdict}\n" in file.read_text()
    assert fencepost("replay", str(file), "--model", model).exit_code == 0


def test_a_search_that_was_cut_short_says_nothing_of_whole_behaviours(model: str) -> None:
    data = data_of(fencepost("check", model, "--json", "--quiet", "--max-depth", "2"))
    found = {item["name"]: item["verdict"] for item in data["properties"]}
    assert (found["everything-arrives"], found["steps-to-read"]) == ("undetermined", "undetermined")
