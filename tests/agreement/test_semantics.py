"""Each sentence of `docs/model/semantics.md` holds on every engine."""

import re
import textwrap
from dataclasses import replace

import pytest
from fencepost.explorers.plain import search as plain
from fencepost.explorers.search import search as native
from fencepost.explorers.verdict import Options, Verdict
from fencepost.model.language import Constants
from fencepost.model.language.errors import DomainError

from tests.helpers.blocks import Block, blocks
from tests.helpers.compared import Comparison
from tests.helpers.parameters import few
from tests.helpers.places import DOCS, MODELS
from tests.helpers.symbols import Symbols
from tests.helpers.written import machine_of, module_of

lines = module_of("""
Small = Annotated[int, Range(0, 3)]
class C(Constants):
    sends = bound(2, low=0, high=3, meaning="messages that are sent")
class Message(Record):
    number: Small
    mark: Small
class State(Record):
    sent: Small
    box: Annotated[Bag[Message], Size(C.sends)]
@action(number=Range(0, 3))
def send(s, c, number):
    require(number > 0); require(number < 3); require(s.sent < c.sends)
    s.sent += 1
    s.box.add(number=number, mark=s.sent)
def normalize(s, c):
    for m in s.box:
        if m.mark > 0:
            m.number = 3 - m.number
        m.mark = 0
def ascends(s):
    last = 3
    for m in s.box:
        if m.number > last:
            return False
        last = m.number
    return True
@step()
def what_is_sent_is_marked(before, after, c):
    return ascends(before) and ascends(after) and any(m.mark == after.sent for m in after.box)
MACHINE = Machine("lines", "Guards on one line", State, C, initial, (send,), normalize)
""")
"""Guards that stand on one line, and a `normalize` that a step property must not see."""
PAGE = DOCS / "model" / "semantics.md"
SHARED, *BLOCKS = blocks(MODELS / "meanings.txt")
NAMES = [block.title.partition(" ")[0] for block in BLOCKS]
WANTED: dict[str, int | str] = {
    name: int(block.answer) if re.fullmatch(r"-?\d+", block.answer) else block.answer
    for name, block in zip(NAMES, BLOCKS, strict=True)
}
"""The result of each case, or its error."""


def action_of(block: Block) -> str:
    name, _, parameters = block.title.partition(" for ")
    first = "" if block.body.startswith("require(s.pc") else "require(s.pc == 0)\n"
    taken = ", ".join(["s", "c", *re.findall(r"^\w+", parameters)])
    body = textwrap.indent(f"require(c.case == Case.{name.upper()})\n{first}{block.body}", "    ")
    return f"\n\n@action({parameters})\ndef {name}({taken}):\n{body}"


ENUM = f'from enum import IntEnum\nCase = IntEnum("Case", "NOTHING {" ".join(NAMES).upper()}", start=0)\n\n'
MACHINE, PROPERTIES = machine_of(ENUM + SHARED.body + "".join(map(action_of, BLOCKS)))


ENGINES = {"plain": plain, "native": native}
EVERY = [
    pytest.param(engine, case, marks=[pytest.mark.xdist_group("meanings")] * (engine == "native"))
    for engine in ENGINES
    for case in NAMES
]
STATES = 40  # most states of a case that are compared on the symbolic engine


def constants_of(case: str, **values: int) -> Constants:
    return MACHINE.set_constants({"case": NAMES.index(case) + 1, **values})


def agrees(engine: str, constants: Constants) -> bool:
    found = ENGINES[engine](MACHINE, constants, PROPERTIES, Options(workers=1))
    return bool(found.properties[0].verdict is Verdict.HOLDS)


@pytest.mark.parametrize(("engine", "case"), EVERY)
def test_a_sentence_is_true(engine: str, case: str) -> None:
    wanted = WANTED[case]
    if isinstance(wanted, str) or (case == "a_long_sum_is_refused" and engine == "native"):
        with pytest.raises(DomainError) as caught:
            agrees(engine, constants_of(case))
        assert ("64 bits" if isinstance(wanted, int) else wanted) in str(caught.value)
        return
    assert agrees(engine, constants_of(case, want=wanted))
    assert not agrees(engine, constants_of(case, want=wanted + 1)), "it does not happen at all"


@pytest.mark.parametrize("case", few(sorted({*NAMES} - {"a_huge_shift_is_an_error"}), 3))
def test_the_symbolic_engine_takes_the_same_steps(case: str) -> None:
    others = {*NAMES} - {case}
    alone = replace(MACHINE, actions=tuple(item for item in MACHINE.actions if item.name not in others))
    judged = tuple(item for item in PROPERTIES if item.eventual is None)
    symbols = Symbols(alone, {"case": NAMES.index(case) + 1}, judged)
    states, known = list(symbols.plain.initial_states()), 0
    while known < len(states) and known < STATES:
        states += [after for after in symbols.compare(states[known], solve=False) if after not in states]
        known += 1


def test_guards_on_one_line_are_counted_apart_and_step_properties_see_what_was_before_normalize() -> None:
    constants = lines.MACHINE.set_constants({})
    found = plain(lines.MACHINE, constants, lines.PROPERTIES, Options(workers=1))
    assert [(item.condition, item.refused) for item in found.guards] == [
        ("number > 0", found.distinct),
        ("number < 3", found.distinct),
        ("s.sent < c.sends", 2 * found.levels[-1]),
    ]
    compared = Comparison(lines.MACHINE, constants, lines.PROPERTIES).run()
    assert compared.refused == {("send", number): item.refused for number, item in enumerate(found.guards)}
    assert found.properties[0].verdict is Verdict.HOLDS, "bags are in order before normalize"
    assert compared.judged


def test_the_page_has_every_sentence_and_no_other() -> None:
    page = re.sub(r"\s+", " ", PAGE.read_text())
    assert sorted(re.findall(r"- [^*]+? \*([a-z_]+)\*", page)) == sorted(NAMES)
