"""Ten questions of an agent that has only `fencepost mcp`, asked by the library's client; and bad input."""

import json
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fencepost.api.calls.agents import MOST_STEPS, TOOLS, answer

from tests.helpers.audits import unpack
from tests.helpers.commands import refused
from tests.helpers.places import MACHINES

needs_mcp = pytest.mark.skipif(find_spec("mcp") is None, reason="pip install 'fencepost[mcp]'")
needs_audit = pytest.mark.skipif(find_spec("pyarrow") is None, reason="pip install 'fencepost[audit]'")
SMALL = {"brokers": 2, "min_isr": 2}
Question = tuple[str, str, dict[str, Any]]
QUESTIONS: dict[str, Question] = {
    "Can records be lost on 4.1.2 with 3 replicas and min ISR 2?": ("advise", "answer", {"kafka": "4.1.2"}),
    "May I replace a disk there now?": ("advise", "answer", {"kafka": "4.1.2", "operation": "replace a disk"}),
    "Can a 3-broker cluster with 3 replicas move one?": ("advise", "operations", {"kafka": "4.4.0", "brokers": 3}),
    "Is replacing the disk repaired in 4.3?": ("explain", "entries", {"name": "HYP-17"}),
    "What avoids HYP-10?": ("explain", "entries", {"name": "hyp-10"}),
    "What does leader-has-acknowledged promise?": ("explain", "property", {"name": "leader-has-acknowledged"}),
    "Does kip320 keep its properties with 2 replicas?": ("check", "verdict",
        {"protocol": "kip320", "constants": {"replicas": 2}}),
    "What does kafka-4.1 violate first with 2 brokers?": ("check", "shortest",
        {"protocol": "replication", "version": "kafka-4.1", "constants": SMALL}),
    "Why can replica 0 not write at the beginning?": ("why_not", "why_not",
        {"protocol": "kip320", "constants": {"replicas": 2}, "action": "leader-write leader=0"}),
    "Where do kip320 and kip279 differ?": ("compare", "actions",
        {"a": "kip320", "b": "kip279", "constants": {"replicas": 2}}),
}  # fmt: skip
"""Questions in words, with the tool for each, the key of its answer, and its arguments."""


def right(question: str, said: Any) -> bool:
    rows = {row["operation"]: row for row in said} if isinstance(said, list) and "operation" in said[0] else {}
    entry = said[0] if isinstance(said, list) and not rows else {}
    return {
        0: lambda: said.startswith("Yes: "),
        1: lambda: said.startswith("Replace a disk: only with care; it can lose records"),
        2: lambda: rows["move"]["outcome"] == "impossible" and rows["move"]["instead"] == "add a broker first",
        3: lambda: entry["releases"] == ["4.0", "4.1", "4.2"],
        4: lambda: "wait until the ISR has reached min ISR again" in entry["avoid"],
        5: lambda: said == "leader-has-acknowledged",
        6: lambda: said == "holds",
        7: lambda: said["property"] == "maximal-isr-covers-requests" and 0 < len(said["steps"]) <= MOST_STEPS,
        8: lambda: "presumes_leadership" in said,
        9: lambda: "leader-expand-isr" in said["guards"],
    }[list(QUESTIONS).index(question)]()


def asked(calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the tools of a started server, and its answers, from a session over the standard streams."""
    import anyio
    import mcp
    from mcp.client.stdio import stdio_client

    server = mcp.StdioServerParameters(command=sys.executable, args=["-m", "fencepost", "mcp"])

    async def session() -> tuple[list[str], list[dict[str, Any]]]:
        async with stdio_client(server) as streams, mcp.ClientSession(*streams) as client:
            await client.initialize()
            tools = [tool.name for tool in (await client.list_tools()).tools]
            found = [await client.call_tool(name, given) for name, given in calls]
            return tools, [json.loads(item.content[0].text) for item in found]

    return anyio.run(session)


@pytest.mark.long
@needs_mcp
def test_an_agent_answers_ten_questions_rightly() -> None:
    calls = [(tool, given) for tool, _, given in QUESTIONS.values()]
    tools, answers = asked([*calls, ("advise", {"replicas": "three"})])
    assert tools == [tool.__name__ for tool in TOOLS]
    assert list(answers.pop()) == ["error"]
    for (question, (_, key, _)), said in zip(QUESTIONS.items(), answers, strict=True):
        assert "error" not in said, question
        assert right(question, said[key]), (question, said[key])
        assert "evidence" in json.dumps(said) or key == "property", question
        assert len(json.dumps(said)) < 8_000, question


@pytest.mark.long
def test_answers_have_what_was_assumed_where_it_was_seen_and_what_to_do(tmp_path: Path) -> None:
    made = answer("advise", {"kafka": "3.9.0"})
    assert made["assumed"] == ["elr"]
    assert any("KAFKA-18991" in note for note in made["notes"])
    (entry,) = answer("explain", {"name": "HYP-10"})["entries"]
    assert entry["releases"] == ["4.0", "4.1", "4.2", "4.3", "4.4"]
    assert list(entry["clusters"]) == ["4.1.2", "4.4.0"]
    made = answer("compare", {"a": "kip320 replicas=2", "b": "kip279 replicas=2"})
    assert (made["first"]["side"], made["first"]["steps"][0]) == ("b", "controller-elect-leader leader=1")
    if find_spec("pyarrow") is not None:
        made = answer("audit", {"paths": [str(unpack("hyp-10-4.4.0", tmp_path))]})
        assert {item["about"] for item in made["findings"]} > {"HYP-10"}
        assert "keep that broker down" in made["to_do"]["removed-replica-elected"]
        assert made["answer"].startswith("Records of t-0 may be lost (critical, ")
    assert answer("explain", {"name": "removed-replica-elected"})["about"] == "HYP-10"


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("check", {"protocol": "kip32"}, "Did you mean 'kip320'?"),
        ("explain", {"name": "HYP-99"}, "there is no entry 'HYP-99'"),
        ("why_not", {"protocol": "kip320", "action": "leader-writes leader=0"}, "no action 'leader-writes'"),
        ("why_not", {"protocol": "kip320", "action": "leader-write leader=0", "steps": ["leader-write leader=0"]},
            "is not possible"),
        ("compare", {"a": "kip320", "b": "nothing"}, "nothing"),
        ("advise", {"kafka": "3.8"}, "Fencepost does not support Kafka"),
        ("advise", {"replicas": 0}, "1 or more"),
        ("advise", {"replicas": "three"}, "replicas cannot be 'three': expected a whole number"),
        ("advise", {"brokrs": 3}, "Did you mean 'brokers'?"),
        ("advise", {"operation": "replace disk"}, "Did you mean 'replace-a-disk'?"),
        ("advise", {"operation": "turn-elr-off", "kafka": "3.9"}, "have no ELR"),
        ("check", {}, "needs protocol: write protocol"),
        pytest.param("audit", {"paths": ["/nowhere"]}, "/nowhere does not exist", marks=needs_audit),
    ],
)  # fmt: skip
def test_bad_input_is_one_message_in_the_answer(tool: str, given: dict[str, Any], said: str) -> None:
    found = answer(tool, given)
    assert list(found) == ["error"]
    assert said in found["error"]
    assert "Traceback" not in found["error"]
    assert "\n" not in found["error"]


def test_a_search_that_is_cut_off_says_so_and_claims_nothing() -> None:
    made = answer("check", {"protocol": "kip320", "seconds": 1, "constants": {"log_size": 4, "max_records": 60}})
    assert made["bounded"]
    assert ("holds" in made, made["verdict"]) == (False, "undetermined")


def test_a_check_decides_leads_to_properties_and_has_the_bounds_and_warnings() -> None:
    made = answer("check", {"protocol": str(MACHINES / "rooms.py")})
    assert {"gets-light", "goes-dark"} <= {*made.get("holds", ()), *made.get("violated", ())}
    assert [text[:21] for text in made["warnings"]] == ["there is no witness, "]
    bounded = answer("check", {"protocol": "kip320", "constants": {"replicas": 2}})
    assert bounded["bounds_reached"] == {"log_size": 2, "max_records": 2, "max_leader_epoch": 2}


def test_without_the_library_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert "pip install 'fencepost[mcp]'" in refused("mcp")
