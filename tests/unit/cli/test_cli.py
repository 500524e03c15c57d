"""`fencepost check`, `replay` and `show`: their output, their words, and their exit status."""

from pathlib import Path

import pytest

from tests.helpers.commands import KIP101, KIP320, VARIABLE, data_of, fencepost
from tests.helpers.written import file_of

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


def test_json_of_a_check_has_the_keys_of_the_contract() -> None:
    result = fencepost(*KIP320, "--json", "--quiet")
    found = data_of(result)
    assert result.exit_code == 0
    assert result.stderr == ""
    assert found["format"] == 1
    assert (found["protocol"], found["engine"], found["verdict"], found["complete"]) == (
        "kip320",
        "native",
        "holds",
        True,
    )
    assert found["constants"] == {"replicas": 2, "log_size": 2, "max_records": 2, "max_leader_epoch": 1}
    assert (found["distinct"], found["generated"], found["depth"]) == (957, 1801, 15)
    assert found["properties"][:2] == [
        {"name": "weak-isr", "kind": "always", "verdict": "holds"},
        {"name": "strong-isr", "kind": "always", "verdict": "holds"},
    ]
    assert found["actions"][-1]["name"] == "follower-fetch"
    assert sum(item["fired"] for item in found["actions"]) == found["generated"] - 1
    assert VARIABLE | {"why_stopped", "guards", "deadlocks", "levels"} < found.keys()


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
    assert replayed.stdout == f"{file}: kip101: weak-isr is violated: a trace of 12 states, as the file says\n"
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
    assert result.exit_code == 0
    assert f"nothing is violated, so {file} was not written\n" in result.stderr
    assert not file.exists()


def test_a_page_tells_verdict_properties_reach_and_every_violation() -> None:
    page = fencepost(*KIP101, "-v").stdout
    assert page.startswith("A replica that lacks a committed record can be elected: `strong-isr`, 12 states. 2 of 3 ")
    assert "\nkip101: KIP-101: " in page
    for text in (
        "weak-isr                   always     violated: shortest trace 12 states\n  A replica that presumes to lead",
        "follower-truncates         sometimes  reached: shortest trace 6 states\n",
        (
            "always: must hold in every reachable state; sometimes: a "
            "witness, which some reachable state or step\nmust satisfy.\n"
        ),
        "ends            444 states without a successor, normal when budgets are used up; --deadlock shows\n",
        "constants       replicas=2 log_size=2 max_records=2 max_leader_epoch=2\n",
        "search          complete: every reachable state was visited\n",
        "states          9,045 distinct, 21,447 generated, depth 18\n",
        "  552  controller-elect-leader\n",
        " 15,736  s.next_leader_epoch <= c.max_leader_epoch\n",
        "strong-isr is violated: the shortest trace has 12 states\n",
        "weak-isr is violated for leader=0, member=1, offset=0: by the same steps as strong-isr\n",
    ):
        assert text in page
    assert not [line for line in page.splitlines() if line != line.rstrip()]


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
    page = fencepost(*KIP320, "--compact").stdout
    assert page.startswith("All 3 guarantees hold, up to fingerprint collisions (at most 2.5e-14): no state")
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


def test_dead_actions_are_named() -> None:
    page = fencepost(*KIP320, "--set", "max_records=2", "--max-depth", "1", "-v").stdout
    assert "never fired  controller-elect-leader, " in page


def test_a_deadlock_is_shown_if_asked_for() -> None:
    page = fencepost(*KIP320, "--deadlock").stdout
    assert "no action is enabled: the shortest trace has " in page


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
