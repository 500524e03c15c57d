"""Warnings: what makes an answer look better than it is, though no property is violated.

Some are in the model's text, others only in what a search found. They are the same whatever engine searched.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from fencepost.explorers.program.ir.oversights import ModelWarning, oversights
from fencepost.explorers.program.ir.quantified import Sent
from fencepost.explorers.program.ir.translate import translate
from fencepost.explorers.verdict import Verdict
from fencepost.invariants.protocols import PROTOCOLS
from fencepost.model.language.actions import Action, Kind
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fencepost.api.asking.targets import Question
    from fencepost.explorers.program.ir.program import Program
    from fencepost.explorers.verdict import Result
    from fencepost.invariants.protocols import Protocol
    from fencepost.model.language import Property
    from fencepost.model.language.records import Key

MANY = 1_000
"""States in which a witness of an initial state is looked for on the plain semantics."""


def warnings_of(question: Question, result: Result, *, normalize: bool) -> tuple[ModelWarning, ...]:
    """Return the warnings about a question and its answer."""
    found = question.protocol
    ours = PROTOCOLS.get(found.machine.name) is found  # which have no warnings of their text, as a test shows
    program = cache(lambda: translate(found.machine, found.every_property))
    return (*(() if ours else of_text(found, program())), *_of_answer(question, result, program, normalize=normalize))


def of_text(found: Protocol, program: Program) -> tuple[ModelWarning, ...]:
    """Return the warnings that the model itself gives."""
    return (*_left_out(found), *oversights(program), *_without_witness(found))


def _left_out(found: Protocol) -> Iterator[ModelWarning]:
    for item in found.left_out:
        is_action = isinstance(item, Action)
        kind, where = ("action", "the actions of MACHINE") if is_action else ("property", "PROPERTIES")
        name = item.label if isinstance(item, Action) else item.name
        never = "it never happens" if is_action else "it is not checked"
        yield ModelWarning(
            f"{kind}-left-out",
            name,
            f"the file defines {kind} {name!r} and leaves it out of {where}, so {never}: list it there, or take it "
            "out.",
        )


def _without_witness(found: Protocol) -> Iterator[ModelWarning]:
    if not any(item.kind is Kind.SOMETIMES for item in found.every_property):
        yield ModelWarning(
            "no-witness",
            found.name,
            "there is no witness, so the properties could hold merely because nothing ever happens: "
            "write one under @sometimes that says what the protocol is for.",
        )


def _of_answer(
    question: Question, result: Result, translated: Callable[[], Program], *, normalize: bool
) -> Iterator[ModelWarning]:
    """Yield the parts of an answer that are weaker than they look."""
    by_name = {item.name: item for item in question.properties}
    ours = PROTOCOLS.get(question.protocol.machine.name) is question.protocol
    sent: Sent | None = None
    for item in result.properties:
        prop = by_name[item.name]
        if item.vacuous:
            yield ModelWarning(
                "premise-never-happened",
                item.name,
                f"{item.name} says nothing: no reachable state satisfies its `when`. Let the machine come there, or "
                "mend `when`.",
            )
        elif prop.kind is Kind.SOMETIMES:
            if item.verdict is Verdict.HOLDS and item.path is not None and item.path.length == 1:
                yield from _only_initially(question, prop, normalize=normalize)
        elif prop.kind.must_hold and item.verdict is Verdict.HOLDS and result.complete:
            if prop.on is not None and not result.fired.get(prop.on.label):
                yield ModelWarning(
                    "nothing-to-judge",
                    item.name,
                    f"{item.name} could not fail: it is about the steps of action {prop.on.label!r}, which never "
                    "happened.",
                )
            elif not (ours and all(result.fired.values())):
                program = translated()
                actions = question.protocol.machine.actions
                sent = sent or Sent(program, {it.name for it in actions if result.fired.get(it.label)})
                if sent.is_idle(program.functions[program.properties[item.name]]):
                    yield ModelWarning(
                        "nothing-to-judge",
                        item.name,
                        f"{item.name} could not fail: it is about messages, and no step ever sends one of them.",
                    )


def _only_initially(question: Question, prop: Property, *, normalize: bool) -> Iterator[ModelWarning]:
    """Look for a state behind the initial ones that satisfies a witness too, among the nearest ones.

    The search may not have come there, so the model may raise an error there: no step leads out of its domains.
    """
    plain = Interpreter(question.protocol.machine, question.constants, normalize=normalize, bounded=True)
    level = list(dict.fromkeys(plain.initial_states()))
    seen = set(level)
    visited = 0
    while level:
        following = []
        for state in level:
            for transition in plain.transitions(state):
                if transition.after in seen:
                    continue
                if _satisfies(plain, prop, transition.after):
                    return
                visited += 1
                seen.add(transition.after)
                following.append(transition.after)
                if visited == MANY:
                    yield _witness(prop, f"none of the nearest {MANY:,} other states does")
                    return
        level = following
    yield _witness(prop, "no other state does")


def _satisfies(plain: Interpreter, prop: Property, state: Key) -> bool:
    with suppress(DomainError):
        return plain.holds(prop, state)
    return False


def _witness(prop: Property, others: str) -> ModelWarning:
    return ModelWarning(
        "only-initially",
        prop.name,
        f"witness {prop.name} shows nothing of what happens: an initial state satisfies it, and {others}. "
        "Let it ask for something that only a step brings about.",
    )
