"""Links of the site. Links between pages of docs/ stay on the site, and names of entries and actions become links."""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape, unescape
from pathlib import Path

from fencepost.explorers.program.removal import guards
from fencepost.invariants.catalogue import entries
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.site import places
from fencepost.site.tables import with_tables

FRONT = {"AGENTS.md": "contributing.md", "ARCHITECTURE.md": "architecture.md", "CHANGELOG.md": "changelog.md"}
READ = (".py", ".sh", ".java", ".toml", ".diff", ".ipynb", ".json", ".jinja", ".cff")
_LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s#]*)(#[^)\s]*)?", re.MULTILINE)
_LIST = re.compile(r"^(?![-*|#>\s]|\d+\. )(.+)\n(?=[-*] |\d+\. )", re.MULTILINE)
"""A line directly before a list. MkDocs requires a blank line before a list, but GitHub does not."""
_FENCED = re.compile(r"^(```.*?^```\n?)", re.MULTILINE | re.DOTALL)


def pages(docs: Path, built: Mapping[str, str]) -> dict[str, str]:
    root = docs.parent
    files = {FRONT[name]: root / name for name in FRONT if (root / name).is_file()}
    files |= {file.relative_to(docs).as_posix(): file for file in sorted(docs.rglob("*.md"))}
    texts = {page: with_tables(file.read_text("utf-8"), page) for page, file in files.items()} | dict(built)
    shown: dict[str, Path] = {}
    found = {page: _text(page, text, files.get(page, docs / page).parent, docs, shown) for page, text in texts.items()}
    for folder in [file for file in shown.values() if file.is_dir()]:
        shown |= {_source_place(file, root): file for file in sorted(folder.glob("*.py"))}
    return found | {place: source(file, root) for place, file in shown.items()}


def source(file: Path, root: Path) -> str:
    name = file.relative_to(root).as_posix()
    if file.is_dir():
        listed = "\n".join(f"- [{item.name}]({file.name}/{item.name}.md)" for item in sorted(file.glob("*.py")))
        return f"# `{name}`\n\n{listed}\n"
    language = {".py": "python", ".ipynb": "json"}.get(file.suffix, file.suffix[1:] or "text")
    text = file.read_text("utf-8").rstrip()
    return f"---\nsearch:\n  exclude: true\n---\n\n# `{name}`\n\n`````{language}\n{text}\n`````\n"


def _text(page: str, text: str, folder: Path, docs: Path, shown: dict[str, Path]) -> str:
    def target(found: re.Match[str]) -> str:
        before, path, anchor = found[1], found[2], found[3] or ""
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        place = _place((folder / path).resolve(), docs, shown)
        return f"{before}{places.relative(place, page)}{anchor}" if place else found[0]

    def changed(text: str) -> str:
        return _LINK.sub(target, _LIST.sub(r"\1\n\n", text))

    parts = _FENCED.split(text)
    return "".join(part if part.startswith("```") else changed(part) for part in parts)


def _place(file: Path, docs: Path, shown: dict[str, Path]) -> str:
    root = docs.parent
    name = file.relative_to(root).as_posix() if file.is_relative_to(root) else ""
    if name in FRONT or name == "README.md":
        return FRONT.get(name, "index.md")
    if name.startswith("counterexamples/archive/"):
        return places.of_trace(name)
    if file.suffix in READ or file.is_dir() or (file.is_file() and not file.suffix):
        place = _source_place(file, root)
        shown[place] = file
        return place
    return file.relative_to(docs).as_posix() if file.is_relative_to(docs) else ""


def _source_place(file: Path, root: Path) -> str:
    return f"source/{file.relative_to(root).as_posix()}.md"


_TAG = re.compile(r"(<[^>]*>)")
_ISSUE = re.compile(r"\bKAFKA-\d+")
"""Issues in Kafka's Jira, whose URLs follow from their keys. The URLs of KIPs do not follow from their numbers."""
_TRACKER = r'<a class="known" href="https://issues.apache.org/jira/browse/\g<0>">\g<0></a>'
_ARTICLE = re.compile(r"(<article[^>]*>)(.*?)(</article>)", re.DOTALL)
CLOSED = ("a", "pre", "script", "style", "summary", "svg", "h1", "h2", "h3", "h4", "select", "label", "button")


def linked(html: str, page: str, protocol: str = "") -> str:
    return _ARTICLE.sub(lambda found: found[1] + "".join(_pieces(found[2], page, protocol)) + found[3], html, count=1)


def _pieces(html: str, page: str, protocol: str) -> Iterator[str]:
    closed: list[str] = []
    in_code = False
    for piece in _TAG.split(html):
        tag = re.match(r"<(/?)([a-z0-9]+)", piece)
        if tag:
            in_code = tag[2] == "code" and not tag[1] if tag[2] == "code" else in_code
            if tag[1] and tag[2] in closed:
                closed.remove(tag[2])
            elif not tag[1] and tag[2] in CLOSED and not piece.endswith("/>"):
                closed.append(tag[2])
            yield piece
        elif closed or not piece.strip():
            yield piece
        elif in_code:
            place = _named(unescape(piece), protocol)
            yield _anchor(place, page, piece) if place else piece
        else:
            yield _entries().sub(
                lambda found: _anchor(places.of_entry(found[0]), page, found[0]), _ISSUE.sub(_TRACKER, piece)
            )


def _anchor(place: str, page: str, text: str) -> str:
    return f'<a class="known" href="{escape(places.rendered(place, page))}">{text}</a>'


@cache
def _entries() -> re.Pattern[str]:
    ids = "|".join(sorted(map(re.escape, entries()), key=len, reverse=True))
    return re.compile(rf"(?<![\w-])(?:{ids})(?![\w-])")


def _named(text: str, protocol: str) -> str:
    known = _names().get(text, {})
    if protocol in known:
        return known[protocol]
    return next(iter(known.values())) if len(known) == 1 else ""


@cache
def _names() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, known in PROTOCOLS.items():
        found.setdefault(name, {})[name] = places.of_protocol(name)
        _add(found, name, ((item.label, places.of_action(name, item.label)) for item in known.machine.actions))
        _add(found, name, ((item.name, places.of_property(name, item.name)) for item in known.every_property))
        _add(found, name, ((item.name, places.of_guard(name, item.name)) for item in guards(known.machine)))
        _add(found, name, ((item, places.of_constant(name, item)) for item in known.machine.constants.declared()))
    _add(found, "", ((name, places.of_trace(name)) for name in places.traces()))
    _add(found, "", ((f"fencepost guarantees {name}", places.of_entry(name)) for name in entries()))
    _add(found, "", (("fencepost guarantees", "guarantees.md"), ("fencepost vacuity", "checks.md")))
    return found


def _add(found: dict[str, dict[str, str]], protocol: str, named: Iterable[tuple[str, str]]) -> None:
    for name, place in named:
        found.setdefault(name, {}).setdefault(protocol, place)
