"""The site builder, which collects pages in a folder, renders and links them, and adds traces and the explorer."""

import importlib.util
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from fencepost.api.files import make_sure_folder
from fencepost.counterexamples.browser.links import link_of_trace
from fencepost.counterexamples.browser.page import write
from fencepost.counterexamples.reader import read
from fencepost.counterexamples.render import render
from fencepost.counterexamples.replay import replay
from fencepost.counterexamples.trace import ARCHIVE
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError
from fencepost.site import checks, entries, links, places, protocols, settings
from fencepost.site.entries import card, with_stories
from fencepost.site.places import EXPLORER, around_explorer, slug, table, text_of
from fencepost.site.stale import stale

STATIC = ("site.css", "settings.js")
STAGES = 5
BUTTONS = "[Explore](explore/index.html){ .md-button .md-button--primary } [Settings](settings.md){ .md-button }"
ABOUT_ENTRIES = ("guarantees/", "kafka/findings")
"""Path prefixes of catalogue entries' pages, which link to stories."""
OURS = ("settings.html", "protocols/kip320.html", "explore/index.html")


@dataclass(frozen=True)
class SiteResult:
    output: Path
    pages: int
    size: int
    seconds: float


def build_site(
    output: str | Path, docs: str | Path = "docs", *, workers: int = 2, tell: Callable[[str], None] = lambda _: None
) -> SiteResult:
    output, docs, began = Path(output), Path(docs).resolve(), time.monotonic()
    require_generator()
    if not (docs / "glossary.md").is_file():
        raise UsageError(f"{docs} contains no pages of Fencepost: run this in a clone, or pass its docs as `docs=`.")
    if output.is_dir() and any(output.iterdir()) and not all((output / name).is_file() for name in OURS):
        raise UsageError(
            f"{output} contains other files, which the site would overwrite: choose a new or empty folder."
        )
    make_sure_folder(output)
    with tempfile.TemporaryDirectory() as folder:
        pages, explorer = Path(folder) / "pages", Path(folder) / "explore"
        tell(f"1 of {STAGES}: writing the explorer and its stories")
        write(explorer, around_explorer())  # first, because it fails if a requirement is missing
        tell(f"2 of {STAGES}: generating pages of models, runs, guarantees and settings")
        gather(pages, docs)
        tell(f"3 of {STAGES}: MkDocs renders {sum(1 for _ in pages.rglob('*.md')):,} pages (the longest stage)")
        generate(pages, output, navigation(pages))
        shutil.move(explorer, output / Path(EXPLORER).parent)
    for line in stale():
        tell(line)
    tell(f"4 of {STAGES}: linking the pages")
    (output / "404.html").unlink()  # it would work only at the root of a server
    join(output)
    write_traces(output, workers, lambda done: tell(f"5 of {STAGES}: {done} pages of traces"))
    found = [file for file in output.rglob("*") if file.is_file()]
    html, size = sum(file.suffix == ".html" for file in found), sum(file.stat().st_size for file in found)
    return SiteResult(output, html, size, time.monotonic() - began)


def gather(folder: Path, docs: Path) -> None:
    for place, text in gathered(docs).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    for file in (file for file in docs.rglob("*") if file.suffix in (".png", ".svg")):
        to = folder / file.relative_to(docs)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
    for name in STATIC:
        (folder / name).write_bytes((files("fencepost.site") / "static" / name).read_bytes())


def gathered(docs: Path) -> dict[str, str]:
    found = links.pages(docs, built())
    found |= {place: with_stories(found[place], place) for place in found if place.startswith(ABOUT_ENTRIES)}
    if "index.md" in found:
        title, about, rest = found["index.md"].split("\n\n", 2)
        found["index.md"] = f"{title}\n\n{about}\n\n{BUTTONS}\n\n{card()}\n\n{rest}"
    made = {**protocols.pages(), settings.PLACE: settings.page(), "traces.md": traces()}
    return found | {place: text_of(lines) for place, lines in made.items()}


def built() -> dict[str, str]:
    return {place: text_of(lines) for place, lines in {**entries.pages(), **checks.pages()}.items()}


def join(output: Path) -> None:
    for file in sorted(output.rglob("*.html")):
        place = file.relative_to(output).as_posix()
        if place.startswith(("traces/", "explore/", "source/")) or place == "settings.html":
            continue
        text = file.read_text("utf-8")
        protocol = file.stem if file.stem in PROTOCOLS else ""
        file.write_text(links.linked(text, place, protocol), encoding="utf-8")


# -- MkDocs with Material: from Markdown pages to a static site without external requests

FEATURES = [
    *(f"navigation.{name}" for name in ("tabs", "indexes", "prune", "top")),
    *("search.suggest", "search.highlight", "content.code.copy", "toc.follow"),
]


def require_generator() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material")):
        raise UsageError(
            "the site needs MkDocs with Material, which is not installed: run `pip install 'fencepost[site]'`."
        )


def generate(pages: Path, output: Path, nav: list[Any]) -> None:
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # Material prints an advertisement for its successor
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    logging.getLogger("mkdocs").setLevel(logging.ERROR)  # links are checked on the whole site
    file = pages.parent / "mkdocs.yml"
    file.write_text("site_name: Fencepost\n", encoding="utf-8")  # values such as functions are passed below
    build(
        load_config(
            str(file),
            site_name="Fencepost",
            site_description="A model checker for Kafka's replication protocol",
            docs_dir=str(pages),
            site_dir=str(output),
            use_directory_urls=False,
            nav=nav,
            theme=_theme(),
            extra_css=["site.css"],
            plugins=["search"],
            markdown_extensions=[
                *("tables", "attr_list", "md_in_html", "sane_lists", "pymdownx.superfences", "pymdownx.highlight"),
                {"toc": {"slugify": lambda text, _: slug(text), "permalink": True}},
            ],
            validation={"links": {"not_found": "ignore", "anchors": "ignore", "unrecognized_links": "ignore"}},
        )
    )


def _theme() -> dict[str, Any]:
    palette = [
        {
            "media": f"(prefers-color-scheme: {prefers})",
            "scheme": scheme,
            "primary": "indigo",
            "accent": "indigo",
            "toggle": {"icon": f"material/weather-{weather}", "name": f"Switch to {other} mode"},
        }
        for prefers, scheme, weather, other in (
            ("light", "default", "sunny", "dark"),
            ("dark", "slate", "night", "light"),
        )
    ]
    return {"name": "material", "font": False, "language": "en", "palette": palette, "features": FEATURES}


# -- the menu

GROUPS: dict[str, tuple[str, ...]] = {
    "Will I lose data?": ("kafka/losing-data.md", "settings.md", "checks/crashes.md", "kafka/audit.md"),
    "Findings": ("kafka/findings.md", "kafka/findings/", "traces.md"),
    "Kafka": (
        *("kafka/replication.md", "kafka/quorum.md", "kafka/conformance.md", "kafka/"),
        *("protocols/index.md", "protocols/"),
    ),
    "Guarantees": ("guarantees.md", "guarantees/", "coverage.md", "checks.md", "checks/", "runs/"),
    "Model": ("model/own-model.md", "model/language.md", "model/semantics.md", "model/"),
    "Use": ("use/",),
    "Developing": ("contributing.md", "architecture.md", "developing/", "decisions/", "changelog.md"),
}


def navigation(pages: Path) -> list[Any]:
    left = {file.relative_to(pages).as_posix() for file in pages.rglob("*.md")}
    left = {name for name in left if not name.startswith(("source/", "index.md", "start.md", "glossary.md"))}
    named = {name for group in GROUPS.values() for name in group}
    menu: list[Any] = ["index.md", {"Start": "start.md"}, {"Explore": EXPLORER}]
    for title, wanted in GROUPS.items():
        found = []
        for name in wanted:
            inside = sorted(item for item in left - named if item.startswith(name)) if name.endswith("/") else []
            found += inside or ([name] if name in left else [])
        left -= set(found)
        menu.append({title: found})
    return [*menu, "glossary.md", *({"More": sorted(left)} for _ in [0] if left)]


# -- archived traces, drawn by the HTML renderer, with links to the explorer and the catalogue

ABOUT_TRACES = (
    "This page lists all archived traces, each of which is as short as possible. A trace's length is its number of "
    "states, including the initial state."
)
EVERY = 40
END_OF_HEAD, END_OF_META = "</header>", "</head>"
ICON = '<link rel="icon" href="../assets/images/favicon.png">'
"""An empty icon. Without it, browsers would request one from the server's root."""
WAYS = (
    '<style>.ways a {{ color: var(--accent); margin-right: 1em; }}</style><nav class="ways" aria-label="Fencepost"><p>'
    '<a href="{explore}">Open in the explorer</a>{others}</p></nav>'
)


def traces() -> Iterator[str]:
    yield from ("# Traces", "", ABOUT_TRACES, "")
    rows = []
    for name in places.traces():
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


def trace_page(name: str) -> str:
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


def write_traces(folder: Path, workers: int, tell: Callable[[str], None] = lambda _: None) -> None:
    (folder / "traces").mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for number, (name, text) in enumerate(
            zip(places.traces(), pool.map(trace_page, places.traces(), chunksize=8), strict=True)
        ):
            if number % EVERY == 0:
                tell(f"{number} of {len(places.traces())}")
            (folder / places.of_trace(name)).write_text(text, encoding="utf-8")
