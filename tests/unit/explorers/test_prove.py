"""`fencepost prove`: proofs, refusals, and exit status."""

import importlib.util
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import z3
from fencepost.api.answers.proof_report import ProveResult
from fencepost.cli.commands.prove import print_report
from fencepost.cli.views.console import results
from fencepost.explorers.program.subset.program import check
from fencepost.explorers.running.interrupts import BY_KEYBOARD, Stopped, interruptible
from fencepost.explorers.symbolic.pool import Asking, apart, over
from fencepost.explorers.symbolic.proof import Proof, Settings, prove
from fencepost.explorers.symbolic.templates import candidates
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import Protocol
from fencepost.invariants.theorems import THEOREMS
from fencepost.model.language.errors import ModelError

from tests.helpers.blocks import whole
from tests.helpers.commands import data_of, fencepost, refused
from tests.helpers.written import HEAD, module_of
from tests.machines import oddments

shift_register = module_of("""
class C(Constants):
    most = bound(3, low=1, high=100, meaning="the largest number")
    puts = bound(0, low=0, high=1, meaning="1: a number may be put into the second place")
Number = Annotated[int, Range(0, C.most)]
class State(Record):
    first: Number
    second: Number
    moves: Number
@action()
def move(s, c):
    require(s.moves < c.most)
    s.first = s.second
    s.second = 0
    s.moves += 1
@action(number=Number)
def put(s, c, number):
    require(c.puts == 1)
    s.second = number
@always
def first_is_empty(s, c):
    return s.first == 0
@always
def second_is_empty(s, c):
    return s.second == 0
@always
def moves_are_bounded(s, c):
    return s.moves <= c.most
@step(on=move)
def moves_are_counted(before, after, c):
    return after.moves == before.moves + 1
@always
def there_are_few_moves(s, c):
    return c.most <= 5
@always
def first_is_even(s, c):
    return s.first & 1 == 0
@always
def far_bits_are_on(s, c):
    return 1 << 9000 + s.moves > 0
@action()
def put_from_afar(s, c):
    s.second = 1 - ((1 << 9000 + s.moves) & 1)
def is_below_seven(s, c, more):
    return s.moves + more < 7
MACHINE = Machine("shift-register", "what is in the second place moves to the first", State, C, initial, (move, put))
PROPERTIES = (first_is_empty, second_is_empty, moves_are_bounded, moves_are_counted)
""")
"""What is in the second place moves to the first. That the first is empty is inductive over two steps, not one."""
REGISTER = shift_register.__file__
KIP320 = ["prove", "kip320", "--set", "replicas=2", "--workers", "1", "--no-cache", "--quiet", "--reach", "0s"]


def register(*names: str, puts: int = 0, **settings: Any) -> Proof:
    machine = shift_register.MACHINE
    chosen = tuple(item for name in names for item in shift_register.PROPERTIES if item.name == name)
    return prove(machine, machine.set_constants({"puts": puts}), chosen, Settings(**settings))


def test_a_conjunction_or_two_steps_are_inductive_where_a_part_is_not() -> None:
    assert register("first-is-empty").verdict is Verdict.UNDETERMINED
    assert register("first-is-empty", "second-is-empty").verdict is Verdict.PROVED
    assert register("first-is-empty", k=2).verdict is Verdict.PROVED
    assert register("first-is-empty", k=2, puts=1).verdict is Verdict.UNDETERMINED
    found = register("first-is-empty", "moves-are-bounded", "moves-are-counted")
    said = [(item.verdict, item.why) for item in found.findings]
    broken = (Verdict.UNDETERMINED, "induction fails: move may break the property")
    assert said == [broken, (Verdict.PROVED, ""), (Verdict.PROVED, "")], "what is inductive is proved beside it"


def test_what_fails_initially_for_other_constants_only_is_no_violation() -> None:
    machine = shift_register.MACHINE
    ask = (shift_register.there_are_few_moves,)
    for values, verdict in (({}, Verdict.UNDETERMINED), ({"most": 6}, Verdict.VIOLATED)):
        found = prove(machine, machine.set_constants(values), ask, Settings(lifted={"most": None}))
        assert found.verdict is verdict


def test_what_breaks_an_induction_is_shown_as_two_states_that_the_plain_semantics_confirms(tmp_path: Path) -> None:
    file = tmp_path / "pair.trace"
    done = fencepost(*KIP320, "--property", "leader-in-isr-or-none", "--trace", str(file), "-v")
    assert done.exit_code == 3
    assert "breaks the induction: from a state where all properties hold" in done.stdout
    text = file.read_text()
    assert text.startswith("format: induction 1\n")
    assert "breaks: leader-in-isr-or-none\nreachable: not checked\n" in text
    assert text.count("\n----\nany state\n") == 1
    assert text.count("\n----\n") == 2


def asked(*more: str) -> tuple[str, ...]:
    """Return the command of a proof that the first place is empty, which is not inductive."""
    return ("prove", REGISTER, "--workers", "1", "--quiet", "--property", "first-is-empty", *more)


def test_the_exhaustive_engine_says_whether_the_first_state_can_be_reached() -> None:
    done = fencepost(*asked("--no-cache", "--json"))
    assert done.exit_code == 3
    assert "so the step violates nothing there" in data_of(done)["counterexample"]["reachable"]
    done = fencepost(*asked("--no-cache", "--json", "--set", "puts=1"))
    assert (done.exit_code, data_of(done)["verdict"]) == (1, "violated")
    assert data_of(done)["counterexample"]["reachable"].startswith("the state is one of")


def test_a_violation_within_the_depth_is_a_trace_that_replays(tmp_path: Path) -> None:
    file = tmp_path / "run.trace"
    assert fencepost(*asked("--set", "puts=1", "--depth", "3", "--trace", str(file))).exit_code == 1
    done = fencepost("replay", str(file), "--model", REGISTER)
    said = f"{file}: shift-register: first-is-empty is violated: a trace of 3 states, as recorded in the file"
    assert (done.exit_code, done.stdout.strip()) == (0, said)


def test_what_z3_cannot_say_in_time_is_undetermined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Asking, "ask", lambda *_: z3.unknown)
    done = fencepost("prove", REGISTER, "--workers", "1", "--no-cache", "--quiet", "--json")
    assert done.exit_code == 3
    found = {item["name"]: item for item in data_of(done)["properties"]}
    assert found["first-is-empty"]["verdict"] == "undetermined"
    assert all(item["why"].startswith("z3 cannot decide") for item in found.values() if item["verdict"] != "proved")


def test_several_processes_find_what_one_finds() -> None:
    one, two = (register("first-is-empty", "moves-are-bounded", workers=workers) for workers in (1, 2))
    assert one.findings == two.findings
    assert [item.move for item in one.broken] == [item.move for item in two.broken]


REFUSED = {
    ("kip320", "--property", "leader-changes"): "'leader-changes' is a property of kind sometimes",
    ("kip320", "--property", "strong-irs"): "protocol 'kip320' has no property or lemma 'strong-irs'. Did",
    ("kip320", "--unbounded", "replicas"): "`--unbounded` names 'replicas': constant 'replicas' is a size, which",
    ("kip320", "--unbounded", "epochs"): (
        "`--unbounded` names 'epochs', which is neither a constant nor a domain of 'kip320'. Did you mean 'epoch'?"
    ),
    ("kip320", "--unbounded", "log_size"): "model/lineage/base.py:",
    ("mailbox.py", "--unbounded", "resends"): "there is no file mailbox.py",
    ("kip320", "--k", "2", "--depth", "3"): "`--depth` and `--k`",
    ("kip320", "--expect", "good"): "--expect: there is no verdict 'good'.",
    ("--property", "strong-isr"): "--property does not apply to the proofs of the catalogue",
}  # fmt: skip


@pytest.mark.parametrize("given", REFUSED, ids=" ".join)
def test_what_cannot_be_meant_is_refused_in_one_message(given: tuple[str, ...]) -> None:
    message = refused("prove", *given, "--quiet", "--workers", "1")
    assert message.startswith(f"fencepost: {REFUSED[given]}")


def test_a_loop_without_a_bound_is_refused_with_its_line() -> None:
    message = refused("prove", "kip320", "--unbounded", "log_size", "--property", "strong-isr", "--quiet")
    assert "this loop is unbounded: it runs to a number that `--unbounded` made unbounded." in message
    assert "Instead, remove the constant that bounds the loop from `--unbounded`, or add `--havoc-loops`" in message


def test_an_operator_without_a_term_is_refused_with_its_line() -> None:
    machine = shift_register.MACHINE
    found = prove(machine, machine.set_constants({"puts": 1}), (shift_register.first_is_even,), Settings())
    assert found.verdict is Verdict.UNDETERMINED
    message = (
        r"the symbolic engine has no term for the bits of an unbounded number\.\n"
        r".*return s\.first & 1 == 0\n.*\nInstead, bound the number, or use `check`\.$"
    )
    with pytest.raises(ModelError, match=message):
        prove(machine, machine.set_constants({}), (shift_register.first_is_even,), Settings(lifted={"most": None}))


AFAR = shift_register.MACHINE.replacing(name="afar", sentence="a 1 is put in", put=shift_register.put_from_afar)
SHIFTED = {
    "s.second = 1 - ((1 << 9000 + s.moves) & 1)": (AFAR, shift_register.second_is_empty),
    "return 1 << 9000 + s.moves > 0": (shift_register.MACHINE, shift_register.far_bits_are_on),
}


@pytest.mark.parametrize("way", [{}, {"k": 2}, {"depth": 2}], ids=str)
@pytest.mark.parametrize("line", SHIFTED)
def test_a_shift_beyond_what_a_term_has_is_refused_with_its_line(line: str, way: dict[str, Any]) -> None:
    machine, prop = SHIFTED[line]
    with pytest.raises(ModelError) as caught:
        prove(machine, machine.set_constants({}), (prop,), Settings(**way))
    assert "the symbolic engine has no term for a left shift by more than 8,192 bits." in str(caught.value)
    assert line in str(caught.value)


def test_without_z3_there_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "z3" else real(name, *rest))
    message = refused("prove", "kip320")
    assert message == (
        'fencepost: proofs need z3, which is not installed: run `pip install "fencepost[prove]"`, '
        "or use `fencepost check` instead.\n"
    )


def interrupt_after(questions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate Ctrl-C in z3 after this many questions."""
    whole, asked = Asking.ask, []

    def cut(self: Asking, *flags: Any) -> Any:
        asked.append(flags)
        if len(asked) > questions:
            raise Stopped(BY_KEYBOARD)
        return whole(self, *flags)

    monkeypatch.setattr(Asking, "ask", cut)


@pytest.mark.parametrize("way", [{}, {"k": 2}, {"depth": 3}, {"everywhere": True}])
@pytest.mark.parametrize("questions", [0, 1])
def test_an_interrupted_proof_says_why(way: dict[str, Any], questions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(questions, monkeypatch)
    found = register("first-is-empty", "second-is-empty", **way)
    assert {item.verdict for item in found.findings} == {Verdict.UNDETERMINED}
    assert (found.why_stopped, found.gave_up) == ("SIGINT was received", True)


def test_what_was_decided_before_an_interrupt_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = register("first-is-empty", "moves-are-bounded").of("first-is-empty")
    interrupt_after(9, monkeypatch)
    found = register("first-is-empty", "moves-are-bounded")
    assert (bool(found.why_stopped), found.of("first-is-empty")) == (True, whole)
    assert found.of("moves-are-bounded").why == "SIGINT was received"


def test_an_interrupted_proof_is_undetermined_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path))
    both = asked("--property", "second-is-empty")
    with monkeypatch.context() as patch:
        interrupt_after(1, patch)
        found = fencepost(*both, "--expect", "undetermined", "--strengthen")
    assert found.exit_code == 3
    assert "Partial: SIGINT was received. Properties that were not decided" in found.stdout
    assert fencepost(*both).exit_code == 0


def test_an_interrupted_catalogue_of_proofs_says_how_many_were_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after(0, monkeypatch)
    found = fencepost("prove", "--workers", "1", "--no-cache", "--quiet")
    assert found.exit_code == 3
    told = " ".join(found.stdout.split())
    assert f"was proved. {len(THEOREMS)} of {len(THEOREMS)} proofs not attempted." in told
    assert "Partial: SIGINT was received while " in told


@pytest.mark.parametrize("way", ["apart", "over"])
def test_ctrl_c_ends_what_other_processes_think_about(way: str) -> None:
    told: list[Any] = []

    def think(number: int) -> int:
        time.sleep(60 if number else 0)
        return number

    def heard(number: int, *_: int) -> None:
        told.append(number)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()

    def wait() -> None:
        with interruptible():
            if way == "over":
                over((0, 1, 2), think, 2, heard)
            else:
                apart(lambda tell: (tell(1), think(1)), heard)

    began = time.monotonic()
    with pytest.raises(Stopped, match="SIGINT was received"):
        wait()
    assert told == [1]
    assert time.monotonic() - began < 30


def test_an_error_in_another_process_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        apart(lambda _: 1 // 0, print)


def test_values_of_constants_that_may_have_any_are_told_beside_a_counterexample() -> None:
    told = " ".join(fencepost(*asked("--unbounded", "puts", "-v")).stdout.split())
    assert "Values of the unbounded constants in this step: puts=0." in told
    assert "the state is not among the 4 reachable states with puts=0, so the step violates nothing there" in told


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("first-is-empty", "Lemmas that are inductive on their own, but not enough to prove the property"),
        ("moves-are-bounded", "Lemmas that are inductive together with the proved properties"),
    ],
)
def test_lemmas_are_enough_only_if_something_is_proved(
    name: str, heading: str, capsys: pytest.CaptureFixture[str]
) -> None:
    constants = shift_register.MACHINE.set_constants({"puts": 1})
    found = register(name, puts=1, explain=False)
    lemmas = tuple(f"lemma {number}" for number in range(9))
    report = ProveResult(Protocol(shift_register.MACHINE, ()), constants, (), Settings(), found, lemmas=lemmas)
    print_report(results(), report, verbose=False)
    told = capsys.readouterr().out
    assert heading in told
    assert ("lemma 5\n  3" if name == "moves-are-bounded" else "lemma 0\n  8") + " more: `-v`\n" in told
    print_report(results(), report)
    assert "lemma 8\n" in capsys.readouterr().out


def test_candidates_for_lemmas_have_names_of_their_own_and_say_nothing_of_what_is_inside_a_channel() -> None:
    made = candidates(shift_register.MACHINE)
    assert made[0].name == "lemma-0"
    others = candidates(shift_register.MACHINE, {"lemma-0"})
    assert [item.sentence for item in others] == [item.sentence for item in made]
    assert "lemma-0" not in {item.name for item in others}
    made = candidates(oddments.MACHINE)  # models cannot name that inside: it made a whole proof fail
    check(oddments.MACHINE, made)
    assert not [item.sentence for item in made if "items" in item.sentence]


UP = """
class State(Record):
    x: Annotated[int, Range(0, C.n)]
@action()
def up(s, c):
    s.x += 1
@always
def small(s: State, c: C) -> bool:
    return s.x >= 0
"""


@pytest.mark.parametrize("k", [1, 2])
def test_a_proof_that_lifts_a_bound_names_what_leaves_it_under_the_given_constants(tmp_path: Path, k: int) -> None:
    file = tmp_path / "up.py"
    file.write_text(HEAD.replace("bound(3, low=1, high=9", "bound(600, low=1, high=900") + whole(UP))
    found = data_of(fencepost("prove", str(file), "--unbounded", "n", "--k", str(k), "--json"))
    assert found["verdict"] == "proved"
    assert found["cuts"] == {"up" if k == 1 else "": ["State.x leaves its domain"]}
