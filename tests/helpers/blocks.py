"""Files of blocks: a line `== title`, a body (a small model, an edit), and optionally a line `---` with the answer."""

import re
from pathlib import Path
from typing import NamedTuple

INITIAL = '@action()\ndef initial(s, c):\n    """All 0."""\n\n'
"""The initial action of a machine without its own."""


class Block(NamedTuple):
    title: str
    body: str
    answer: str = ""

    @property
    def text(self) -> str:
        return f"== {self.title}\n{self.body}\n" + (f"---\n{self.answer}\n" if self.answer else "")


def blocks(path: Path) -> list[Block]:
    found = []
    for block in re.split(r"^== ", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        body, _, answer = rest.partition("\n---\n") if not rest.startswith("---\n") else ("", "", rest[4:])
        found.append(Block(title, body.strip("\n"), answer.strip("\n")))
    return found


def machines(path: Path) -> dict[str, str]:
    """Return the machines of a file by title, each with the shared parts: the initial action and the ends."""
    return {block.title: whole(block.body) for block in blocks(path)}


def whole(text: str) -> str:
    """Return the text of a machine with its initial action, its machine and its properties, added if missing."""
    actions = [name for name in re.findall(r"^@action.*\ndef (\w+)", text, re.MULTILINE) if name != "initial"]
    properties = re.findall(r"^@(?:always|step|sometimes).*\ndef (\w+)", text, re.MULTILINE)
    if not re.search(r"^def initial\b", text, re.MULTILINE):
        first = text.index("@action") if "@action" in text else len(text)
        text = f"{text[:first]}{INITIAL}{text[first:]}"
    if not re.search(r"^MACHINE\b", text, re.MULTILINE):
        more = [f", {name}={name}" for name in ("normalize", "refuse") if f"def {name}(" in text]
        parts = f"initial, ({''.join(f'{name}, ' for name in actions)}){''.join(more)}"
        text += f'\n\nMACHINE = Machine("machine", "A machine.", State, C, {parts})'
    if not re.search(r"^PROPERTIES\b", text, re.MULTILINE):
        text += f"\nPROPERTIES = ({''.join(f'{name}, ' for name in properties)})"
    return f"{text}\n"
