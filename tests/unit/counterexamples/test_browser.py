"""The explorer's engine, by the entry point that the browser calls: links, states, refusals, traces, stories."""

import json
import random
import socket
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from fencepost.api import replay
from fencepost.counterexamples.browser import links, page
from fencepost.counterexamples.browser.book import Book, Story, stories
from fencepost.counterexamples.browser.serving import HOST, address, server
from fencepost.counterexamples.browser.session import Session, described
from fencepost.counterexamples.browser.setting import set_up
from fencepost.counterexamples.browser.view import VIOLATED, arrival
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.replay import replay_text
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.explorers.program.subset.program import check, guards_of
from fencepost.invariants.protocols import protocol
from fencepost.model.language.errors import DisabledError, UsageError
from fencepost.model.language.interpreter import Interpreter

from tests.helpers.commands import refused
from tests.helpers.parameters import few

KIP_903 = "replication-b09-kip-903"


def asking() -> tuple[Session, Any]:
    session = Session()

    def ask(what: str, **question: Any) -> Any:
        if what in ("step", "refusals", "save", "measure"):
            question.setdefault("base", list(session.opened)[-1])
        return json.loads(session.answer(json.dumps({"ask": what, **question})))

    return session, ask


def text_of(name: str) -> str:
    return (ARCHIVE / f"{name}.trace").read_text()


def opened(name: str) -> tuple[Any, Any]:
    _, ask = asking()
    return ask("open", link=ask("trace", text=text_of(name))["link"]), ask


def ways_end(data: Any, steps: Any) -> Any:
    last = data["arrivals"][0]
    for step in steps:
        last = data["arrivals"][data["states"][last["state"]]["leads"][step]]
    return last


def test_a_link_holds_protocol_version_constants_guards_and_steps_and_gives_them_back() -> None:
    made = links.link(
        "replication",
        constants={"brokers": 3, "loss": "any", "elr": "on", "partial_loss": "off"},
        removed=["leader-handles-fetch 1"],
        steps=["broker-crashes broker=1 kept=0", "x m={a={0,1},b=[0,1]}"],
    )
    assert made == (
        "#replication?brokers=3&loss=any&elr=true&partial_loss=false&removed=leader-handles-fetch+1"
        "&steps=broker-crashes+broker=1+kept=0;x+m={a={0,1},b=[0,1]}"
    )
    made = made.replace("?", "?version=kafka-4.1&")
    found = links.read(made)
    assert (found.version, found.removed) == ("kafka-4.1", ("leader-handles-fetch 1",))
    assert found.constants == {"brokers": "3", "loss": "any", "elr": "true", "partial_loss": "false"}
    assert found.steps == ("broker-crashes broker=1 kept=0", "x m={a={0,1},b=[0,1]}")
    assert found.text == made
    assert links.link("kip320") == "#kip320"
    assert links.link_of_trace(f"{KIP_903}.trace") == f"#trace={KIP_903}"


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"constants": {"brokerz": 3}}, "no constant 'brokerz'. Did you mean 'brokers'"),
        ({"removed": ["leader-appends 9"]}, "no guard 'leader-appends 9'"),
        ({"constants": {"brokers": 77}}, "out of range"),
    ],
)
def test_a_link_to_what_is_not_there_is_refused(asked: dict[str, Any], answer: str) -> None:
    with pytest.raises(UsageError, match=answer.replace("?", r"\?")):
        links.link("replication", **asked)


@pytest.mark.parametrize(
    "name",
    [KIP_903, "kip101-weak-isr", "quorum-b36-kafka-12460", "hints-and-tokens-handled-first", "leader-discovery-hyp-6"],
)
def test_an_archived_trace_opens_and_ends_in_its_violation(name: str) -> None:
    found, _ = opened(name)
    trace = read(ARCHIVE / f"{name}.trace").trace
    assert found["stopped"] is None
    assert [view.get("step") for view in found["views"][1:]] == [trace.interpreter().show(step) for step in trace.steps]
    assert trace.prop is not None
    last = {item["name"]: item["status"] for item in found["views"][-1]["properties"]}
    assert last[trace.prop.name] == VIOLATED


def test_refusals_are_those_of_the_plain_interpreter_on_random_states() -> None:
    draw = random.Random(25)  # noqa: S311 (no secret)
    for name in ("replication", "quorum", "leader-discovery"):
        _, ask = asking()
        machine = protocol(name).machine
        plain, guards = Interpreter(machine, machine.set_constants({})), guards_of(check(machine))
        shown = ask("open", link=f"#{name}")["views"][0]
        key = plain.initial_states()[0]
        for _ in range(4):
            can = [plain.show(item.step) for item in plain.transitions(key)]
            assert [step for action in shown["actions"] for step in action["can"]] == can
            for item in draw.sample(machine.actions, 3):
                wanted = []
                for step in plain.steps(item, key):
                    try:
                        plain.apply(key, step)
                    except DisabledError as error:
                        wanted.append((plain.show(step), guards.texts(item)[guards.refused(item, error)]))
                found = ask("refusals", state=shown["id"], action=item.label)["refusals"]
                assert sorted((why["step"], why["guard"]) for why in found) == sorted(wanted)
                cannot = [why for act in shown["actions"] if act["label"] == item.label for why in act["cannot"]]
                assert sum(why["count"] for why in cannot) == len(wanted)
            if not can:
                break
            taken = draw.choice(can)
            key = next(item.after for item in plain.transitions(key) if plain.show(item.step) == taken)
            shown = ask("step", state=shown["id"], step=taken)


def test_a_refusal_says_which_part_of_the_guard_decides_and_the_values_in_it() -> None:
    found, ask = opened("replication-hyp-10")
    last = found["views"][-1]["id"]
    refused = {why["step"]: why for why in ask("refusals", state=last, action="leader-handles-fetch")["refusals"]}
    why = refused["leader-handles-fetch leader=0 follower=1"]
    assert (why["guard"], why["decided"]) == ("serves(s, c, leader, follower)", "image.leader == leader")
    assert why["values"] == ["image.leader=1", "leader=0"]
    [appends, *_] = ask("refusals", state=last, action="leader-appends")["refusals"]
    assert (appends["bound"], appends["values"]) == ("max_records", ["s.written=1", "c.max_records=1"])


def test_a_guard_that_is_named_twice_or_by_all_its_parts_is_taken_out_once() -> None:
    _, ask = asking()
    base, parted = "#truncate-to-hwm?removed=", "leader-increase-high-watermark 3"

    def seen(*names: str) -> Any:
        found = ask("open", link=base + ",".join(names))
        return found["about"]["removed"], found["views"][0]["actions"]

    removed, actions = seen(f"{parted}a", f"{parted}b")
    assert [item["name"] for item in removed] == [f"{parted}a", f"{parted}b"]
    whole = seen(parted)
    assert actions == whole[1]
    assert seen(parted, parted) == whole
    assert seen(f"{parted}b", parted)[1] == whole[1]


def test_steps_are_refused_with_the_guard_and_unknown_ones_with_what_there_is() -> None:
    _, ask = asking()
    assert "there is no protocol 'kip32'" in ask("open", link="#kip32")["error"]
    first = ask("open", link="#kip320?replicas=2")["views"][0]
    unknown = ask("step", state=first["id"], step="leader-writ leader=0")["error"]
    assert "has no action 'leader-writ'. Did you mean 'leader-write'?" in unknown
    refused = next(why for item in first["actions"] for why in item["cannot"])
    assert f"the guard `{refused['guard']}` refuses it" in ask("step", state=first["id"], step=refused["step"])["error"]
    stopped = ask("open", link=links.link("kip320", constants={"replicas": 2}, steps=[refused["step"]]))
    assert (stopped["stopped"]["step"], len(stopped["views"])) == (refused["step"], 1)


def test_a_history_is_saved_as_a_trace_that_replays_and_one_that_shows_nothing_is_not() -> None:
    found, ask = opened("kip101-weak-isr")
    steps = [view["step"] for view in found["views"][1:]]
    saved = ask("save", steps=steps)
    assert saved["name"] == "kip101-weak-isr.trace"
    assert replay_text(saved["text"]).trace.prop.name == "weak-isr"
    said = "a trace must end with a violated property, a reached witness or a deadlock"
    assert said in ask("save", steps=[])["error"]


def test_along_an_archived_trace_it_is_known_how_far_the_violation_is() -> None:
    found, ask = opened(KIP_903)
    far = ask("measure", traces=[text_of(KIP_903), text_of("kip101-weak-isr")])["far"]
    steps = [far[str(view["id"])]["steps"] for view in found["views"]]
    assert steps == list(range(len(steps) - 1, -1, -1))
    assert far[str(found["views"][0]["id"])]["property"] == "joining-epoch-is-registered"


@pytest.mark.long
def test_a_book_leads_from_state_to_state_as_the_semantics_do_and_says_where_it_ends() -> None:
    trace = read(ARCHIVE / "kip101-weak-isr.trace").trace
    setting = set_up(links.read(described(trace)["link"]))
    book = Book(setting)
    book.history(setting.initial(), setting.link.steps)
    data = book.data()
    keys = {number: key for key, number in book.numbers.items()}
    inside = [number for number, item in enumerate(data["states"]) if not item["ends"]]
    for number in inside:
        came = {setting.plain.show(item.step): item.after for item in setting.plain.transitions(keys[number])}
        leads = data["states"][number]["leads"]
        assert {step: keys[data["arrivals"][after]["state"]] for step, after in leads.items()} == came
    assert ways_end(data, setting.link.steps)["state"] in inside
    assert len(inside) < len(data["states"])
    for number in inside:
        for step, after in data["states"][number]["leads"].items():
            came = setting.plain.apply(keys[number], setting.step(step))
            made = arrival(setting, came.after, keys[number], came)
            for name in ("cards", "changes"):
                assert [data["texts"][item] for item in data["arrivals"][after][name]] == made[name]
    small = Book(setting, most=20_000)
    small.history(setting.initial(), setting.link.steps)
    assert small.size < 60_000


def test_what_the_browser_loads_is_enough_and_asks_for_the_standard_library_only(tmp_path: Path) -> None:
    page.archive(tmp_path / "sources.zip")
    with zipfile.ZipFile(tmp_path / "sources.zip") as found:
        found.extractall(tmp_path / "packages")
    code = (
        "import sys, json\n"
        f"sys.path[:] = [{str(tmp_path / 'packages')!r}, *(item for "
        "item in sys.path if 'site-packages' not in item and item)]\n"
        "sys.meta_path = [item for item in sys.meta_path if getattr(item, "
        "'__module__', type(item).__module__).startswith(('_frozen', 'importlib'))]\n"
        "from fencepost.counterexamples.browser.session import Session\n"
        "found = json.loads(Session().answer(json.dumps({'ask': 'open', 'link': '#kip320?replicas=2'})))\n"
        "assert found['views'][0]['cards'], found\n"
        "assert not {'jinja2', 'numpy', 'rich', 'click', 'llvmlite', 'networkx'} & sys.modules.keys()\n"
        f"assert sys.modules['fencepost.counterexamples.browser.session'].__file__.startswith({str(tmp_path)!r})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=300)


@pytest.mark.parametrize("story", few(stories(), 4), ids=lambda story: story.name)
def test_a_story_has_a_sentence_for_each_step_ends_in_the_violation_and_with_the_repair_does_not(story: Story) -> None:
    made = story.page()
    parties = {*made["books"]["broken"]["about"]["parties"], "client"}
    steps = story.data["steps"]
    assert len(steps) == len(story.broken.link.steps)
    assert all(item.keys() <= {"says", "believes", "wrong"} and item["says"].endswith(".") for item in steps)
    assert {who for item in steps for who in item.get("believes", {})} <= parties
    assert sum(item.get("wrong", False) for item in steps) == 1
    ends = {}
    for which, book in made["books"].items():
        last = ways_end(book, made["ways"][which])
        said = [book["texts"][item] for item in [*book["states"][last["state"]]["properties"], *last["of_step"]]]
        ends[which] = next(item["status"] for item in said if item["name"] == story.told["property"])
    assert ends == {"broken": "violated", "repaired": "holds"}
    assert len(made["told"]["repaired"]) == len(made["ways"]["repaired"])
    assert bool(made["refusal"] and made["refusal"]["guard"]) is story.stops
    assert not any("`" in words for words in (made["begins"], made["repair"], made["repaired_ending"]))


@pytest.mark.long
def test_the_page_of_a_trace_holds_the_states_within_two_steps_and_says_where_it_ends() -> None:
    made = replay(ARCHIVE / "kip101-weak-isr.trace").render("html")
    assert len(made.encode()) < 3_000_000
    data = json.loads("{" + made.partition("\nexplore({")[2].partition(");\n})();")[0])
    assert data["texts"][ways_end(data, data["steps"])["cards"][0]].startswith("<div class=")
    ends = sum(state["ends"] for state in data["states"])
    assert f"This file contains {len(data['states'])} states. For {ends} of them, it does not contain the next" in made
    assert "import " not in made.rpartition("<script>")[2]


@pytest.mark.long
def test_a_notebook_shows_the_explorer_of_a_history_in_a_frame() -> None:
    shown = replay(ARCHIVE / "kip101-weak-isr.trace").explorer()._repr_html_()
    assert shown.startswith('<iframe title="Explorer" srcdoc="&lt;!DOCTYPE html&gt;')
    assert "Explore from here" in shown


def test_what_cannot_be_opened_is_refused_with_what_can(tmp_path: Path) -> None:
    for name in ("lock", "nothing.trace"):
        assert f"there is no protocol, archived trace or file {name!r}" in refused("explore", name, "--no-browser")
    (tmp_path / "lease.py").touch()
    with pytest.raises(UsageError, match=rf"`fencepost check {tmp_path}/lease\.py` finds a history"):
        address(str(tmp_path / "lease.py"))


def test_without_pyodide_and_npm_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(page.NAMED, raising=False)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    said = r"needs Pyodide .* npm is not installed\. Install Node\.js .* or name a folder"
    with pytest.raises(UsageError, match=said):
        page.find_pyodide()
    monkeypatch.setenv(page.NAMED, str(tmp_path))
    with pytest.raises(UsageError, match=r"pyodide\.mjs does not belong to Pyodide"):
        page.find_pyodide()


TYPES = {"mjs": "text/javascript", "js": "text/javascript", "wasm": "application/wasm", "json": "application/json"}


def test_a_protocol_an_archived_trace_and_a_file_have_their_addresses(tmp_path: Path) -> None:
    assert address(None) == ""
    assert address("kip320") == "#kip320"
    assert address(KIP_903) == address(str(ARCHIVE / f"{KIP_903}.trace")) == f"#trace={KIP_903}"
    copied = tmp_path / "mine.trace"
    copied.write_text(text_of("kip101-weak-isr").replace("title: ", "title: Mine: "))
    assert links.read(address(str(copied))).steps == links.read(described(read(copied).trace)["link"]).steps


def test_a_bound_is_not_taken_out_but_raised_and_its_step_can_then_happen() -> None:
    _, ask = asking()
    found = ask("open", link="#replication?crashes=0")

    def crashes(view: Any) -> Any:
        return next(item for item in view["actions"] if item["label"] == "broker-crashes")

    why = next(item for item in crashes(found["views"][0])["cannot"] if item["bound"])
    assert (why["bound"], why["name"], found["about"]["constants"]["crashes"]) == ("crashes", "", "0")
    assert found["about"]["bounds"]["crashes"] > 0
    assert crashes(ask("open", link="#replication?crashes=1")["views"][0])["can"]


def test_a_state_that_nobody_opened_is_answered_with_a_message() -> None:
    _, ask = asking()
    ask("open", link="#kip320?replicas=2")
    for what in ({"step": "leader-write leader=0"}, {"action": "leader-write"}):
        answer = ask("step" if "step" in what else "refusals", state=7, **what)
        assert "state 7 is not one of the 1 states of this page" in answer["error"]


HEADS = {
    200: [
        *("GET / HTTP/1.1\r\nHost: " + name for name in ("127.0.0.1:{}", "localhost:8000", "LOCALHOST", "[::1]:{}")),
        "GET / HTTP/1.0",
    ],
    403: [
        *("GET / HTTP/1.1\r\nHost: " + name for name in ("evil.example", "evil.example:{}", "127.0.0.1.evil.example",
        "10.0.0.1:{}", "")),
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example", "HEAD / HTTP/1.1\r\nHost: evil.example",
    ],
    404: [
        *(f"GET {path} HTTP/1.1\r\nHost: localhost" for path in ("/folder/", "/../secret", "/%2e%2e/secret",
        "/folder/..%2f..%2fsecret", "http://localhost/../secret")),
    ],
}  # fmt: skip


def test_the_server_answers_to_this_machine_alone_with_its_own_files_and_their_types(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    folder = tmp_path / "page"
    (folder / "folder").mkdir(parents=True)
    (folder / "index.html").write_text("the page")
    with server(folder) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        for status, heads in HEADS.items():
            for head in heads:
                with socket.create_connection((HOST, made.server_port), 10) as asking:
                    asking.sendall(f"{head.format(made.server_port)}\r\n\r\n".encode())
                    answer = asking.makefile("rb").read().decode()
                assert answer.split()[1] == str(status), head
                assert ("the page" in answer) is (status == 200)
                assert "SECRET" not in answer
        for ending, kind in TYPES.items():
            (folder / f"a.{ending}").write_text("1")
            with urlopen(f"http://{HOST}:{made.server_port}/a.{ending}", timeout=60) as answer:
                assert answer.headers["Content-Type"] == kind
        with pytest.raises(UsageError, match="cannot be used"), server(folder, made.server_port):
            pass
        made.shutdown()
