"""Fingerprints of cached proofs change with the meaning of a model, and with nothing else."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fencepost.explorers.program.fingerprint import ends, plain_texts
from fencepost.explorers.symbolic.cache import cached, digest
from fencepost.explorers.symbolic.proof import Settings

MODEL = '''"""A model."""
from typing import Annotated
from fencepost.model.language import Constants, Machine, Range, Record, action, always, bound, require
from fencepost.model.language.bits import with_member as changed
from fingerprint_one import Mood, below, bounded
from fingerprint_other import below as other_below
from fingerprint_other import Mood as OtherMood
from fingerprint_other import limited
PASSED = (12, 11)
TOP = 8
LEFT = frozenset({14, 15})
class C(Constants):
    n = bound(3, low=1, high=9, meaning="n")
class State(Record):
    x: Annotated[int, Range(0, 15)]
    y: Annotated[int, Range(0, 15)]
    mood: Mood
    other: OtherMood
def tidy(s, c):
    if s.x == 7:
        s.x = 0
def order(s, c):
    if s.y == 7:
        s.y = 0
@action()
def initial(s, c):
    """Seven."""
    s.x = 7
@action()
def one(s, c):
    """One goes up."""
    require(bounded(s.x) and below(s.x))
    s.x += 1
    tidy(s, c)
    order(s, c)
@action()
def two(s, c):
    """The other goes up."""
    require(limited(s.y) and other_below(s.y) and s.x not in PASSED and s.y not in LEFT)
    s.y = changed(s.y, 1)
@always
def low(s: State, c: C) -> bool:
    """It is not 7."""
    return s.x != 7
def most():
    return TOP
def refuse(c):
    return "these are refused." if c.n > most() else None
MACHINE = Machine("held", "It is held.", State, C, initial, (one, two), normalize=tidy, refuse=refuse)
PROPERTIES = (low,)
'''
PARTS = {
    "fingerprint_model": MODEL,
    "fingerprint_one": ("from enum import IntEnum\n\nMOST = 3\nMood = IntEnum('Mood', 'A B', start=0)\n\n\ndef "
        "below(x):\n    return x < 4\n\n\ndef bounded(x):\n    return x < MOST\n"),
    "fingerprint_other": ("from enum import IntEnum\n\nMOST = 7\nMood = IntEnum('Mood', 'A B C', start=0)\n\n\ndef "
        "below(x):\n    return x < 8\n\n\ndef limited(x):\n    return x < MOST\n"),
}  # fmt: skip
CHANGES: dict[str, list[tuple[str, str]]] = {
    "no normalize": [(", normalize=tidy", "")],
    "another normalize": [("normalize=tidy", "normalize=order")],
    "another initial action": [("C, initial, (one, two)", "C, one, (initial, two)")],
    "numbers of two modules": [("MOST = 3", "MOST = 7 "), ("MOST = 7\n", "MOST = 3\n")],
    "a tuple of numbers": [("(12, 11)", "(12, 1)")],
    "a set of numbers": [("{14, 15}", "{14}")],
    "enums of two modules": [
        ("fingerprint_one import Mood,", "fingerprint_one import Mood as OtherMood,"),
        ("fingerprint_other import Mood as OtherMood", "fingerprint_other import Mood"),
    ],
    "functions of two modules": [
        ("fingerprint_one import Mood, below,", "fingerprint_one import Mood, below as other_below,"),
        ("fingerprint_other import below as other_below", "fingerprint_other import below"),
    ],
    "a function of the language": [("import with_member as changed", "import without as changed")],
}


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    yield
    for name in PARTS:
        sys.modules.pop(name, None)


def module(folder: Path, changes: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the model with some changes of its text, in one of its modules: (old, new)."""
    parts = dict(PARTS)
    for old, new in changes:
        [name] = [name for name, text in parts.items() if text.count(old) == 1]
        parts[name] = parts[name].replace(old, new)
    folder.mkdir()
    for name, text in parts.items():
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
    monkeypatch.syspath_prepend(folder)
    return importlib.import_module("fingerprint_model")


def known_by(held: ModuleType) -> str:
    engine = "\n".join(ends(held.MACHINE, held.PROPERTIES))
    return digest(held.MACHINE, held.MACHINE.set_constants({}), held.PROPERTIES, Settings(), engine=engine)


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_new_meaning_is_a_new_fingerprint(
    changes: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = known_by(module(tmp_path / "before", [], monkeypatch))
    assert known_by(module(tmp_path / "after", changes, monkeypatch)) != before


def test_a_proof_is_made_again_if_other_constants_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, *change in (
        ("before", "", ""),
        ("again", "", ""),
        ("after", "c.n > most()", "c.n >= most()"),
        ("number", "TOP = 8", "TOP = 7"),
        ("helper", "return TOP", "return TOP - 2"),
    ):
        held = module(tmp_path / name, [(change[0], change[1])] if change[0] else [], monkeypatch)
        found.append(
            cached(held.MACHINE, held.MACHINE.set_constants({}), held.PROPERTIES, Settings({"n": None})).cached
        )
    assert found == [False, True, False, False, False]


TOP = 8
LIMITS = {"n": [TOP]}


def _refusing(limit: int, *, least: float = 0.5) -> Callable[[Any], bool]:
    def refuse(c: Any, top: int = limit + 1) -> bool:
        return bool(least <= c.n <= limit < top < LIMITS["n"][0])

    return refuse


def test_a_function_outside_of_the_language_is_known_by_values_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = plain_texts(_refusing(3))
    assert plain_texts(_refusing(3)) == before
    changed = _refusing(3)
    changed.__defaults__ = (5,)
    for other in (_refusing(5), _refusing(3, least=0.25), changed):
        assert plain_texts(other) != before
    monkeypatch.setitem(LIMITS, "n", [7])
    assert plain_texts(_refusing(3)) != before


def test_functions_in_a_list_are_known_by_their_text(tmp_path: Path) -> None:
    found = []
    for name, text in (("one", "return 1"), ("two", "return 2")):
        file = tmp_path / f"{name}.py"
        file.write_text(f"def first():\n    {text}\nALL = [first]\ndef refuse(c):\n    return ALL[0]() > c.n\n")
        scope: dict[str, Any] = {"__name__": "given"}
        exec(compile(file.read_text(), str(file), "exec"), scope)  # noqa: S102 (our own text)
        found.append(plain_texts(scope["refuse"]))
    assert found[0] != found[1]
