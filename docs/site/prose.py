"""The pages of docs/ for the site: the same text, with links that stay inside the site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fencepost.site.places import of_trace, relative

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FRONT = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}
"""The pages of the repository that do not stand in docs/, and where they are on the site."""
OPEN = "[Explore a protocol](explore/index.html){ .md-button .md-button--primary } [Choose settings](settings.md){ .md-button }"
"""What the first page begins with."""
READ = (".py", ".toml", ".diff", ".ipynb", ".json", ".jinja", ".cff")
"""Files that a page links to and that are shown as text."""
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s#]*)(#[^)\s]*)?", re.MULTILINE)
_LIST = re.compile(r"^(?![-*|#>\s]|\d+\. )(.+)\n(?=[-*] |\d+\. )", re.MULTILINE)
"""A line right before a list: MkDocs wants a blank line between them, and GitHub does not."""
_FILE = re.compile(r"\[(?:[\w-]+/)*([\w-]+)\.md\](?=\()")
"""A link whose text is a file of the repository, which a reader of the site does not see."""
_FENCED = re.compile(r"^(```.*?^```\n?)", re.MULTILINE | re.DOTALL)


def pages(docs: Path) -> dict[str, str]:
    """Return the text of every page by its place on the site, the source files that they link to among them."""
    root = docs.parent
    files = {FRONT[name]: root / name for name in FRONT if (root / name).is_file()}
    files |= {file.relative_to(docs).as_posix(): file for file in sorted(docs.rglob("*.md"))}
    shown: dict[str, Path] = {}
    found = {page: _text(page, file, docs, shown) for page, file in files.items()}
    for folder in [file for file in shown.values() if file.is_dir()]:
        shown |= {_source_place(file, root): file for file in sorted(folder.glob("*.py"))}
    return found | {place: source(file, root) for place, file in shown.items()}


def assets(docs: Path) -> Iterator[Path]:
    """Yield the files of docs/ that pages show as they are: pictures and pages of histories."""
    yield from (file for file in sorted(docs.rglob("*")) if file.suffix in (".png", ".svg", ".html"))


def source(file: Path, root: Path) -> str:
    """Return a page that shows a file, or lists the programs in a folder."""
    name = file.relative_to(root).as_posix()
    if file.is_dir():
        listed = "\n".join(f"- [{item.name}]({file.name}/{item.name}.md)" for item in sorted(file.glob("*.py")))
        return f"# `{name}`\n\n{listed}\n"
    language = {".py": "python", ".toml": "toml", ".diff": "diff", ".ipynb": "json", ".json": "json"}.get(
        file.suffix, "text"
    )
    return f"---\nsearch:\n  exclude: true\n---\n\n# `{name}`\n\n`````{language}\n{file.read_text('utf-8').rstrip()}\n`````\n"


def _text(page: str, file: Path, docs: Path, shown: dict[str, Path]) -> str:
    """Return a page with links that stay on the site; code in fences is left alone."""

    def target(found: re.Match[str]) -> str:
        before, path, anchor = found[1], found[2], found[3] or ""
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        place = _place((file.parent / path).resolve(), docs, shown)
        return f"{before}{relative(place, page)}{anchor}" if place else found[0]

    def changed(text: str) -> str:
        return _LINK.sub(target, _FILE.sub(r"[\1]", _LIST.sub(r"\1\n\n", text)))

    parts = _FENCED.split(file.read_text("utf-8"))
    return "".join(part if part.startswith("```") else changed(part) for part in parts)


def _place(file: Path, docs: Path, shown: dict[str, Path]) -> str:
    """Return where a file of the repository is on the site; empty if it is nowhere."""
    root = docs.parent
    name = file.relative_to(root).as_posix() if file.is_relative_to(root) else ""
    if name in FRONT:
        return FRONT[name]
    if name.startswith("counterexamples/archive/"):
        return of_trace(name)
    if file.suffix in READ or file.is_dir() or (file.is_file() and not file.suffix):
        place = _source_place(file, root)
        shown[place] = file
        return place
    return file.relative_to(docs).as_posix() if file.is_relative_to(docs) else ""


def _source_place(file: Path, root: Path) -> str:
    return f"source/{file.relative_to(root).as_posix()}.md"
