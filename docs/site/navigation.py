"""What the site's menu has, and in which order; a page that nobody has put anywhere comes at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site.places import EXPLORER

if TYPE_CHECKING:
    from pathlib import Path

GROUPS: dict[str, tuple[str, ...]] = {
    "Settings": ("losing-data.md", "settings.md", "checks/crashes.md"),
    "Protocols": ("protocols/index.md", *(f"protocols/{name}.md" for name in PROTOCOLS), "replication.md", "quorum.md"),
    "Guarantees": ("guarantees.md", "guarantees/", "coverage.md", "proofs.md"),
    "Runs": ("runs/",),
    "Findings": ("findings.md", "findings/", "bugs.md", "traces.md"),
    "Checks": ("checks.md", "checks/"),
    "Kafka": ("conformance.md", "clusters.md", "clients.md", "audit.md"),
    "Use it": (
        *(
            "own-model.md",
            "language.md",
            "semantics.md",
            "classics.md",
            "walks.md",
            "api.md",
            "ci.md",
            "json.md",
            "spark.md",
        ),
        *("explore.md", "site.md"),
        *("speed.md", "compiling.md", "ir.md", "trust.md", "architecture.md", "changelog.md"),
    ),
}
"""Pages by group; a folder stands for those of its pages that are in no group by name."""


def navigation(pages: Path) -> list[Any]:
    """Return the menu for the pages of a folder."""
    left = {file.relative_to(pages).as_posix() for file in pages.rglob("*.md")} - {"index.md", "glossary.md"}
    left -= {name for name in left if name.startswith("source/")}
    named = {name for group in GROUPS.values() for name in group}
    menu: list[Any] = ["index.md", {"Explore": EXPLORER}]
    for title, wanted in GROUPS.items():
        found = []
        for name in wanted:
            inside = sorted(item for item in left - named if item.startswith(name)) if name.endswith("/") else []
            found += inside or ([name] if name in left else [])
        left -= set(found)
        menu.append({title: found})
    return [*menu, "glossary.md", *({"More": sorted(left)} for _ in [0] if left)]
