"""Names of everything in a model: each works on every engine and in every format, or is refused at its definition."""

import builtins
import json
import keyword
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fencepost.api.asking.targets import find_protocol
from fencepost.api.calls import first_model as first
from fencepost.explorers import plain
from fencepost.explorers.verdict import Options, Result
from fencepost.model.language import eventually
from fencepost.model.language.errors import ModelError
from fencepost.model.language.machine import Version
from fencepost.model.language.trees import module_of

from tests.helpers.commands import fencepost
from tests.helpers.parameters import few, words

RESERVED = sorted({"match", "case", "type", *keyword.softkwlist} - {"_"})
BUILTINS = sorted(name for name in dir(builtins) if not name.startswith("_") and name not in keyword.kwlist)
NUMPY = sorted({name for kind in (np.recarray, np.void, np.dtype) for name in dir(kind) if not name.startswith("_")})
OURS = words(
    "act0 effect1 hash_row WORDS sort_M0 self cls state before after key values declared rooms shown replace name kind "
    "index count items add remove sort append domain function params target targets bundle label sentence args kwargs "
    "initial normalize deadlock protocol version constants property verdict loop format calls steps begin holds "
    "teardown run rules invariants check_invariants rule meta none yes no end judge insert rebuild find close S "
    "OWNER_SHIFT AHEAD COMPACT EXPANDS np njit namedtuple prefetch helper inlined kernel INDEX VALUE SHIFT FULL ABSENT "
    "NUMBER BITS row rows words first last number out hashes parents n fired refused found alive e at table a b k0 "
    "made new bound Array Bag make e0 require action always step sometimes NONE true false nan Int Bool And Or Not If "
    "model z3 dup llvm"
)
FOREIGN = ["é", "Ω", "数", "ª"]  # Non-ASCII letters; Python reads the last one as `a`
SUSPECTS = list(dict.fromkeys([*OURS, *RESERVED, *FOREIGN, *BUILTINS, *NUMPY]))
DUNDER = words("_x __x ___ _e _t _bounds _values _padding __class__ __dict__ __doc__ __init__")
ROLES = words("field constant parameter local helper member message action property enum record state")
HEAD = """from enum import IntEnum
from typing import Annotated as Annotated_

import fencepost.model.language as language_
from fencepost.model.language import require as require_

"""


def model(**chosen: str) -> str:
    n = {role: f"{role}_" for role in ROLES} | chosen
    return f'''{HEAD}
class Constants_(language_.Constants):
    {n["constant"]} = language_.bound(2, low=0, high=3, meaning="top")

class {n["enum"]}(IntEnum):
    zero_ = 0
    {n["member"]} = 1

class {n["record"]}(language_.Record):
    {n["message"]}: Annotated_[int, language_.Range(0, 3)]

class {n["state"]}(language_.Record):
    {n["field"]}: Annotated_[int, language_.Range(0, Constants_.{n["constant"]})]
    enum_field_: {n["enum"]}
    box_: Annotated_[language_.Bag[{n["record"]}], language_.Size(2)]
    several_: Annotated_[language_.Array[{n["record"]}], language_.Size(2)]

def {n["helper"]}(x_: int, y_: int) -> int:
    return x_ + y_

@language_.action()
def initial_(s_, c_):
    """Begin."""

@language_.action({n["parameter"]}=language_.Range(0, 1))
def {n["action"]}(s_, c_, {n["parameter"]}) -> None:
    """Go."""
    require_(s_.{n["field"]} < c_.{n["constant"]})
    require_({n["parameter"]} != 1)
    {n["local"]} = s_.{n["field"]} + {n["parameter"]}
    later_ = {n["helper"]}({n["local"]}, 1)
    s_.box_.add({n["message"]}=later_)
    s_.several_[{n["local"]} % 2].{n["message"]} = {n["local"]}
    s_.enum_field_ = {n["enum"]}.{n["member"]}
    s_.{n["field"]} = later_

@language_.action({n["parameter"]}=language_.InFlight("box_"))
def take_(s_, c_, {n["parameter"]}) -> None:
    """Take."""
    s_.several_[1].{n["message"]} = {n["parameter"]}.{n["message"]}
    s_.box_.remove({n["parameter"]})

@language_.always
def {n["property"]}(s_, c_) -> bool:
    """The last value is never reached."""
    return s_.{n["field"]} < 2 or s_.several_[1].{n["message"]} == 0

MACHINE = language_.Machine("named", "Named.", {n["state"]}, Constants_, initial_, ({n["action"]}, take_))
PROPERTIES = ({n["property"]},)
'''


def written(folder: Path, **chosen: str) -> str:
    path = folder / "model.py"
    path.write_text(model(**chosen), encoding="utf-8")
    return str(path)


USUAL = {"distinct": 8, "generated": 9, "depth": 5}


def searched(folder: Path, **chosen: str) -> Result:
    found = find_protocol(written(folder, **chosen))
    return plain.search(found.machine, found.machine.set_constants({}), found.properties, Options())


TAKEN = set(words("abs all any bool int len max min range sum"))
REFUSED = {"local": TAKEN, "parameter": TAKEN, "constant": set(words("values declared rooms shown replace"))}


@pytest.mark.parametrize("part", few(range(8), 8))
def test_each_suspect_is_a_name_like_any_other_in_every_role(part: int, tmp_path: Path) -> None:
    """Every model has a different suspect in each role, so a few models cover all combinations."""
    apart = len(SUSPECTS) // len(ROLES)
    for number in range(part, len(SUSPECTS), 8):
        chosen = {role: SUSPECTS[(number + place * apart) % len(SUSPECTS)] for place, role in enumerate(ROLES)}
        taken = {role: name for role, name in chosen.items() if name not in REFUSED.get(role, ())}
        found = searched(tmp_path, **taken)
        assert {name: getattr(found, name) for name in USUAL} == USUAL, chosen


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in REFUSED.items() for name in sorted(names)])
def test_a_name_that_the_language_takes_is_refused_where_it_is_defined(role: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is taken by the language"):
        searched(tmp_path, **{role: name})


@pytest.mark.parametrize("role", ["field", "constant", "parameter", "local", "message", "action", "property"])
@pytest.mark.parametrize("name", DUNDER)
def test_a_name_that_begins_with_an_underscore_is_refused(role: str, name: str, tmp_path: Path) -> None:
    result = fencepost("check", written(tmp_path, **{role: name}), "--engine", "plain")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "underscore" in result.stderr


@pytest.mark.parametrize("role", few(["field", "parameter", "message", "action", "property", "member", "constant"], 7))
def test_a_trace_with_any_name_is_read_again_and_shown_in_every_format(role: str, tmp_path: Path) -> None:
    for name in ["end", "none", "deadlock", FOREIGN[0], FOREIGN[-1]]:
        file, trace = written(tmp_path, **{role: name}), tmp_path / "a.trace"
        result = fencepost("check", file, "--engine", "plain", "--json", "--trace", str(trace))
        assert result.exit_code == 1, (name, result.stderr)
        for form in ("text", "itf", "mermaid", "html", "pytest"):
            shown = fencepost("show", str(trace), "--model", file, "--format", form)
            assert shown.exit_code == 0, (name, form, shown.stderr)
            if form == "itf":
                states = json.loads(shown.stdout)["states"]
                own = module_of(name).body[0].value.id if role == "field" else "field_"
                assert all({"enum_field_", "box_", "several_", own} <= set(state) for state in states)
        assert fencepost("replay", str(trace), "--model", file).exit_code == 0


MODEL = """class state_(language_.Record):
"""
BASE = """class base_(language_.Record):
    field_: bool
class state_(base_):
"""
ALIKE = {
    "'MEMBER_' and 'member_' both appear as 'member-' in a trace": ("zero_ = 0\n", "zero_ = 0\n    MEMBER_ = 2\n"),
    "has no members": ("    zero_ = 0\n    member_ = 1\n", "    pass\n"),
    "state_.field_: its base class has a field of the same name": (MODEL, BASE),
}


@pytest.mark.parametrize(("says", "change"), ALIKE.items())
def test_two_names_that_read_alike_are_refused(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    path = Path(written(tmp_path))
    path.write_text(path.read_text().replace(*change))
    result = fencepost("check", str(path), "--engine", "plain")
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr


ASKS: dict[str, Callable[[str], object]] = {
    "machine": lambda name: replace(first.MACHINE, name=name),
    "version": lambda name: replace(first.MACHINE, versions=(Version(name, "Today's.", {}),)),
    "property": lambda name: eventually(name, "A client waits.", then=first.waits_no_longer, client=first.Client),
}


@pytest.mark.parametrize("name", ["", " stands-off", "one\nname", "two  blanks", "bell\a"])
@pytest.mark.parametrize("part", ASKS)
def test_a_name_that_no_trace_can_hold_is_refused(name: str, part: str) -> None:
    assert ASKS[part]("a name")
    with pytest.raises(ModelError, match=r"is named .*, which cannot be written in a trace: write one line of text"):
        ASKS[part](name)
