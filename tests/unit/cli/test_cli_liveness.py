"""`fencepost check` tells loops and costs, for people and for machines, and writes traces of both."""

from pathlib import Path

import pytest

from tests.helpers.commands import data_of, fencepost
from tests.helpers.written import file_of

pytestmark = pytest.mark.xdist_group("post")

MODEL = str(
    file_of(
        """
class C(Constants):
    brokers = shape(2, low=2, high=3, meaning="brokers")
    in_flight = capacity(2, low=1, high=4, meaning="messages in flight")
    sends = bound(2, low=0, high=4, meaning="messages that are sent in all")

Broker = Annotated[int, Index(C.brokers)]

class Message(Record):
    to: Broker
    number: Annotated[int, Range(0, C.sends)]

class State(Record):
    messages: Annotated[Bag[Message], Size(C.in_flight)]
    sent: Annotated[int, Range(0, C.sends)]
    received: Annotated[int, Range(0, C.sends)]

@action(to=Broker)
def send(s, c, to):
    require(s.sent < c.sends)
    require(len(s.messages) < c.in_flight)
    s.messages.add(to=to, number=s.sent)
    s.sent += 1

@action(m=InFlight("messages"))
def receive(s, c, m):
    s.messages.remove(m)
    s.received += 1

def everything_arrived(s, c):
    return s.received == c.sends

def has_mail(s, c, broker):
    return any(m.to == broker for m in s.messages)

def has_no_mail(s, c, broker):
    return not has_mail(s, c, broker)

arrives = eventually("everything-arrives", "All is sent, and arrives.", then=everything_arrived, fair=(weak(send),))
reads = at_most("steps-to-read", "A broker's mail is read.", costs={send: 1, receive: 10}, unit="ms", when=has_mail,
                then=has_no_mail, fair=(weak(receive, each="m.to"),), broker=Broker)
PROPERTIES = (arrives, reads)
""",
        "post",
    )
)
"""Messages between brokers, in which nobody has to receive, with a property that has costs."""


def test_json_tells_loop_values_and_costs() -> None:
    found = {item["name"]: item for item in data_of(fencepost("check", MODEL, "--json", "--quiet"))["properties"]}
    lasting = found["everything-arrives"]
    assert (lasting["kind"], lasting["verdict"], lasting["loop"]) == ("leads-to", "violated", lasting["length"] - 1)
    assert len(lasting["steps"]) == lasting["length"] - 1
    cost = found["steps-to-read"]
    assert (cost["kind"], cost["verdict"], cost["for"]) == ("at-most", "holds", {"broker": 0})
    assert (cost["worst"], cost["best"], cost["bound"], cost["unit"]) == (21, 10, None, "ms")
    assert len(cost["steps"]) == cost["length"] - 1


def test_the_page_tells_fairness_loop_and_costs() -> None:
    assert "Nothing happens any more" in fencepost("check", MODEL, "--quiet").stdout
    page = fencepost("check", MODEL, "--quiet", "-v").stdout
    assert "fairness: weak send\n" in page
    assert "Nothing happens any more" in page
    assert "holds: worst 21 ms, at least 10 ms: a trace of " in page


@pytest.mark.parametrize(("prop", "verdict"), [("everything-arrives", "violated"), ("steps-to-read", "worst")])
def test_trace_writes_what_replays(prop: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    done = fencepost("check", MODEL, "--property", prop, "--trace", str(file), "--quiet")
    assert done.exit_code == (1 if verdict == "violated" else 0)
    assert f"property: {prop}\n" in file.read_text()
    assert f"verdict: {verdict}\n" in file.read_text()
    assert fencepost("replay", str(file), "--model", MODEL).exit_code == 0


def test_a_search_that_was_cut_short_says_nothing_of_whole_behaviours() -> None:
    data = data_of(fencepost("check", MODEL, "--json", "--quiet", "--max-depth", "2"))
    found = {item["name"]: item["verdict"] for item in data["properties"]}
    assert (found["everything-arrives"], found["steps-to-read"]) == ("undetermined", "undetermined")
