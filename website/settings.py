"""The page on settings: what `fencepost advise` says of every setting that may be chosen, as sections that a form shows and hides."""

from __future__ import annotations

from html import escape
from itertools import product
from typing import TYPE_CHECKING

from fencepost.api.advice_words import broken_by, change_of, lines_of, released_of
from fencepost.api.advising import ACKS, advise, notes, versions
from fencepost.api.quantities import counted
from fencepost.website.places import EXPLORER, of_entry, of_trace, rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.api.advising import AdviceResult
    from fencepost.api.contract_evidence import AppliesData, BreakingData

PLACE = "settings.md"
MOST_REPLICAS = 5
"""Replicas that may be chosen: more than were searched, so that one sees that they were not."""
INTRODUCTION = (
    "Choose the settings of a topic. The answer is the one of `fencepost advise`, looked up in the measured "
    "[fault tables](checks/crashes.md); settings that nobody has searched say so. What the words mean is in [Will I lose data?](losing-data.md)"
)


def page() -> Iterator[str]:
    """Yield the lines of the page. Without a script it shows every section."""
    yield from ("---", "hide: [toc]", "search:", "  exclude: true", "---", "", "# Settings", "", INTRODUCTION, "", *_form(), "")
    yield '<div id="answers">'
    for replicas, elr, unclean in product(range(1, MOST_REPLICAS + 1), (True, False), (False, True)):
        for min_isr in range(1, MOST_REPLICAS + 1):
            yield from _cell(advise(replicas, min_isr, elr=elr, unclean_election=unclean))
    for acks in ACKS[1:]:
        made = advise(acks=acks)
        yield f'<section class="answer" data-acks="{acks}"><h2>acks={acks}</h2>{_not_searched(made)}</section>'
    for version, min_isr, elr in product(versions(), range(1, MOST_REPLICAS + 1), (True, False)):
        if not elr or version >= "kafka-4.0":
            yield from _findings(advise(MOST_REPLICAS, min_isr, kafka=version, elr=elr))
    yield from ("</div>", "", '<script src="settings.js"></script>', "")


def _form() -> Iterator[str]:
    choices = (
        ("replicas", "replication.factor", [str(number) for number in range(1, MOST_REPLICAS + 1)], "3"),
        ("min-isr", "min.insync.replicas", [str(number) for number in range(1, MOST_REPLICAS + 1)], "2"),
        ("acks", "acks", list(ACKS), "all"),
        ("elr", "eligible leader replicas", ["on", "off"], "on"),
        ("unclean", "unclean.leader.election.enable", ["off", "on"], "off"),
        ("kafka", "Kafka", [item.removeprefix("kafka-") for item in versions()], versions()[-1].removeprefix("kafka-")),
    )
    yield '<form id="choose" hidden>'
    for name, label, values, chosen in choices:
        options = "".join(f"<option{' selected' if value == chosen else ''}>{value}</option>" for value in values)
        yield f'<div><label for="choose-{name}">{label}</label> <select id="choose-{name}" name="{name}">{options}</select></div>'
    yield '<p id="impossible" role="status"></p><p id="told" role="status"></p></form>'


def _cell(made: AdviceResult) -> Iterator[str]:
    """Yield what crashes do at one setting."""
    chosen, data = made.settings, made.to_dict()
    keys = {
        "replicas": chosen.replicas,
        "min-isr": chosen.min_isr,
        "elr": _on(chosen.elr),
        "unclean": _on(chosen.unclean_election),
    }
    where = "".join(f' data-{name}="{value}"' for name, value in keys.items())
    elr = "with" if chosen.elr else "without"
    replicas = counted(chosen.replicas, "replica")
    title = f"{replicas}, min ISR {chosen.min_isr}, {elr} ELR, unclean elections {_on(chosen.unclean_election)}"
    yield f'<section class="answer" data-acks="all"{where}><h2>{title}</h2>'
    crashes = data["crashes"]
    if crashes is None:
        yield _not_searched(made)
    else:
        yield f'<p class="outcome">An acknowledged record: <strong>{escape(crashes["outcome"])}</strong>.</p>'
        for item, there in zip(crashes["front"], crashes["explore"], strict=True):
            yield _history(item, crashes["counted"], rendered(EXPLORER + there, PLACE))
        yield "".join(f"<p><small>{escape(note)}</small></p>" for note in notes(chosen, {**data, "assumed": []}))
        rows = "".join(
            f"<li><code>{escape(what)}</code>: {escape(then)}</li>" for what, then in map(change_of, data["changes"])
        )
        yield f"<p>What to change:</p><ul>{rows or '<li>no other value of one setting is known to survive more crashes</li>'}</ul>"
    yield "</section>"


def _history(item: BreakingData, kinds: list[str], there: str) -> str:
    """Return the shortest history of a cell, with its place in the explorer."""
    steps = "".join(f"<li><code>{escape(step)}</code></li>" for step in item["steps"])
    return (
        f'<p>{escape(broken_by(item, kinds))}. <a href="{escape(there)}">Open it in the explorer</a></p>'
        f"<details><summary>Its steps</summary><ol>{steps}</ol></details>"
    )


def _not_searched(made: AdviceResult) -> str:
    why = made.to_dict()["why"]
    return (
        f'<p class="unknown"><strong>Not searched:</strong> {escape(why)}. Nothing here says that these settings are safe.</p>'
    )


def _findings(made: AdviceResult) -> Iterator[str]:
    """Yield which findings a release has."""
    chosen, data = made.settings, made.to_dict()
    release = chosen.version.removeprefix("kafka-")
    where = f'data-kafka="{release}" data-elr="{_on(chosen.elr)}" data-min-isr="{chosen.min_isr}"'
    title = f"Findings in Kafka {release} {'with' if chosen.elr else 'without'} ELR, min ISR {chosen.min_isr}"
    yield f'<section class="answer findings" {where}><h2>{title}</h2><p>{escape(released_of(data))}</p><dl>{"".join(map(_finding, data["findings"]))}</dl></section>'


def _finding(found: AppliesData) -> str:
    place, loses = rendered(of_entry(found["id"]), PLACE), found["loses"]
    lines = "".join(f"<p>{escape(line)}</p>" for line in lines_of(found))
    trace = loses["trace"] if loses else None
    link = f'<p><a href="{escape(rendered(of_trace(trace), PLACE))}">The history that loses a record</a></p>' if trace else ""
    return f'<dt><a href="{escape(place)}">{found["id"]}</a></dt><dd>{lines}{link}</dd>'


def _on(value: bool) -> str:  # noqa: FBT001 (one value)
    return "on" if value else "off"
