"""The page of a trace is self-contained and shows the trace. Tests in a browser cover its behaviour."""

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import pytest
from fencepost.counterexamples.prevention import Prevention, known_as, preventions
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.render.parties import parties
from fencepost.counterexamples.render.pictures import ADDED, DROPPED, SAME, cards
from fencepost.counterexamples.replay import Replay, follow
from fencepost.counterexamples.trace import ARCHIVE

from tests.helpers.parameters import few
from tests.helpers.traces import lamps_trace, rooms_trace
from tests.machines import rooms

SOME = ("kip101-weak-isr", "replication-b09-kip-903", "replication-b02-kip-279-three-records")
pytestmark = pytest.mark.xdist_group("html")
VOID = {"meta", "rect", "path", "circle", "line", "br"}


@cache
def made(name: str) -> Replay:
    file = read(ARCHIVE / f"{name}.trace")
    return follow(file.trace, file)


@cache
def prevented(name: str) -> tuple[Prevention, ...]:
    return tuple(preventions(made(name).trace, made(name).path))


@cache
def shown(name: str) -> str:
    return render("html", made(name))


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href", "action", "data")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID, attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.text += data


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", few(SOME, 3))
def test_the_page_has_every_step_is_in_balance_and_asks_for_nothing_from_elsewhere(name: str) -> None:
    found, page = made(name), Page(shown(name))
    assert page.links == []
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"https?://|@import|url\((?!#)", shown(name))
    text = flat(page.text)
    for number, step in enumerate(found.path.steps, 1):
        assert f"{number} {step.action.label}" in text
        assert flat(step.action.sentence) in text
    assert found.trace.title in text
    assert flat(found.trace.why) in text


def test_the_page_tells_the_property_where_it_is_promised_and_for_which_values_it_fails() -> None:
    text = flat(Page(shown("replication-b09-kip-903")).text)
    assert "joining-epoch-is-registered is violated for broker=1: 8 states" in text
    assert "KIP903-S1 A replica joins the ISR through AlterPartition only if the request contains" in text
    assert "B09 A delayed AlterPartition adds a broker that has restarted" in text
    assert "Violated for broker=1: this is false: m.member_epoch[broker] in" in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "expected"),
    few(
        {
            "kip101-weak-isr": "B02", "replication-b09-kip-903": "B09", "replication-b12-kip-841": "B12",
            "replication-b13-kip-497": "B13", "replication-hyp-3": "HYP-3",
        }.items(), 4, several=True,
    ),
)  # fmt: skip
def test_a_trace_is_known_as_the_bug_whose_setting_prevents_it(name: str, expected: str) -> None:
    assert [entry.id for entry in known_as(made(name).trace, prevented(name))] == [expected]


def remedy(name: str, setting: str) -> Prevention:
    return next(item for item in prevented(name) if item.setting == setting)


@pytest.mark.long
def test_the_guard_that_kip_903_added_is_what_refuses_the_step() -> None:
    first = prevented("replication-b09-kip-903")[0]
    assert (first.setting, first.is_usual, first.ending.step) == ("alter_partition_version=3", True, 7)
    assert first.ending.guard is not None
    assert first.ending.guard.text == "is_eligible(s, c, m)"
    lines = first.ending.guard.place.file.read_text().splitlines()
    assert lines[first.ending.guard.place.line - 1].strip() == "require(is_eligible(s, c, m))"
    assert any("c.alter_partition_version < 3" in line.text for line in first.lines)
    text, refused = flat(Page(shown("replication-b09-kip-903")).text), "1 none, 2 fenced brokers (KIP-841)"
    assert f"alter_partition_version=3, as usual: refused ISR members: {refused}, 3 also brokers with old" in text
    assert "Step 7 cannot happen, because a guard refuses it" in text
    assert "require(is_eligible(s, c, m))" in text


@pytest.mark.long
def test_a_switch_without_a_guard_says_what_the_step_does_otherwise() -> None:
    found = remedy("replication-b13-kip-497", "maximal_isr=true")
    assert (found.ending.guard, found.ending.step, found.is_usual) == (None, 4, True)
    assert next(f"{change.label}.{change}" for change in found.ending.differs) == "replica[0].high_watermark 1 -> 0"


def test_a_published_model_names_the_next_one_that_prevents_the_history() -> None:
    found = remedy("kip101-weak-isr", "protocol kip279")
    assert (found.ending.step, found.ending.guard) == (11, None)
    assert [str(change) for change in found.ending.differs] == ["log [] -> [0:0/0]", "end 0 -> 1"]
    fence = remedy("kip101-weak-isr", "protocol kip320")
    assert fence.ending.guard is not None
    assert fence.ending.guard.text == "l.leader_epoch == epoch"


@pytest.mark.parametrize("name", few(SOME, 4))
def test_what_is_said_to_prevent_a_history_does(name: str) -> None:
    trace = made(name).trace
    assert trace.prop is not None
    for item in prevented(name):
        if item.setting.startswith("protocol"):
            continue
        constant, _, value = item.setting.partition("=")
        values = {**trace.constants.values, constant: trace.constants.declared()[constant].parse(value)}
        other = replace(trace, constants=trace.protocol.machine.set_constants(values), initial=None)
        with pytest.raises(ValueError, match=r"is not possible|is not violated at the end"):
            follow(other)


def test_settings_that_change_nothing_are_no_remedies() -> None:
    settings = [item.setting for item in prevented("replication-b09-kip-903")]
    assert "elr=true" not in settings
    assert not [item for item in settings if item.startswith(("crashes=", "fences=", "brokers=", "max_"))]


def test_a_card_shows_what_was_appended_and_dropped_and_where_the_high_watermark_is() -> None:
    found = made("kip101-weak-isr")
    plain = found.trace.interpreter()
    lanes = parties(plain)
    _, _, last = cards(lanes, found.path.states[-2], found.path.states[-1])
    [log] = last.logs
    dropped = [("0", "0", "0", DROPPED), ("1", "1", "1", DROPPED)]
    assert [(entry.offset, entry.epoch, entry.text, entry.kind) for entry in log.entries] == dropped
    assert log.mark == 0
    changed = {value.name: (value.old, value.text) for value in last.values if value.old is not None}
    assert changed == {"end": ("2", "0"), "leader epoch": ("1", "2"), "leader": ("1", "0")}
    _, _, writes, _ = cards(lanes, found.path.states[8], found.path.states[9])
    assert [entry.kind for entry in writes.logs[0].entries] == [SAME, ADDED]


def test_the_controllers_card_shows_its_present_state_and_a_brokers_what_it_knows() -> None:
    found = made("replication-b09-kip-903")
    lanes = parties(found.trace.interpreter())
    raw = found.trace.interpreter().apply(found.path.states[-2], found.path.steps[-1]).raw
    controller, broker, *_ = cards(lanes, found.path.states[-2], raw)
    values = {value.name: (value.old, value.text) for value in controller.values}
    assert values["isr"] == ("{0}", "{0,1}")
    assert values["partition epoch"] == ("0", "1")
    assert "newest" not in values
    assert {value.name: value.text for value in broker.values}["its leader"] == "0"


def test_the_page_of_a_behaviour_without_end_says_what_is_repeated() -> None:
    trace = rooms_trace(rooms.goes_dark)
    text = flat(Page(render("html", follow(trace))).text)
    assert f"The steps after step {trace.loop} repeat forever." in text
    assert "A lit room is dark in the end." in text
    assert "Nothing more happens" in Page(render("html", follow(rooms_trace(rooms.gets_light)))).text


def test_a_state_of_numbers_alone_has_cards_too() -> None:
    trace = rooms_trace(rooms.goes_dark)
    made = follow(trace)
    shown = cards(parties(trace.interpreter()), made.path.start, made.path.start)
    assert [card.title for card in shown] == ["room 0", "room 1"]
    assert all(card.values for card in shown)
    lamps = follow(lamps_trace())
    [rest] = cards(parties(lamps.trace.interpreter()), lamps.path.start, lamps.path.start)
    assert (rest.title, bool(rest.values)) == ("the rest", True)


def test_a_history_without_steps_has_a_page() -> None:
    made = follow(read(ARCHIVE / "follower-reads-q41-tail.trace").trace)
    assert not made.path.steps
    assert not preventions(made.trace, made.path)
    assert "<html" in render("html", made)
