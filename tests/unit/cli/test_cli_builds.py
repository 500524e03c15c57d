"""`check --junit`, `--sarif` and `--github`: reports in the formats of builds."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.asking.model_files import load_protocol
from fencepost.cli.builds.outcomes import CheckedRun, End, outcomes
from fencepost.invariants import lineage
from fencepost.invariants.catalogue import Profile, runs
from junitparser import Error, Failure, JUnitXml

from tests.helpers.commands import KIP101, data_of, fencepost
from tests.helpers.places import MACHINES

pytest.importorskip("fencepost.explorers.native.search")  # imported now, as `pytester` forgets later imports
MAILBOX = MACHINES / "mailbox.py"
SMALL = ("--engine", "plain", "--quiet", "--set", "clients=1")
BY_NAME = {item.name: item for item in runs()}


def cases(file: Path) -> dict[str, list[Any]]:
    found = JUnitXml.fromfile(str(file))
    for one in (found, *found):
        results = [result for suite in (found if one is found else [one]) for case in suite for result in case.result]
        assert one.failures == sum(isinstance(result, Failure) for result in results)
        assert one.errors == sum(isinstance(result, Error) for result in results)
    assert found.tests == sum(suite.tests for suite in found) == sum(len(list(suite)) for suite in found)
    return {case.name: list(case.result) for suite in found for case in suite}


def check(folder: Path, *args: str) -> tuple[int, dict[str, list[Any]], dict[str, Any]]:
    result = fencepost("check", *args, "--junit", str(folder / "j.xml"), "--sarif", str(folder / "s.sarif"))
    data = json.loads((folder / "s.sarif").read_text())
    assert data["version"] == "2.1.0"
    [run] = data["runs"]
    assert all(run["tool"]["driver"]["rules"][item["ruleIndex"]]["id"] == item["ruleId"] for item in run["results"])
    return result.exit_code, cases(folder / "j.xml"), run


def test_a_violation_is_a_failure_with_its_steps(tmp_path: Path) -> None:
    status, found, run = check(tmp_path, str(MAILBOX), *SMALL, "--without", "deduplicate")
    assert status == 1
    assert {name for name, result in found.items() if result} == {"requests-run-once"}
    [failure] = found["requests-run-once"]
    assert isinstance(failure, Failure)
    assert failure.type == "violated"
    assert failure.message == "requests-run-once is violated for client=0: the shortest trace has 5 states"
    assert re.search(r"^1 send client=0\n2 serve .*\n3 send-again client=0$", failure.text, re.MULTILINE)
    [result] = run["results"]
    assert (result["ruleId"], result["kind"], result["level"]) == ("mailbox/requests-run-once", "fail", "error")
    assert run["invocations"] == [{"executionSuccessful": True}]


def test_the_location_is_the_line_of_the_property_and_the_flow_has_the_lines_of_the_actions(tmp_path: Path) -> None:
    _, _, run = check(tmp_path, *KIP101[1:], "--quiet")
    result = run["results"][0]
    source = Path(lineage.__file__)
    where = result["locations"][0]["physicalLocation"]
    assert where["artifactLocation"]["uri"] in ("invariants/lineage.py", source.as_uri())
    assert source.read_text().splitlines()[where["region"]["startLine"] - 1] == "def weak_isr(s: State, c: C) -> bool:"
    [flow] = result["codeFlows"][0]["threadFlows"]
    texts = [item["location"]["message"]["text"] for item in flow["locations"]]
    assert texts[0].startswith("initial: ")
    assert texts[1] == "1 controller-elect-leader leader=0"
    assert [item["executionOrder"] for item in flow["locations"]] == list(range(1, 13))
    names = [item["location"]["logicalLocations"][0]["fullyQualifiedName"] for item in flow["locations"]]
    assert names[1] == "fencepost.model.lineage.base.controller_elect_leader"
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert "LIN-1" in rule["properties"]["tags"]
    assert "hachikuji/kafka-specification, WeakIsr" in rule["fullDescription"]["text"]


@pytest.mark.parametrize(("switch", "passes"), [("--without", True), ("--with", False)])
def test_an_expected_violation_passes_and_a_missing_one_fails(switch: str, *, passes: bool, tmp_path: Path) -> None:
    status, found, run = check(tmp_path, str(MAILBOX), *SMALL, switch, "deduplicate", "--expect", "violated")
    assert status == (0 if passes else 1)
    assert list(found) == ["verdict"]
    assert bool(found["verdict"]) is not passes
    assert bool(run["results"]) is not passes
    if not passes:
        [failure] = found["verdict"]
        assert failure.message.startswith("holds, expected violated")


def put(monkeypatch: pytest.MonkeyPatch, *names: str, **changed: Any) -> None:
    chosen = tuple(replace(BY_NAME[name], profile=Profile.QUICK, **changed) for name in names)
    monkeypatch.setattr("fencepost.api.calls.catalogue.runs", lambda: chosen)


def test_runs_of_the_catalogue_pass_if_they_fail_as_they_must(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "kip101 2/2/2/2", "kip320 2/2/2/2")
    status, found, run = check(tmp_path, "--quiet")
    assert (status, any(found.values()), "figures" in found, run["results"]) == (0, False, True, [])
    suites = {suite.name: suite.tests for suite in JUnitXml.fromfile(str(tmp_path / "j.xml"))}
    assert suites == {"kip101 2/2/2/2": 8, "kip320 2/2/2/2": 8}


def test_a_run_that_differs_fails_where_it_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "kip101 2/2/2/2", violated={"weak-isr": 12})
    status, found, run = check(tmp_path, "--quiet")
    message = "strong-isr: violated, expected holds"
    assert [(name, item.message) for name, result in found.items() for item in result] == [("strong-isr", message)]
    assert [item["message"]["text"] for item in run["results"]] == [f"kip101 2/2/2/2: {message}."]
    assert status == 1


def test_a_run_that_was_not_begun_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(monkeypatch, "kip101 2/2/2/2", "kip320 2/2/2/2")
    status, found, run = check(tmp_path, "--quiet", "--budget", "0.000001s")
    assert status == 3
    [error] = found["verdict"]
    assert isinstance(error, Error)
    assert error.message.startswith("kip320 2/2/2/2 was not run: the time limit of")
    assert run["invocations"][0]["executionSuccessful"] is False


def test_github_gets_an_annotated_property_and_a_diagram(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    result = fencepost("check", str(MAILBOX), *SMALL, "--without", "deduplicate", "--github")
    line = MAILBOX.read_text().partition("def requests_run_once")[0].count("\n") + 1
    [annotation] = [text for text in result.stdout.splitlines() if text.startswith("::")]
    where, _, said = annotation.removeprefix("::error ").partition("::")
    assert f"line={line},title=mailbox%3A requests-run-once is violated" in where
    assert said.startswith("requests-run-once is violated for client=0: the shortest trace has 5 states%0A")
    text = (tmp_path / "summary.md").read_text()
    assert text.startswith("## Fencepost\n\n7 verdicts: 6 passed, 1 failed.\n")
    assert "```mermaid\nsequenceDiagram\n" in text
    assert text.count("<details>") == text.count("</details>") == 1
    assert fencepost("check", str(MAILBOX), *SMALL, "--github").exit_code == 0
    assert (tmp_path / "summary.md").read_text().count("## Fencepost") == 2


def test_annotations_leave_json_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    result = fencepost("check", str(MAILBOX), *SMALL, "--without", "deduplicate", "--github", "--json")
    data = data_of(result)
    assert {"verdict": "violated"}.items() <= data.items()
    assert {"deduplicate": False, "resend": "always"}.items() <= data["constants"].items()
    assert result.stderr.startswith("::error ")


def test_a_summary_that_cannot_be_written_is_refused_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "/no/such/folder/summary")
    assert fencepost("check", str(MAILBOX), *SMALL, "--github").exit_code == 2


def test_every_verdict_is_a_pass_a_failure_or_an_error() -> None:
    whole, ends = data_of(fencepost("check", str(MAILBOX), *SMALL, "--without", "deduplicate", "--json")), {}
    for verdict in ("holds", "proved", "violated", "unreached", "undetermined", "not-found"):
        item = {"name": "requests-run-once", "kind": "always", "verdict": verdict, "length": 2}
        report = CheckedRun(load_protocol(MAILBOX), {**whole, "properties": [item]})
        [ends[verdict]] = (found.end for found in outcomes(report))
    assert ends == {
        "holds": End.PASSED, "proved": End.PASSED, "violated": End.FAILED, "unreached": End.ERROR,
        "undetermined": End.ERROR, "not-found": End.ERROR,
    }  # fmt: skip
