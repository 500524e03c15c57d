"""`fencepost.api`: the page's examples run, results are typed and say what the command says, a caller can end what he
began, and states are built by hand.
"""

import copy
import doctest
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.api import in_hand
from fencepost.api.calls.first_model import MACHINE, PROPERTIES, Kind, Phase
from fencepost.api.calls.new import new
from fencepost.explorers.verdict import Cause
from fencepost.model.language.errors import UsageError

from tests.helpers.places import MACHINES, ROOT
from tests.helpers.written import machine_of
from tests.machines import mailbox

MAILBOX = MACHINES / "mailbox.py"
SMALL = {"clients": 1, "deduplicate": False}


@pytest.mark.long
def test_the_pages_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new("lock")
    page = str(ROOT / "docs" / "use" / "python.md")
    found = doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 20
    assert found.failed == 0


def test_a_machine_a_file_and_a_name_are_taken() -> None:
    own = f.check(mailbox.MACHINE, mailbox.PROPERTIES, engine="plain", **SMALL)
    assert own.protocol == mailbox.MACHINE.name
    for file in (MAILBOX, str(MAILBOX)):
        assert f.check(file, engine="plain", **SMALL).distinct == own.distinct
    assert "kip320" in f.list_protocols().names


def test_a_result_is_frames_a_page_and_a_trace_with_steps_states_and_pictures() -> None:
    pytest.importorskip("pandas")
    found = f.check(MAILBOX, engine="plain", **SMALL)
    names, trace, page = [item.name for item in found.properties], found.trace, found._repr_html_()
    assert trace is not None
    assert len(trace.states) == trace.length == len(trace.steps) + 1 == len(trace.to_frame())
    assert all(step.text.startswith(step.action) for step in trace.steps)
    assert trace.states[0].fields.keys() == trace.states[-1].fields.keys()
    assert trace.render("mermaid").startswith("sequenceDiagram")
    assert trace.render("trace").startswith("format: 1\n")
    assert list(found.to_frame().index) == names
    assert all(name in page for name in names)
    assert trace._repr_html_() in page
    assert "<svg" in page


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_caller_that_cancels_gets_a_partial_result(engine: str) -> None:
    found = f.check("kip320", replicas=2, engine=engine, cancel=lambda: True)
    assert (found.verdict, found.complete, found.cause) == ("undetermined", False, Cause.CANCELLED)
    assert "it was cancelled" in found.why_stopped


STEPPED = """
class State(Record):
    step: Annotated[int, Range(0, 3)]
@action()
def go(s, c):
    s.step += 1
@always
def is_early(s, c):
    return s.step < 2
"""


def test_a_field_called_step_stands_beside_the_steps() -> None:
    pytest.importorskip("pandas")
    found = f.check(*machine_of(STEPPED), engine="plain", stop_on_violation=True)
    frame = found.traces["is-early"].to_frame()
    assert list(frame.columns) == ["step", "step"]
    assert frame.to_numpy().tolist() == [["", "0"], ["go", "1"], ["go", "2"]]


@pytest.mark.parametrize(
    ("what", "given"),
    [("kip32", {}), ("kip320", {"replica": 2}), ("kip320", {"engine": "fast"}), (mailbox.MACHINE, {})],
)
def test_errors_are_of_one_family_and_the_nearest_built_in_one(what: object, given: dict[str, object]) -> None:
    with pytest.raises(f.UsageError) as caught:
        f.check(what, **given)
    assert isinstance(caught.value, f.FencepostError)
    assert isinstance(caught.value, ValueError)


def test_the_package_is_light_until_something_is_asked() -> None:
    code = "import sys, fencepost.api; assert not {'numpy', 'pandas', 'rich', 'click'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize(
    "ask", [lambda: f.check("kip320", engine="spark"), lambda: f.sweep("kip320", grid={"replicas": [2]})]
)
def test_without_spark_it_is_said_how_to_install_it(ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(f.UsageError, match=r'Spark is not installed: run `pip install "fencepost\[spark\]"`'):
        ask()


LOCK = in_hand(MACHINE, PROPERTIES, clients=2)


def test_a_state_is_built_by_name_and_reads_as_in_a_trace() -> None:
    state = LOCK.state(holder=0, session={0: {"phase": "holding"}}, messages=[{"client": 1, "kind": Kind.ASK}])
    assert (state.holder, state.session[0].phase, len(state.messages)) == (0, Phase.HOLDING, 1)
    assert repr(state).splitlines() == [
        "holder 0, messages {client=1,kind=ask}, crashes_left 1", "session[0]: phase holding", "session[1]: phase idle",
    ]  # fmt: skip
    assert state == LOCK.state(state)
    assert state != LOCK.state(state, holder="none")
    assert hash(state) == hash(LOCK.state(state))


def test_a_state_in_hand_can_be_copied() -> None:
    [state] = LOCK.initial()
    for other in (copy.copy(state), copy.deepcopy(state), copy.deepcopy([state])[0]):
        assert (other == state, repr(other), other is state) == (True, repr(state), False)
    assert LOCK.take(copy.deepcopy(state), "client_asks", client=1) == LOCK.take(state, "client_asks", client=1)


def test_an_action_leads_to_another_state_and_says_what_changed() -> None:
    [start] = LOCK.initial()
    asked = LOCK.take(start, "client_asks", client=1)
    granted = LOCK.take(asked, "server-grants", m={"kind": "ask"})
    assert start.changes_to(asked) == ["messages + {client=1,kind=ask}", "session[1].phase idle -> waiting"]
    assert granted.holder == 1
    assert LOCK.steps(asked) == [
        "client-asks client=0", "server-grants m={client=1,kind=ask}", "client-crashes client=1",
    ]  # fmt: skip
    assert LOCK.take(asked, "server-grants", m=asked.messages._items[0]) == granted
    assert LOCK.take(asked, "server-grants m={client=1,kind=ask}") == granted


def test_what_refuses_an_action_is_named() -> None:
    [start] = LOCK.initial()
    refuses = "`require(s.session[client].phase == Phase.HOLDING)` refuses"
    assert LOCK.why_not(start, "client-releases", client=0) == refuses
    assert LOCK.why_not(start, "client-asks", client=0) == ""
    with pytest.raises(UsageError, match=r"^client-releases client=0 is not possible here, because `require\("):
        LOCK.take(start, "client-releases", client=0)


def test_a_property_is_asked_about_one_state() -> None:
    both = LOCK.state(session=[{"phase": "holding"}, {"phase": "holding"}])
    assert not LOCK.holds(both, "one-holds")
    assert not LOCK.holds(both, "the_server_knows")
    assert LOCK.holds(LOCK.initial()[0], "one_holds")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda _: LOCK.state(holdr=0), "record State has no field 'holdr'. Did you mean 'holder'?"),
        (lambda _: LOCK.state(session={0: {"phase": "busy"}}),
            "Session.phase cannot be 'busy': expected a number, or one of: idle"),
        (lambda s: LOCK.take(s, "client-asks"), "action 'client-asks' needs a value for 'client': write client=..."),
        (lambda s: LOCK.take(s, "client-asks", clinet=0),
            "action 'client-asks' has no parameter 'clinet'. Did you mean 'client'?"),
        (lambda s: LOCK.take(s, "server-grants", m={"kind": "ask"}),
            "messages contains no message {'kind': 'ask'}: name the fields"),
        (lambda s: LOCK.take(s, "client-asks", client=2),
            "2 is not in the domain of parameter 'client' of action 'client-asks': expected a number from 0 to 1."),
        (lambda s: LOCK.why_not(s, "client-asks", client=-1),
            "-1 is not in the domain of parameter 'client' of action 'client-asks'"),
        (lambda s: LOCK.take(s, "client-asks", client=0.5), "parameter 'client' cannot be 0.5: expected a whole"),
        (lambda s: LOCK.take(s, "server-grants", m=1),
            "parameter 'm' cannot be 1: expected a dictionary of fields of a message in flight."),
        (lambda s: LOCK.take(s, "server-grants", m={0: 0}), "record Message has no field 0. The fields are: client"),
        (lambda _: LOCK.state(session={"first": {}}), "an index cannot be 'first': expected a whole number."),
        (lambda _: LOCK.state(holder=None), "State.holder cannot be None: expected a whole number."),
        (lambda _: LOCK.state(session=1), "an array cannot be 1: expected a list, or a dictionary by index."),
        (lambda _: LOCK.state(messages=1), "what is in flight cannot be 1: expected a list of messages."),
        (lambda _: LOCK.state(messages=["ask"]), "record Message cannot be 'ask': expected a dictionary of its fields"),
        (lambda s: LOCK.holds(s, "one-hold"), "protocol 'lock' has no property 'one-hold'. Did you mean 'one-holds'?"),
        (lambda s: LOCK.holds(s, "who-waits-gets-it"), "property 'who-waits-gets-it' concerns more than one state"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(ask: object, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        ask(LOCK.initial()[0])
    assert str(caught.value).startswith(says)


TABLES = """
class Message(Record):
    number: Annotated[int, Range(0, 3)]
    sender: Annotated[int, Index(2, none=True)]
class State(Record):
    table: Annotated[Array[Annotated[Array[Annotated[int, Range(0, 3)]], Size(2)]], Size(2)]
    channel: Annotated[Array[Annotated[Channel[Message], Size(2)]], Size(2)]
@action(to=Index(2))
def cuts(s, c, to):
    require(len(s.channel[to]) > 0)
    s.channel[to].clear()
"""


def test_arrays_of_arrays_and_channels_are_filled_too() -> None:
    hand = in_hand(*machine_of(TABLES))
    state = hand.state(table=[[0, 1], [2, 0]], channel={1: [{"number": 2, "sender": "none"}]})
    assert (state.table[1][0], state.channel[1][0].number, len(state.channel[0])) == (2, 2, 0)
    assert hand.take(state, "cuts", to=1) == hand.state(state, channel={1: []})
