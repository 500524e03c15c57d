"""`fencepost check`, `replay`, `show`, `graph` and `new`: their output, their words, and their exit status."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from fencepost.api.asking.model_files import load_protocol
from fencepost.api.calls.new import new, pytest_command
from fencepost.explorers.liveness.engine import Engine
from fencepost.explorers.plain import search
from fencepost.explorers.running.interrupts import Stopped
from fencepost.explorers.verdict import out_of_memory
from fencepost.model.language.errors import UsageError

from tests.helpers.commands import KIP101, KIP320, data_of, fencepost, fixed, refused, start, wait_for_work
from tests.helpers.places import DOCS, MACHINES, ROOT
from tests.helpers.written import file_of
from tests.machines.lamps import MACHINE
from tests.unit.cli.test_cli_ablate import WANDERER

LIGHTS = str(
    file_of(
        """
class State(Record):
    number: Annotated[int, Range(0, C.n)]
@action()
def count(s, c):
    require(s.number < c.n)
    s.number += 1
@always
def below_two(s, c):
    return s.number < 2
@always
def below_one(s, c):
    return s.number < 1
NOTES = lambda c: (f"The number ends at {c.n}.",)
MACHINE = Machine("lights", "it counts", State, C, initial, (count,), notes=NOTES)
""",
        "lights",
    )
)
"""A machine with a note that violates two properties one after the other."""


def test_a_violation_ends_with_status_1_and_its_trace_replays(tmp_path: Path) -> None:
    file = tmp_path / "found.trace"
    result = fencepost(*KIP101, "--trace", str(file), "--json")
    weak, strong = data_of(result)["properties"][:2]
    assert result.exit_code == 1
    assert (weak["verdict"], weak["length"], weak["trace"]) == ("violated", 12, str(file))
    assert (strong["verdict"], strong["length"], strong["trace"]) == ("violated", 12, None)
    assert len(weak["steps"]) == 11
    assert f"`fencepost replay {file}` replays it" in result.stderr
    replayed = fencepost("replay", str(file))
    assert replayed.stdout == f"{file}: kip101: weak-isr is violated: a trace of 12 states, as recorded in the file\n"
    assert replayed.exit_code == 0
    before = file.read_text()
    assert fencepost("replay", "--rewrite", str(file)).exit_code == 0
    assert file.read_text() == before
    shown = fencepost("show", str(file), "--format", "text")
    assert " 11  become-follower-and-truncate leader=0 follower=1 epoch=2" in shown.stdout
    assert shown.exit_code == 0


def test_no_trace_is_written_where_nothing_is_violated(tmp_path: Path) -> None:
    file = tmp_path / "found.trace"
    result = fencepost(*KIP320, "--trace", str(file))
    assert (result.exit_code, file.exists()) == (0, False)
    assert f"nothing is violated, so {file} was not written\n" in result.stderr


def test_only_one_of_several_traces_is_printed_unless_all_are_asked_for() -> None:
    brief = fencepost("check", LIGHTS, "--set", "n=4", "--engine", "plain").stdout
    assert "below-one is violated: the shortest trace has 2 states\n  1  count\n" in brief
    assert "below-two is violated: " not in brief
    assert brief.startswith(
        "`below-one` is violated: 2 states. 2 of 2 properties are violated.\nNote: The number ends at 4.\n"
    )
    assert brief.endswith("\n\n`below-one` is violated: 2 states.\n")
    other = fencepost("check", LIGHTS, "--engine", "plain", "--property", "below-two").stdout
    assert "below-two is violated: the shortest trace has 3 states\n  1  count\n  2  count\n" in other
    for more in ("--all-traces", "-v"):
        full = fencepost("check", LIGHTS, "--engine", "plain", *more.split()).stdout
        assert "below-two is violated: the shortest trace has 3 states\n" in full


def test_fingerprints_never_claim_more_than_they_can() -> None:
    page = fencepost(*KIP320, "--compact", "-v").stdout
    assert "leader-in-isr-or-none      always     holds, up to fingerprint collisions\n" in page
    assert "search          complete: no state was left to visit\n" in page
    assert "every reachable state was visited" not in page
    compact, exact = (data_of(fencepost(*KIP320, "--json", *more)) for more in (["--compact"], []))
    assert (compact["verdict"], compact["exact"], exact["exact"]) == ("holds", False, True)


def test_an_expectation_that_is_not_met_is_said() -> None:
    assert "\nExpected violated, found holds.\n" in fencepost(*KIP320, "--expect", "violated").stdout
    result = fencepost(*KIP320, "--expect", "violated", "--json")
    assert "kip320: expected violated, found holds\n" in result.stderr
    assert (data_of(result)["expected"], data_of(result)["as_expected"]) == ({"verdict": "violated"}, False)
    assert "Expected" not in fencepost(*KIP320, "--expect", "holds").stdout


def test_dead_actions_are_named_and_a_deadlock_is_shown_if_asked_for() -> None:
    assert "never fired  controller-elect-leader, " in fencepost(*KIP320, "--max-depth", "1", "-v").stdout
    assert "no action is enabled: the shortest trace has " in fencepost(*KIP320, "--deadlock").stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("kip320 --set replicas=2 --expect holds", 0),
        ("kip320 --set replicas=2 --expect violated", 1),
        ("kip101 --set replicas=2 --expect violated", 0),
        ("kip101 --set replicas=2 --expect holds", 1),
        ("kip101 --set replicas=2 --expect holds --property leader-in-isr-or-none", 0),
        ("kip320 --set replicas=2 --expect holds --max-depth 5", 3),
        ("kip320 --set replicas=2 --expect undetermined --max-depth 5", 0),
        ("kip320 --set replicas=1 --engine plain", 3),
        ("kip320 --set replicas=1 --engine plain --expect unreached", 0),
        ("kip101 kip320 --set replicas=2", 1),
    ],
)
def test_the_exit_status_says_whether_the_verdict_is_as_expected(arguments: str, status: int) -> None:
    assert fencepost("check", *arguments.split()).exit_code == status


PLANTED = (MACHINES / "planted.py").read_text()


@pytest.mark.parametrize(
    ("name", "text", "asked", "said"),
    [
        ("vote.py", PLANTED, "vote", "but this folder has a file vote.py: write vote.py"),
        ("ballots", PLANTED, "./ballots", "ballots does not end in .py: "),
        ("ballots.txt", PLANTED, "./ballots.txt", "with a name such as ballots.py."),
        ("vote.py", "x = 1\n\0\n", "vote.py", "fencepost: vote.py: source code string cannot contain null bytes"),
        ("vote.py", PLANTED.replace("bound(2, low=1", "bound(1, low=2"), "vote.py",
            "constant 'seats' has the default 1, which is outside its range: write a default from 2 to 9, or change"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_meant_or_read_is_named(
    name: str, text: str, asked: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert said in refused("check", asked)


ROOMS, COSTS = str(MACHINES / "rooms.py"), str(DOCS / "examples" / "cookbook" / "worst_case.py")


def test_json_tells_loop_values_and_costs() -> None:
    empty, lasting = data_of(fencepost("check", ROOMS, "--json", "--quiet"))["properties"]
    assert (empty["kind"], empty["verdict"], empty["loop"], empty["steps"]) == ("leads-to", "violated", 0, [])
    assert (lasting["for"], lasting["loop"], lasting["length"], len(lasting["steps"])) == ({"room": 0}, 1, 4, 3)
    cost = data_of(fencepost("check", COSTS, "--json", "--quiet"))["properties"][1]
    assert (cost["kind"], cost["verdict"], cost["for"], cost["loop"]) == ("at-most", "holds", {}, None)
    assert (cost["worst"], cost["best"], cost["bound"], cost["unit"]) == (3, 1, 3, "attempts")
    assert len(cost["steps"]) == cost["length"] - 1


def test_the_page_tells_fairness_loop_and_costs() -> None:
    assert "Nothing more happens" in fencepost("check", ROOMS, "--quiet").stdout
    page = fencepost("check", ROOMS, "--quiet", "-v").stdout
    assert "fairness: weak darken" in page
    assert "From here on, forever" in page
    costs = "worst 3 attempts (bound 3), at least 1 attempts: a trace of "
    assert costs in fencepost("check", COSTS, "--quiet", "-v").stdout


@pytest.mark.parametrize(
    ("model", "prop", "verdict"), [(ROOMS, "goes-dark", "violated"), (COSTS, "few-attempts", "worst")]
)
def test_trace_writes_what_replays(model: str, prop: str, verdict: str, tmp_path: Path) -> None:
    file = tmp_path / "x.trace"
    done = fencepost("check", model, "--property", prop, "--trace", str(file), "--quiet")
    assert done.exit_code == (1 if verdict == "violated" else 0)
    assert f"property: {prop}\n" in file.read_text()
    assert f"verdict: {verdict}\n" in file.read_text()
    assert fencepost("replay", str(file), "--model", model).exit_code == 0


def test_a_search_that_was_cut_short_says_nothing_of_whole_behaviours() -> None:
    for model in (ROOMS, COSTS):
        *_, last = data_of(fencepost("check", model, "--json", "--quiet", "--max-depth", "2"))["properties"]
        assert last["verdict"] == "undetermined"


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


def test_dot_marks_what_a_property_says_and_tells_only_fields_that_differ() -> None:
    plain = fencepost("graph", MODEL, *SMALL).stdout
    text = fencepost("graph", MODEL, *SMALL, "--property", "some-lamp-is-dark").stdout
    assert text.startswith('digraph "lamps" {')
    assert ("violated" in text, "violated" in plain) == (True, False)
    assert ("lit=" in plain, "favourite=" in plain) == (True, False)


@pytest.mark.long
def test_a_new_model_and_its_test_run_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = fencepost("new", "two-phase")
    assert made.exit_code == 0
    assert "fencepost check two_phase.py" in made.stdout
    found = load_protocol(Path("two_phase.py"))
    assert (found.name, len(found.properties)) == ("two-phase", 6)
    assert "fencepost new" not in Path("two_phase.py").read_text()
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_two_phase.py"], capture_output=True,
        text=True, check=False, env=dict(os.environ), timeout=300,
    )  # fmt: skip
    assert "2 passed" in ran.stdout, ran.stdout


def test_the_command_for_the_test_works_in_a_clone_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`python -m pytest test_lease.py` runs them" in fencepost("new", "lease").stdout
    assert pytest_command(ROOT / "x.py").startswith("python -m pytest -o addopts= ")


def test_a_new_model_overwrites_nothing(tmp_path: Path) -> None:
    new("lease", tmp_path)
    with pytest.raises(UsageError, match=r"the file .*lease\.py already exists: choose another name"):
        new("lease", tmp_path)


@pytest.mark.parametrize("name", ["../lease", "1st", "", "a b", "json", "class", "typing", "fencepost", "numpy"])
def test_a_name_that_is_none_or_that_python_has_itself_is_refused(name: str, tmp_path: Path) -> None:
    own = f"'{name}' is a Python keyword or an installed module"
    with pytest.raises(UsageError, match=own if name.isidentifier() else "does not name a model: write a word"):
        new(name, tmp_path)
    assert not list(tmp_path.iterdir())


ENDLESS = ["check", "kip320", "--set", "log_size=4", "--set", "max_records=60"]


def test_a_limit_that_nobody_set_says_where_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.explorers.running.interrupts.default_memory", lambda: 1000)
    own, given = (data_of(fencepost(*KIP320, *more, "--json"))["why_stopped"] for more in ([], ["--memory", "600K"]))
    assert own.endswith("was reached (80% of the available memory; `--memory` sets another limit)")
    assert given.startswith("the memory limit of 1 MiB")


SAVED = "the search so far is saved in {}: the same search with `--resume` continues from there"


def resumed(asked: list[str], begun: dict[str, Any]) -> None:
    """Assert that a search which was begun is resumed from its checkpoint, and ends as if it had not been stopped."""
    whole, ended = data_of(fencepost(*asked[:-2])), data_of(fencepost(*asked, "--resume"))
    assert begun["verdict"] == "undetermined"
    assert begun["notes"][0].startswith(SAVED.format(asked[-1]))
    assert ended.pop("notes") == [
        "the search continued from a checkpoint: states and time are totals over all parts of the search."
    ]
    assert whole.pop("notes") == []
    assert fixed(ended) == fixed(whole)


def test_a_search_is_kept_where_its_behaviours_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut_short(_: Engine) -> None:
        raise Stopped(out_of_memory(1))

    asked = ["check", WANDERER, "--json", "--checkpoint", str(tmp_path / "kept")]
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "prepare", cut_short)
        begun = data_of(fencepost(*asked))
    assert begun["distinct"] == 3
    resumed(asked, begun)


def test_a_checkpoint_of_another_question_is_refused_before_anything_is_compiled(tmp_path: Path) -> None:
    checkpoint = ["--checkpoint", str(tmp_path / "kept")]
    fencepost(*KIP101, *checkpoint, "--max-states", "2000")
    message = refused("check", "kip101", *checkpoint, "--set", "replicas=4", "--set", "log_size=4", "--resume")
    assert "compil" not in message
    assert "belongs to another search: the checkpoint has replicas=2 log_size=2, but this search has" in message


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_with_a_partial_result(number: signal.Signals) -> None:
    fencepost("check", "kip320", "--max-depth", "1")  # to compile it
    process = start(*ENDLESS, "--json", "--quiet")
    wait_for_work(process)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    found = json.loads(stdout)
    assert (process.returncode, stderr) == (3, "")
    assert (found["verdict"], found["complete"]) == ("undetermined", False)
    assert found["why_stopped"] == f"{number.name} was received"


def test_ctrl_c_while_compiling_ends_with_an_empty_result(tmp_path: Path) -> None:
    own = {"FENCEPOST_CACHE": str(tmp_path), "FENCEPOST_TIER": "optimized"}
    process = start(*KIP320, "--json", "--checkpoint", str(tmp_path / "kept"), **own)
    assert process.stderr is not None
    assert process.stderr.readline() == "compiling kip320 for 2 replicas ... (cached for the next run)\n"
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=600)
    assert (process.returncode, stderr) == (3, "")
    assert re.fullmatch(
        r"SIGINT was received while (preparing kip320|compiling kip320 for 2 replicas): "
        r"nothing was searched, and no checkpoint was written",
        json.loads(stdout)["why_stopped"],
    )
