"""Where everything is on the site: one place for each protocol, guard, run, entry, trace and source file.

Places are paths from the root of the site, of pages before they are rendered: `protocols/kip320.md#follower-fetch-1`.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING, Any

from fencepost.api.answers.exploring import opened
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site.pages.guarantees import page_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fencepost.invariants.catalogue import Run
    from fencepost.model.language.machine import Machine

EXPLORER = "explore/index.html"


def slug(text: str) -> str:
    """Return the anchor that GitHub gives a heading: links between pages of docs/ are written with these."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def of_protocol(name: str) -> str:
    """Return the place of a protocol."""
    return f"protocols/{name}.md"


def of_action(protocol: str, label: str) -> str:
    """Return the place of an action."""
    return f"{of_protocol(protocol)}#{slug(label)}"


def of_guard(protocol: str, name: str) -> str:
    """Return the place of a guard."""
    return f"{of_protocol(protocol)}#guard-{slug(name)}"


def of_property(protocol: str, name: str) -> str:
    """Return the place of a property."""
    return f"{of_protocol(protocol)}#property-{slug(name)}"


def of_constant(protocol: str, name: str) -> str:
    """Return the place of a constant."""
    return f"{of_protocol(protocol)}#constant-{name}"


def of_run(run: Run) -> str:
    """Return the place of a run."""
    return f"runs/{run.protocol}.md#{anchor_of_run(run)}"


def anchor_of_run(run: Run) -> str:
    """Return the anchor of a run on the page of its protocol's runs."""
    return "run-" + re.sub(r"[^a-z0-9.]+", "-", run.short_name.lower()).strip("-")


def of_entry(name: str) -> str:
    """Return the place of an entry of the catalogue."""
    return f"guarantees/{page_of()[name]}.md#{name.lower()}"


def of_trace(file: str) -> str:
    """Return the place of an archived trace, by the name of its file."""
    return f"traces/{file.rpartition('/')[2].removesuffix('.trace')}.html"


def in_explorer(
    machine: Machine, constants: Mapping[str, object], steps: Iterable[str], removed: Iterable[str] = ()
) -> str:
    """Return the place in the explorer after these steps."""
    return EXPLORER + opened(machine, constants, steps, removed)


def around_explorer() -> dict[str, Any]:
    """Return where the site's pages are as the explorer sees them; of a property, what its name is put behind."""
    names = {
        name: {"page": rendered(of_protocol(name), EXPLORER), "property": rendered(of_property(name, ""), EXPLORER)}
        for name in PROTOCOLS
    }
    return {"home": rendered("index.md", EXPLORER), "protocols": names}


def relative(place: str, page: str) -> str:
    """Return a link to a place from a page, as Markdown has it."""
    path, mark, anchor = place.partition("#")
    return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor


def rendered(place: str, page: str) -> str:
    """Return a link to a place from a page, as HTML has it."""
    path, mark, anchor = relative(place, page).partition("#")
    return (path.removesuffix(".md") + ".html" if path.endswith(".md") else path) + mark + anchor
