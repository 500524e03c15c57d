"""Pages of archived traces, drawn by the HTML renderer, with links to the explorer and the catalogue, and their
list.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from html import escape
from multiprocessing import get_context
from pathlib import Path

from fencepost.counterexamples.browser.links import link_of_trace
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.site import places
from fencepost.site.places import table

INTRODUCTION = (
    "This page lists all archived traces, each of which is as short as possible. A trace's length is its number of "
    "states, including the initial state."
)
EVERY = 40
END_OF_HEAD, END_OF_META = "</header>", "</head>"
ICON = '<link rel="icon" href="../assets/images/favicon.png">'
"""An empty icon, without which browsers request an icon from the server's root."""
WAYS = (
    '<style>.ways a {{ color: var(--accent); margin-right: 1em; }}</style><nav class="ways" aria-label="Fencepost"><p>'
    '<a href="{explore}">Open in the explorer</a>{others}</p></nav>'
)


def names() -> tuple[str, ...]:
    return tuple(file.stem for file in sorted(ARCHIVE.glob("*.trace")))


def listed() -> Iterator[str]:
    yield from ("# Traces", "", INTRODUCTION, "")
    rows = []
    for name in names():
        trace = read(ARCHIVE / f"{name}.trace").trace
        asked = trace.prop.name if trace.prop else ""
        rows.append(
            [
                places.linked(name, places.of_trace(name), "traces.md"),
                trace.title,
                f"[{trace.protocol.name}]({places.of_protocol(trace.protocol.name)})",
                f"[{asked}]({places.of_property(trace.protocol.name, asked)})" if asked else "",
                str(len(trace.steps) + 1),
                places.links_to_entries(places.entries_by_trace().get(f"{name}.trace", ()), "traces.md"),
                f"[explore]({places.EXPLORER}{link_of_trace(name)})",
            ]
        )
    yield from (*table(("trace", "about", "protocol", "property", "length", "evidence for", ""), rows), "")


def page(name: str) -> str:
    made = replay(ARCHIVE / f"{name}.trace")
    place = places.of_trace(name)
    others = [
        ("All traces", "traces.md"),
        (f"Protocol {made.trace.protocol.name}", places.of_protocol(made.trace.protocol.name)),
    ]
    others += [(entry, places.of_entry(entry)) for entry in places.entries_by_trace().get(f"{name}.trace", ())]
    links = "".join(f'<a href="{escape(places.rendered(target, place))}">{escape(text)}</a>' for text, target in others)
    ways = WAYS.format(explore=escape(places.rendered(places.EXPLORER + link_of_trace(name), place)), others=links)
    head, end, rest = render("html", made).partition(END_OF_HEAD)
    return f"{head}{ways}{end}{rest}".replace(END_OF_META, ICON + END_OF_META, 1)


def write(folder: Path, workers: int, tell: Callable[[str], None] = lambda _: None) -> None:
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for number, (name, text) in enumerate(zip(names(), pool.map(page, names(), chunksize=8), strict=True)):
            if number % EVERY == 0:
                tell(f"{number} of {len(names())}")
            (folder / places.of_trace(name)).write_text(text, encoding="utf-8")
