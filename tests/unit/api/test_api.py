"""`fencepost.api`: the page's examples run, results are typed and say what the command says, and a caller can end what
he began."""

import doctest
import json
import threading
from collections.abc import Callable
from pathlib import Path

import fencepost.api as f
import pytest
from fencepost.api.calls.new import new
from fencepost.explorers.verdict import Cause

from tests.helpers.commands import data_of, fencepost, fixed
from tests.helpers.places import MACHINES, ROOT
from tests.helpers.written import machine_of
from tests.machines import mailbox

MAILBOX = MACHINES / "mailbox.py"
SMALL = {"clients": 1, "deduplicate": False}


def test_the_pages_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    new("lock")
    found = doctest.testfile(
        str(ROOT / "docs" / "use" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS
    )
    assert found.attempted > 20
    assert found.failed == 0


def test_a_result_is_what_the_command_prints() -> None:
    printed = data_of(
        fencepost(
            "check", str(MAILBOX), "--engine", "plain", "--set", "clients=1", "--without", "deduplicate", "--json"
        )
    )
    returned = json.loads(json.dumps(f.check(MAILBOX, engine="plain", **SMALL).to_dict()))
    assert fixed(returned) == fixed(printed)


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


def test_a_search_in_another_thread_is_cancelled_too() -> None:
    enough, found = threading.Event(), []

    def search() -> None:
        found.append(f.check("kip320", engine="plain", progress=lambda _: enough.set(), cancel=enough.is_set))

    thread = threading.Thread(target=search)
    thread.start()
    thread.join(60)
    assert [item.cause for item in found] == [Cause.CANCELLED]


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


def test_errors_are_of_one_family_and_the_nearest_built_in_one() -> None:
    for what, given in (
        ("kip32", {}),
        ("kip320", {"replica": 2}),
        ("kip320", {"engine": "fast"}),
        (mailbox.MACHINE, {}),
    ):
        with pytest.raises(f.UsageError) as caught:
            f.check(what, **given)
        assert isinstance(caught.value, f.FencepostError)
        assert isinstance(caught.value, ValueError)


def test_the_package_is_light_until_something_is_asked() -> None:
    import subprocess
    import sys

    code = "import sys, fencepost.api; assert not {'numpy', 'pandas', 'rich', 'click'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.parametrize(
    "ask", [lambda: f.check("kip320", engine="spark"), lambda: f.sweep("kip320", grid={"replicas": [2]})]
)
def test_without_spark_it_is_named_with_how_to_install_it(
    ask: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(f.UsageError, match=r'Spark is not installed: run `pip install "fencepost\[spark\]"`'):
        ask()
