"""The page on settings, which contains every answer of `fencepost advise`, and a form that selects one."""

import json
import re
from collections.abc import Iterator
from html import escape
from itertools import product

from fencepost.api.answers.as_json import Json
from fencepost.api.asking.quantities import counted
from fencepost.api.topics import advice_words
from fencepost.api.topics.advising import ACKS, AdviceResult, advise, may_have_elr, notes, versions
from fencepost.api.topics.measured import cells, outcome
from fencepost.site.places import EXPLORER, of_entry, rendered

PLACE = "settings.md"
MOST_REPLICAS = 5
"""The largest number of replicas in the form: more than were searched, so that readers see the limit."""
RELEASES = tuple(item.removeprefix("kafka-") for item in versions())
NUMBERS = tuple(str(number) for number in range(1, MOST_REPLICAS + 1))
CHOICES = (
    ("replicas", "replication.factor", NUMBERS, "3"),
    ("min-isr", "min.insync.replicas", NUMBERS, "2"),
    ("acks", "acks", ACKS, "all"),
    ("elr", "eligible leader replicas", ("on", "off"), "on"),
    ("unclean", "unclean.leader.election.enable", ("off", "on"), "off"),
    ("kafka", "Kafka", RELEASES, RELEASES[-1]),
)
INTRODUCTION = (
    "Choose the settings of a topic. The answer is what `fencepost advise` prints, and comes from the measured [fault "
    "tables](checks/crashes.md); settings that were not searched are marked. [Will I lose "
    "data?](kafka/losing-data.md) explains the terms."
)


def page() -> Iterator[str]:
    index, pieces = answers()
    yield from ("---\nhide: [toc]\nsearch:\n  exclude: true\n---\n\n# Settings", "", INTRODUCTION, "", *_form(), "")
    yield from (f"<noscript>{_table()}</noscript>", "", '<div id="answers">')
    for number, piece in enumerate(pieces):
        yield f'<section class="answer" id="piece-{number}" hidden>{piece}</section>'
    yield from ("</div>", "")
    yield f'<script type="application/json" id="index">{json.dumps(index, separators=(",", ":"))}</script>'
    yield from ("", '<script src="settings.js"></script>', "")


def answers() -> tuple[dict[str, list[int]], list[str]]:
    index: dict[str, list[int]] = {}
    numbers: dict[str, int] = {}
    for chosen in product(*(values for _, _, values, _ in CHOICES)):
        made = _advised(*chosen)
        if made is not None:
            index[" ".join(chosen)] = [numbers.setdefault(piece, len(numbers)) for piece in _pieces(made)]
    return index, list(numbers)


def _advised(replicas: str, min_isr: str, acks: str, elr: str, unclean: str, kafka: str) -> AdviceResult | None:
    if elr == "on" and not may_have_elr(f"kafka-{kafka}"):
        return None
    on = {"elr": elr == "on", "unclean_election": unclean == "on"}
    return advise(int(replicas), int(min_isr), kafka=kafka, acks=acks, **on)


def _form() -> Iterator[str]:
    yield '<form id="choose" hidden>'
    for name, label, values, chosen in CHOICES:
        options = "".join(f"<option{' selected' if value == chosen else ''}>{value}</option>" for value in values)
        choice = f'<select id="choose-{name}" name="{name}">{options}</select>'
        yield f'<div><label for="choose-{name}">{label}</label> {choice}</div>'
    yield '<p id="impossible" role="status"></p><p id="told" role="status"></p></form>'
    since = "Eligible leader replicas are on in new clusters as of Kafka 4.1, but may be off in an upgraded cluster"
    yield f"<p>{since}. {_text(advice_words.ELR_SHOWN)}.</p>"


def _table() -> str:
    rows = "".join(
        f"<tr><td>{replicas}</td><td>{point['setting']['min_isr']}</td><td>{_on(point['setting']['elr'])}</td>"
        f"<td>{_on(point['setting']['unclean_election'])}</td><td>{outcome(point)}</td></tr>"
        for replicas in range(1, MOST_REPLICAS + 1)
        for point in cells(replicas)
    )
    titles = ("replicas", "min ISR", "ELR", "unclean elections", "crashes alone")
    heads = "".join(f"<th>{name}</th>" for name in titles)
    text = "This form needs JavaScript; <code>fencepost advise</code> gives every answer. With the findings fixed:"
    return f"<p>{text}</p><table><tr>{heads}</tr>{rows}</table>"


def _pieces(made: AdviceResult) -> Iterator[str]:
    data = made.data
    unknown = "" if made.decided else " unknown"
    yield f'<p class="outcome{unknown}"><strong>{escape(advice_words.headline(data))}</strong></p>'
    rows = "".join(
        "".join(("<tr>", *(f"<td>{escape(cell)}</td>" for cell in advice_words.row_of(item)), "</tr>"))
        for item in data["operations"]
    )
    yield f"<table><tr><th>operation</th><th>what it does</th><th>instead</th></tr>{rows}</table>"
    yield from (_operation(item) for item in data["operations"])
    changes = map(advice_words.change_of, data["changes"])
    rows = "".join(f"<li><code>{escape(what)}</code>: {escape(then)}</li>" for what, then in changes)
    yield f"<h2>What to change to survive crashes</h2><ul>{rows or f'<li>{advice_words.UNCHANGED}</li>'}</ul>"
    crashes = data["crashes"]
    if crashes is not None:
        yield "<h2>Crashes alone</h2>"
        for item, told, there in zip(crashes["front"], crashes["told"], crashes["explore"], strict=True):
            yield _history(item, told, rendered(EXPLORER + there, PLACE))
    yield f"<p>{escape(advice_words.released_of(data))}</p>"
    yield from (f"<p>{escape(note)}</p>" for note in notes(made.settings, {**data, "assumed": []}))


def _history(item: Json, told: list[str], there: str) -> str:
    steps = "".join(f"<li>{escape(step)}</li>" for step in told)
    return (
        f'<p>{escape(advice_words.broken_by(item))}. <a href="{escape(there)}">Open it in the explorer</a></p>'
        f"<details><summary>Its {counted(len(told), 'step')}</summary><ol>{steps}</ol></details>"
    )


def _operation(item: Json) -> str:
    lines = "".join(f"<p>{_text(line)}</p>" for line in advice_words.lines_of(item))
    known = [name for name in item["findings"] if name.startswith("HYP-")]
    links = ", ".join(f'<a href="{escape(rendered(of_entry(name), PLACE))}">{name}</a>' for name in known)
    return f"<details><summary>{escape(item['title'])}{': ' if links else ''}{links}</summary>{lines}</details>"


def _text(line: str) -> str:
    return re.sub("`([^`]*)`", r"<code>\1</code>", escape(line))


def _on(value: object) -> str:
    return "on" if value else "off"
