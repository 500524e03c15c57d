"""Symmetry: it is shown by the text or refused with the line, and searches with it find what full ones find."""

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from fencepost import api
from fencepost.api.asking.model_files import load_protocol
from fencepost.cli.failures import explain
from fencepost.explorers.native.compile import generate
from fencepost.explorers.native.llvm.types import flag
from fencepost.explorers.native.lower.canonical import Canonical
from fencepost.explorers.program.ir import interchange
from fencepost.explorers.verdict import CrossCheckError
from fencepost.invariants.catalogue import Run, runs_of, values_of
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language import Constants, Index
from fencepost.model.language.errors import DomainError, MismatchError, ModelError, UsageError
from fencepost.model.language.interpreter import Interpreter
from fencepost.model.language.records import Key
from fencepost.model.language.symmetry import Symmetry
from fencepost.model.lineage.base import Replica

from tests.helpers.parameters import few
from tests.helpers.places import DOCS
from tests.helpers.symmetry import distinguished
from tests.random_machines import symmetric
from tests.random_machines.engines import load

KIP320 = PROTOCOLS["kip320"]
SMALL = {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}


def constants(**values: int) -> Constants:
    return KIP320.machine.set_constants({**SMALL, **values})


def said(found: Any) -> list[Any]:
    return [(item.name, item.verdict, item.path and item.path.length) for item in found.properties]


@pytest.mark.parametrize("name", few(["kip320", "truncate-to-hwm", "kip101", "kip279"], 4))
def test_renaming_replicas_commutes_with_every_step_and_changes_no_property(name: str) -> None:
    found = PROTOCOLS[name]
    machine = replace(found.machine, interchangeable=Replica)
    differs, states = distinguished(machine, found.properties, machine.set_constants(SMALL), 200)
    assert (differs, states >= 200) == ("", True)
    api.check(machine, found.properties, **SMALL, symmetry=True, max_depth=2)


def test_a_search_with_symmetry_has_the_canonical_states_of_the_full_one() -> None:
    assert symmetric.compared(KIP320.machine, KIP320.properties, constants(replicas=2), native=True) == ""
    full, canonical = (api.check("kip320", symmetry=on, cross_check=0) for on in (False, True))
    assert (full.distinct, canonical.distinct, full.depth) == (737_794, 123_311, canonical.depth)
    assert said(full) == said(canonical)
    assert (full.to_dict()["symmetry"], canonical.to_dict()["symmetry"]) == ("", "replicas")


@pytest.mark.parametrize("seed", few(range(42), 7))
def test_random_machines_that_are_shown_symmetric_are_and_searches_agree(seed: int, tmp_path: Path) -> None:
    found = symmetric.look_at(*load(symmetric.text_of(seed), tmp_path), 2 + seed % 2, native=True)
    assert found == "" or found.startswith("refused: ")


@pytest.mark.parametrize("engine", few(["native", "plain"], 2))
def test_a_violation_found_with_symmetry_is_a_history_of_the_machine_itself(engine: str) -> None:
    machine = replace(PROTOCOLS["kip101"].machine, interchangeable=Replica)
    properties = PROTOCOLS["kip101"].properties
    asked: dict[str, Any] = {"replicas": 2, "only": ["weak-isr"], "engine": engine, "stop_on_violation": True}
    full, found = (api.check(machine, properties, **asked, symmetry=on) for on in (False, True))
    path = found.violated[0].path
    assert (path.length, full.violated[0].path.length) == (12, 12)
    exact = Interpreter(machine, machine.set_constants({"replicas": 2}))
    assert path.start in exact.initial_states()
    for (before, after), step in zip(pairwise(path.states), path.steps, strict=True):
        assert exact.apply(before, step).after == after
    assert not exact.holds(next(item for item in properties if item.name == "weak-isr"), path.states[-1])


ANY = load_protocol(DOCS / "examples" / "any_leader.py")
EXACT = PROTOCOLS["replication"].machine
ROWS = [
    run
    for run in (*runs_of("kip320"), *runs_of("replication"))
    if (run.distinct or 10**9) <= (10**6 if run.protocol == "kip320" else 20_000)
    and (run.protocol == "kip320" or ANY.machine.refuse(EXACT.set_constants(values_of(run))) is None)
]
"""The rows of the catalogue that symmetry applies to; those of replication are searched with any leader."""


@pytest.mark.parametrize("run", few(ROWS, 160))
def test_a_row_of_the_catalogue_has_the_same_verdicts_and_lengths_with_symmetry(run: Run) -> None:
    found = KIP320 if run.protocol == "kip320" else ANY
    known = {item.name: item for item in (*found.properties, *found.on_request) if not item.kind.over_behaviours}
    asked = [known[name] for name in run.properties if name in known] or found.properties
    full = api.check(found.machine, asked, constants=values_of(run), cross_check=0)
    try:
        other = api.check(found.machine, asked, constants=values_of(run), symmetry=True)
    except ModelError as error:
        if run.protocol == "replication" and "are distinguished" in str(error):
            pytest.skip(f"symmetry is refused: {error}")
        raise
    assert said(full) == said(other)
    assert other.distinct <= full.distinct


def forgetting(plain: Interpreter, key: Key) -> Key:
    """Return a state without what the machine cannot observe."""
    state = plain.schema.restore(key)
    plain.normalize(state, plain.constants)
    return plain.schema.key(state)


@pytest.mark.long
@pytest.mark.parametrize("values", few([{"crashes": 1, "clean_stops": 1}, {"elr": 1, "min_isr": 2}], 2))
def test_with_any_leader_brokers_are_alike_and_every_step_of_the_exact_machine_is_possible(values: Any) -> None:
    found = ANY.machine.set_constants(values)
    assert distinguished(ANY.machine, ANY.properties, found, 30)[0] == ""
    exact, loose = Interpreter(EXACT, found), Interpreter(ANY.machine, found)
    waiting, seen = [*exact.initial_states()], set[Any]()
    for key in waiting:
        possible = {step.after for step in loose.transitions(forgetting(loose, key))}
        for step in exact.transitions(key):
            assert forgetting(loose, step.raw) in possible, step
            if step.after not in seen and len(seen) < 150:
                seen.add(step.after)
                waiting.append(step.after)
    assert len(seen) == 150


@pytest.mark.long
@pytest.mark.parametrize(
    ("brokers", "full", "canonical"), few([(3, 3_654, 1_817), (4, 40_555, 7_632)], 2, several=True)
)
def test_a_search_for_any_leader_has_the_same_verdicts_with_symmetry(brokers: int, full: int, canonical: int) -> None:
    asked: dict[str, Any] = {"brokers": brokers, "crashes": 0, "shrinks": 0}
    one, other = (api.check(ANY.machine, ANY.properties, **asked, symmetry=on) for on in (False, True))
    assert (one.distinct, other.distinct) == (full, canonical)
    assert said(one) == said(other)


@pytest.mark.long
def test_the_order_of_the_replica_list_is_refused_with_its_line() -> None:
    with pytest.raises(ModelError, match="found = broker"):
        api.check("replication", symmetry=True)


def model(action: str = "s.k = 0", condition: str = "s.k < 3", normal: str = "s.k = 0", who: str = "NONE") -> str:
    acts = f'@action(a=Thing, b=Thing)\ndef act(s: State, c: C, a: int, b: int) -> None:\n    "It acts."\n    {action}'
    parts = [
        symmetric.HEAD.format(who=who, all="0"), acts, symmetric.TAKES + "s.k = 0", symmetric.NEVER + condition,
        symmetric.EACH + "s.k < 3", symmetric.GROWS + normal,
    ]  # fmt: skip
    return "\n\n\n".join([*parts, symmetric.MACHINE.format(names="act", more=", normalize=normalize")]) + "\n"


def things(text: str) -> str:
    return re.sub(r"\bB\b", "b", re.sub(r"\bA\b", "a", text))


def shown(text: str, folder: Path) -> str:
    machine, properties = load(text, folder)
    try:
        generate(machine, machine.set_constants({}), properties, normalize=True, symmetry=True)
    except ModelError as error:
        said = str(error).splitlines()
    else:
        return ""
    assert "are distinguished" in said[0]
    return said[1].strip()


@pytest.mark.parametrize("text", [*symmetric.CONDITIONS, *symmetric.EFFECTS])
def test_what_keeps_things_alike_is_accepted(text: str, tmp_path: Path) -> None:
    action = f"require({things(text)})" if text in symmetric.CONDITIONS else things(text)
    assert shown(model(action), tmp_path) == ""


@pytest.mark.parametrize("text", [*symmetric.DOUBTFUL, *symmetric.DARING])
def test_what_distinguishes_things_is_refused_with_its_line(text: str, tmp_path: Path) -> None:
    action = f"require({things(text)})" if text in symmetric.DOUBTFUL else things(text)
    assert shown(model(action), tmp_path) in {line.strip() for line in action.splitlines()}


PREFERS_THE_LOWEST = """for i in range(c.n):
        if s.part[i].x > 0 and s.who == NONE:
            s.who = i"""
SORTS = """for i in range(c.n - 1):
            if s.part[i].x > s.part[i + 1].x:
                s.part[i].x = s.part[i + 1].x"""


PLANTED = {
    "an action that prefers the lowest": ({"action": PREFERS_THE_LOWEST}, "s.who = i"),
    "a property of thing 0": ({"condition": "s.part[0].x < 2"}, "return s.part[0].x < 2"),
    "a normalize that sorts": ({"normal": SORTS}, "if s.part[i].x > s.part[i + 1].x:"),
}


@pytest.mark.parametrize(("planted", "line"), PLANTED.values(), ids=PLANTED)
def test_a_planted_asymmetry_is_refused_with_its_line(planted: dict[str, str], line: str, tmp_path: Path) -> None:
    assert shown(model(**planted), tmp_path) == line


MARKS = """@action(a=Thing, b=Thing)
def mark(s: State, c: C, a: int, b: int) -> None:
    "It marks."
    s.part[a].x = 1
    s.part[a].row[b] = True
    s.part[a].at = b
    s.who = b"""


UNSEEN = ("s.k = min(A, 3)", "for m in s.box:\n        s.who = m.to", "r = s.part[A].row\n    q =")
"""What the cross-check misses: the steps lead to the same states, a bag seldom has two messages, things are alike."""


@pytest.mark.parametrize("text", few(symmetric.DARING, 8))
def test_the_cross_check_notices_what_the_proof_misses(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interchange, "require_interchangeable", lambda *_: None)
    marked = model(action=things(text)).replace("(act, take)", "(act, mark, take)")
    machine, properties = load(marked.replace("@action(m=", f"{MARKS}\n\n\n@action(m="), tmp_path)
    asked = {"symmetry": True, "deadlock": False, "cross_check": 300, "max_states": 3000}
    if text.startswith(UNSEEN):
        assert api.check(machine, properties, **asked).cross_check
        return
    with pytest.raises(CrossCheckError, match="exchanging the interchangeable values") as caught:
        api.check(machine, properties, **asked)
    assert caught.value.path is None or "\nIn the state" in explain(caught.value)[1]


def test_initial_states_may_single_out_a_thing_and_the_answer_says_so(tmp_path: Path) -> None:
    machine, properties = load(model(action="s.who = b", who="0"), tmp_path)
    assert symmetric.compared(machine, properties, machine.set_constants({}), native=True) == ""
    assert "initial states distinguish some" in api.check(machine, properties, symmetry=True).symmetry


def test_what_symmetry_is_not_for_is_refused() -> None:
    with pytest.raises(UsageError, match="declares no interchangeable"):
        api.check("kip279", symmetry=True)


def test_a_promise_is_refused_and_so_are_too_many_things(tmp_path: Path) -> None:
    promise = 'PROPERTIES = (eventually("ends", "It ends.", then=never.function), '
    text = model().replace("    require,", "    eventually, require,", 1).replace("PROPERTIES = (", promise)
    machine, properties = load(text, tmp_path)
    for engine in ("native", "plain"):
        with pytest.raises(UsageError, match="merged states hide"):
            api.check(machine, properties, symmetry=True, engine=engine)
    with pytest.raises(UsageError, match="of at most 5"):
        Symmetry(replace(machine, interchangeable=Index(6)), machine.set_constants({}))
    with pytest.raises(ModelError, match="write the name of an index"):
        replace(machine, interchangeable=int)


def test_a_planted_wrong_canonical_form_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Canonical, "_at_most", lambda *_: flag(value=False))
    machine = replace(KIP320.machine)  # compiled anew
    with pytest.raises((CrossCheckError, MismatchError)):
        api.check(machine, KIP320.properties, **SMALL, symmetry=True, cross_check=1000)


def test_fingerprints_checkpoints_and_spilled_searches_have_the_same_canonical_states(tmp_path: Path) -> None:
    asked: dict[str, Any] = {**SMALL, "symmetry": True, "workers": 1}
    whole = api.check("kip320", **asked)
    compact = api.check("kip320", **asked, compact=True, cross_check=30)
    spilled = api.check("kip320", **asked, spill=tmp_path / "spill")
    part = api.check("kip320", **asked, max_states=500, checkpoint=tmp_path / "kept")
    assert not part.complete
    with pytest.raises(UsageError, match="was written with `symmetry=True`, but this search runs without"):
        api.check("kip320", **{**asked, "symmetry": False}, checkpoint=tmp_path / "kept", resume=True)
    resumed = api.check("kip320", **asked, checkpoint=tmp_path / "kept", resume=True)
    kept = {(item.distinct, item.levels) for item in (whole, compact, spilled, resumed)}
    assert kept == {(whole.distinct, whole.levels)}


def test_an_error_names_the_things_of_its_own_history(tmp_path: Path) -> None:
    action = "if s.who == a and s.k > 0:\n        s.part[a].x = 5\n    s.who = a\n    s.k = 1"
    machine, properties = load(model(action=action), tmp_path)
    for engine in ("native", "plain"):
        with pytest.raises(DomainError) as error:
            api.check(machine, properties, symmetry=True, engine=engine)
        _, _, who, *_ = error.value.states[-1]
        assert f"act a={who} " in str(error.value)
