"""MkDocs with Material: pages of Markdown in, a static site out, with nothing that asks for another address."""

from __future__ import annotations

import importlib.util
import logging
import os
from typing import TYPE_CHECKING, Any

from fencepost.model.language.errors import UsageError
from fencepost.site.places import slug

if TYPE_CHECKING:
    from pathlib import Path

COLOURS = (
    {
        "media": "(prefers-color-scheme: light)",
        "scheme": "default",
        "icon": "material/weather-sunny",
        "name": "Switch to dark mode",
    },
    {
        "media": "(prefers-color-scheme: dark)",
        "scheme": "slate",
        "icon": "material/weather-night",
        "name": "Switch to light mode",
    },
)
FEATURES = [
    "navigation.tabs",
    "navigation.indexes",
    "navigation.prune",
    "navigation.top",
    "search.suggest",
    "search.highlight",
    "content.code.copy",
    "toc.follow",
]


def look_for_generator() -> None:
    """Raise UsageError where the generator is not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("mkdocs", "material")):
        raise UsageError(
            "the site needs MkDocs with Material, which is not installed: run `pip install 'fencepost[site]'`."
        )


def generate(pages: Path, output: Path, nav: list[Any]) -> None:
    """Build the site from a folder of pages."""
    os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")  # Material prints an advertisement of its own successor
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    logging.getLogger("mkdocs").setLevel(logging.ERROR)  # links are examined where the whole site is there
    file = pages.parent / "mkdocs.yml"
    file.write_text("site_name: Fencepost\n", encoding="utf-8")  # what a file cannot say, such as a function, follows
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
            "media": colour["media"],
            "scheme": colour["scheme"],
            "primary": "indigo",
            "accent": "indigo",
            "toggle": {"icon": colour["icon"], "name": colour["name"]},
        }
        for colour in COLOURS
    ]
    return {"name": "material", "font": False, "language": "en", "palette": palette, "features": FEATURES}
