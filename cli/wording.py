"""Translation of the library's messages into terms of the command line.

The library's messages name parameters and calls as in Python, such as `max_states=`, `resume=True`, `min_isr=2` or
`fencepost.replay("x.trace", rewrite=True)`. The command line prints `--max-states`, `--resume`, `--set min_isr=2` and
`fencepost replay x.trace --rewrite`. Only Python code in backticks is rewritten. A name without a value is rewritten if
some command has that option, and a name with a value is rewritten if the value is a literal or a word in capitals.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click
from fencepost.model.language.trees import expression_of

if TYPE_CHECKING:
    from rich.text import Text

PYTHON = re.compile(
    r"`(?:fencepost\.(?P<call>[a-z_]+)\((?P<args>[^`\n]*)\)|(?P<alone>[a-z]\w*)=|(?P<given>[a-z]\w*=[^`\n]+))`"
)
OPTIONS = {
    "clients": "client", "cluster": "master", "constants": "set", "costs": "cost", "guards": "guard", "kinds": "kind",
    "only": "property", "prop": "property", "properties": "property", "shrinks": "shrink", "stories": "story",
    "traces": "trace", "weights": "weight",
}  # fmt: skip
COMMANDS = {
    "build_site": "site", "conform_brokers": "conform brokers", "conform_changes": "conform --changes",
    "conform_clients": "conform leader-discovery --client", "conform_guards": "conform", "list_findings": "reproduce",
    "list_protocols": "list", "prove_catalogue": "prove", "replay_text": "replay",
}  # fmt: skip


def reword(text: str, command: click.Command | None = None, group: click.Group | None = None) -> str:
    return "".join(piece for _, piece in _pieces(text, command, group)) if "`" in text else text


def reword_text(text: Text) -> Text:
    if "`" not in text.plain or reword(text.plain) == text.plain:
        return text
    made = text.blank_copy()
    for place, piece in _pieces(text.plain, None, None):
        made.append(piece if place is None else text[place])
    return made


def reword_data(data: Any) -> Any:
    if isinstance(data, str):
        return reword(data)
    if isinstance(data, dict):
        return {name: reword_data(item) for name, item in data.items()}
    return [reword_data(item) for item in data] if isinstance(data, list | tuple) else data


def _pieces(text: str, command: click.Command | None, group: click.Group | None) -> Iterator[tuple[slice | None, str]]:
    """Yield the parts of a message, each with its position in the text, or with None if the part was rewritten."""
    context = click.get_current_context(silent=True)
    if context is not None:
        command, root = command or context.command, context.find_root().command
        group = group or (root if isinstance(root, click.Group) else None)
    start = 0
    for found in PYTHON.finditer(text):
        words = _words(found, command, group)
        if words is not None:
            yield slice(start, found.start()), text[start : found.start()]
            yield None, f"`{words}`"
            start = found.end()
    yield slice(start, len(text)), text[start:]


def _words(found: re.Match[str], command: click.Command | None, group: click.Group | None) -> str | None:
    if found["alone"]:
        option = _option(found["alone"], command) or _of_any(found["alone"], group)
        return option.opts[-1] if option else None
    try:
        tree = expression_of(f"_({found['args'] if found['call'] else found['given']})")
    except SyntaxError:
        return None
    if not isinstance(tree, ast.Call):
        return None
    if not found["call"]:
        words = [] if tree.args else [_given(item, command, group) for item in tree.keywords]
        return " ".join(word for word in words if word) if words and None not in words else None
    name = COMMANDS.get(found["call"], found["call"].replace("_", "-"))
    called = _command(name.partition(" ")[0], group)
    words = [_word(item) for item in tree.args] + [_given(item, called, group) for item in tree.keywords]
    return " ".join(["fencepost", name, *(word for word in words if word)]) if None not in words else None


def _given(item: ast.keyword, command: click.Command | None, group: click.Group | None) -> str | None:
    name = item.arg or ""
    option = _option(name, command)
    constants = command is None or _option("set", command) is not None
    if option is None and not constants:
        option = _of_any(name, group)
    values = item.value.elts if isinstance(item.value, ast.List | ast.Tuple) else [item.value]
    words = [_word(value) for value in values]
    several = len(words) > 1 and not (option and option.multiple)
    if None in words or several or (option is None and not constants):
        return None
    if option is None:
        return " ".join(f"--set {name}={word}" for word in words)
    if option.is_flag:
        return option.opts[-1] if words == ["on"] else "".join(option.secondary_opts[-1:])
    return " ".join(f"{option.opts[-1]} {word}" for word in words)


def _word(value: ast.expr) -> str | None:
    if isinstance(value, ast.Name):
        return value.id if value.id.isupper() else None
    try:
        read = ast.literal_eval(value)
    except ValueError:
        return None
    if isinstance(read, bool):
        return "on" if read else "off"
    return "..." if read is ... else shlex.quote(str(read))


def _command(name: str, group: click.Group | None) -> click.Command | None:
    return group.get_command(click.Context(group), name) if group else None


def _option(name: str, command: click.Command | None) -> click.Option | None:
    wanted = f"--{OPTIONS.get(name, name).replace('_', '-')}"
    options = [item for item in (command.params if command else ()) if isinstance(item, click.Option)]
    return next((item for item in options if wanted in item.opts), None)


def _of_any(name: str, group: click.Group | None) -> click.Option | None:
    every = [_command(item, group) for item in group.list_commands(click.Context(group))] if group else []
    return next((option for item in every if (option := _option(name, item))), None)
