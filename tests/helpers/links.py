"""Broken links in a folder of pages."""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ADDRESSES = {"href", "src", "data", "poster", "action"}


class Page(HTMLParser):
    """A page's anchors and the addresses that it names."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ADDRESSES:
                self.links.add(value)
                if tag not in ("a", "form"):
                    self.loaded.add(value)


def broken(folder: Path, *, scripted: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield every broken link with its page; anchors on `scripted` pages are not checked."""
    pages = {file: Page(file.read_text("utf-8")) for file in sorted(folder.rglob("*.html"))}
    for file, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            to = to / "index.html" if to.is_dir() else to
            place = to.relative_to(folder.resolve()).as_posix() if to.is_relative_to(folder.resolve()) else ""
            anchor = unquote(parts.fragment)
            if not to.is_file() or not place:
                yield f"{file.relative_to(folder)}: {link}"
            elif anchor and to in pages and place not in scripted and anchor not in pages[to].anchors:
                yield f"{file.relative_to(folder)}: {link} (no such anchor)"


def from_elsewhere(folder: Path) -> Iterator[str]:
    """Yield every foreign address that a page would load by itself."""
    for file in sorted(folder.rglob("*.html")):
        for link in sorted(Page(file.read_text("utf-8")).loaded):
            if urlsplit(link).netloc:
                yield f"{file.relative_to(folder)}: {link}"
