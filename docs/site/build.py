"""The whole site: pages gathered in a folder, rendered, joined by links, with the traces and the explorer beside them."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.api.files import make_sure_folder
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.errors import UsageError
from fencepost.site import crosslinks, prose, protocols, runs, settings, traces
from fencepost.site.evidence import with_evidence
from fencepost.site.generator import generate, look_for_generator
from fencepost.site.navigation import navigation
from fencepost.site.pages.checks import example_of
from fencepost.site.pages.guarantees import PAGES
from fencepost.site.pages.histories import history
from fencepost.site.pages.markdown import text_of
from fencepost.site.pages.matrices import best_of, measured
from fencepost.site.places import EXPLORER, around_explorer
from fencepost.site.storytelling import card, with_stories

if TYPE_CHECKING:
    from collections.abc import Callable

STATIC = ("site.css", "settings.js")
STAGES = 5
OURS = ("settings.html", "protocols/kip320.html", "explore/index.html")
"""Files by which a site that was built before is known."""
_DIAGRAM = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)


def build(output: Path, docs: Path, *, workers: int = 2, tell: Callable[[str], None] = lambda _: None) -> None:
    """Build the site into a folder, which is emptied first; raise UsageError if something for it is missing."""
    look_for_generator()
    if not (docs / "glossary.md").is_file():
        raise UsageError(
            f"{docs} has no pages of Fencepost: run this in a clone of the repository, or write --docs DIR."
        )
    _make_sure_ours(output)
    from fencepost.counterexamples.browser.page import write

    with tempfile.TemporaryDirectory() as folder:
        pages, explorer = Path(folder) / "pages", Path(folder) / "explore"
        tell(f"1 of {STAGES}: the explorer, with its stories")
        write(explorer, around_explorer())  # first: it needs what may not be had
        tell(f"2 of {STAGES}: pages of models, runs, guarantees and settings")
        gather(pages, docs)
        tell(f"3 of {STAGES}: MkDocs renders {sum(1 for _ in pages.rglob('*.md')):,} pages, which takes longest")
        generate(pages, output, navigation(pages))
        shutil.move(explorer, output / Path(EXPLORER).parent)
    tell(f"4 of {STAGES}: links between all pages")
    (output / "404.html").unlink()  # it works at the root of a server alone, and nobody knows where this will be
    join(output)
    traces.write(output, workers, lambda done: tell(f"5 of {STAGES}: {done} pages of traces"))


def _make_sure_ours(output: Path) -> None:
    """Raise UsageError for a folder with other things in it: the site takes the place of what is there."""
    if output.is_dir() and any(output.iterdir()) and not all((output / name).is_file() for name in OURS):
        raise UsageError(
            f"{output} has other files in it, and the site would take their place: name a folder that is new, or empty."
        )
    make_sure_folder(output)


def gather(folder: Path, docs: Path) -> None:
    """Write all pages as Markdown, and what they show, into a folder."""
    for place, text in gathered(docs).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(text, encoding="utf-8")
    for file in prose.assets(docs):
        to = folder / file.relative_to(docs)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
        if file.suffix == ".html":
            to.write_text(traces.with_icon(file.read_text("utf-8")), encoding="utf-8")
    for name in STATIC:
        (folder / name).write_bytes((files("fencepost.site") / "static" / name).read_bytes())


def gathered(docs: Path) -> dict[str, str]:
    """Return every page as Markdown, by its place."""
    found = {
        place: with_stories(text, place) if _is_about_entries(place) else text
        for place, text in prose.pages(docs).items()
    }
    if "index.md" in found:
        title, about, rest = found["index.md"].split("\n\n", 2)
        found["index.md"] = f"{title}\n\n{about}\n\n{prose.OPEN}\n\n{card()}\n\n{rest}"
    for name in PAGES:
        place = f"guarantees/{name}.md"
        found[place] = with_evidence(found[place], place)
    for name, data in measured().items():
        place = f"checks/{name}.md"
        found[place] = _DIAGRAM.sub(lambda _, name=name, data=data: _picture(name, data), found[place])  # type: ignore[misc]
    made = {**protocols.pages(), **runs.pages(), settings.PLACE: settings.page(), "traces.md": traces.listed()}
    return found | {place: text_of(lines) for place, lines in made.items()}


def _is_about_entries(place: str) -> bool:
    """Say whether a page of prose is about entries of the catalogue, which stories may tell."""
    return place.startswith(("guarantees/", "findings/")) or place in ("findings.md", "bugs.md")


def _picture(name: str, data: dict[str, Any]) -> str:
    """Return the example of a page on checks as a picture: a script that draws diagrams would have to be shipped too."""
    from fencepost.counterexamples.render.html import figure

    found = example_of(best_of(data))
    assert found is not None
    made = history(name, found)
    return figure(made.trace, made.path)


def join(output: Path) -> None:
    """Make links of the words that name something, on all pages."""
    for file in sorted(output.rglob("*.html")):
        place = file.relative_to(output).as_posix()
        if place.startswith(("traces/", "explore/", "source/")) or place == "settings.html":
            continue
        text = file.read_text("utf-8")
        protocol = file.stem if file.stem in PROTOCOLS else ""
        file.write_text(crosslinks.linked(text, place, protocol), encoding="utf-8")
