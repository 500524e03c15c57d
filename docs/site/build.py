"""The site builder, which collects pages in a folder, renders and links them, and adds traces and the explorer."""

import importlib.util
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from fencepost.api.files import make_sure_folder
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError
from fencepost.site import checks, entries, links, protocols, settings, traces
from fencepost.site.entries import card, with_stories
from fencepost.site.places import EXPLORER, around_explorer, slug, text_of
from fencepost.site.stale import stale

STATIC = ("site.css", "settings.js")
STAGES = 5
BUTTONS = "[Explore](explore/index.html){ .md-button .md-button--primary } [Settings](settings.md){ .md-button }"
ABOUT_ENTRIES = ("guarantees/", "kafka/findings")
"""Path prefixes of the pages of catalogue entries, which link to stories."""
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
        raise UsageError(f"{docs} contains no pages of Fencepost: run this in a clone, or name its docs by `docs=`.")
    if output.is_dir() and any(output.iterdir()) and not all((output / name).is_file() for name in OURS):
        raise UsageError(
            f"{output} contains other files, which the site would overwrite: choose a new or empty folder."
        )
    make_sure_folder(output)
    from fencepost.counterexamples.browser.page import write

    with tempfile.TemporaryDirectory() as folder:
        pages, explorer = Path(folder) / "pages", Path(folder) / "explore"
        tell(f"1 of {STAGES}: writing the explorer and its stories")
        write(explorer, around_explorer())  # first, as a requirement may be missing
        tell(f"2 of {STAGES}: generating pages of models, runs, guarantees and settings")
        gather(pages, docs)
        tell(f"3 of {STAGES}: MkDocs renders {sum(1 for _ in pages.rglob('*.md')):,} pages (the longest stage)")
        generate(pages, output, navigation(pages))
        shutil.move(explorer, output / Path(EXPLORER).parent)
    for line in stale():
        tell(line)
    tell(f"4 of {STAGES}: linking the pages")
    (output / "404.html").unlink()  # it works only at the root of a server, and the site may be anywhere
    join(output)
    traces.write(output, workers, lambda done: tell(f"5 of {STAGES}: {done} pages of traces"))
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
    made = {**protocols.pages(), settings.PLACE: settings.page(), "traces.md": traces.listed()}
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
    file.write_text("site_name: Fencepost\n", encoding="utf-8")  # functions and the like are passed below
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
    "Developing": ("architecture.md", "developing/", "decisions/", "changelog.md"),
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
