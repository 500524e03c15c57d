"""The page on JSON names every field that commands print."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fencepost.model.language.trees import module_of

from tests.helpers.commands import fencepost
from tests.helpers.parameters import words
from tests.helpers.places import ROOT
from tests.unit.cli.test_cli_builds import MAILBOX

PAGE = (ROOT / "docs" / "use" / "json.md").read_text()
ROOMS = MAILBOX.parent / "rooms.py"
BY_NAME = set(words("constants weights lowered violated worst for most faults free cells unbounded cuts"))
"""Fields whose values are objects with a protocol's names as keys."""
SECTIONS = {
    "catalogue": ("api/answers/results", "api/calls/catalogue"), "list": ("api/calls/listing",),
    "guarantees": ("api/topics/evidence",), "simulate": ("api/calls/simulate",), "sweep": ("api/calls/sweep",),
    "shrink": ("api/calls/shrink",), "faults": ("api/calls/faults",),
    "advise": ("api/topics/advising", "api/topics/applying", "cli/commands/advise"), "ablate": ("api/answers/matrix",),
    "vacuity": ("api/calls/vacuity",),
    "conform": ("kafka/conform/histories", "kafka/conform/guards", "kafka/conform/changes", "kafka/clients/report"),
    "fuzz": ("api/calls/fuzz",), "reproduce": ("kafka/clusters/reproduce", "cli/commands/reproduce"),
    "audit": ("kafka/audit/report", "api/calls/audit"), "compare": ("kafka/conform/builds",),
    "prove": ("api/answers/proof_report",),
}  # fmt: skip
"""The sections of the page, and the modules that make their objects."""


def section(title: str) -> str:
    parts = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    more = {"catalogue": ("check",), "simulate": ("check", "shrink"), "advise": ("faults",)}.get(title, ())
    return PAGE.partition("\n## ")[0] + "".join(parts[item] for item in (title, *more))


def named(title: str) -> set[str]:
    return {word for text in re.findall(r"`([^`]+)`", section(title)) for word in re.findall(r"[a-z_-]+", text)}


def fields(data: Any, inside: str = "") -> Iterator[str]:
    """Yield the names of all fields in a JSON value, except a protocol's own names."""
    if isinstance(data, dict):
        for name, value in data.items():
            if inside not in BY_NAME:
                yield name
            yield from fields(value, name)
    elif isinstance(data, list):
        for value in data:
            yield from fields(value, inside)


@pytest.mark.parametrize(
    ("title", "command"),
    [
        ("check", f"check {MAILBOX} --engine plain --set clients=1 --without deduplicate --expect violated --json"),
        ("check", f"check {MAILBOX} {ROOMS} --engine plain --max-depth 2 --json"),
        ("check", f"check {ROOMS} --engine plain --json"),
        ("list", "list --json"),
        pytest.param("guarantees", "guarantees --json", marks=pytest.mark.long),
        ("compare", f"compare {ROOMS} size=2 --json"),
        ("simulate", f"simulate {ROOMS.parent / 'lamps.py'} --walks 20 --workers 1 --json"),
        ("ablate", f"ablate {ROOMS.parent / 'lamps.py'} --workers 1 --json"),
    ],
)
def test_every_field_that_is_printed_is_on_the_page(title: str, command: str) -> None:
    result = fencepost(*command.split())
    assert set(fields(json.loads(result.stdout))) - named(title) == set()


def written(module: str) -> set[str]:
    """Return the names of the fields that a module writes: the keys of its literals, and those added later."""
    tree = module_of((ROOT / f"{module}.py").read_text())
    tree.body = [node for node in tree.body if not isinstance(node, ast.Assign | ast.AnnAssign)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "to_frame":
            node.body.clear()
    names: set[str] = set()
    for node in ast.walk(tree):
        keys: list[ast.expr | None] = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Assign):
            keys = [target.slice for target in node.targets if isinstance(target, ast.Subscript)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "pick":
            names.update(ast.literal_eval(node.args[1]).split())
        names.update(key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
    return names


@pytest.mark.parametrize("title", SECTIONS)
def test_every_field_that_could_be_printed_is_on_the_page(title: str) -> None:
    for module in SECTIONS[title]:
        assert written(module), module
        words = {"guarantee", "bug", "hypothesis", "question", "claim"} if module == "api/topics/evidence" else set()
        assert written(module) - named(title) - words == set(), module
