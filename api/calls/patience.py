"""Guards and settings that only liveness needs, found by searching without the guard or with the setting."""

from dataclasses import replace

from fencepost.api.answers.as_json import Json
from fencepost.api.asking.constants import read_value
from fencepost.api.asking.targets import Question
from fencepost.api.asking.watching import Watch
from fencepost.api.calls.check import explore
from fencepost.explorers.program.removal import find_guard, without
from fencepost.explorers.verdict import Options, Result, Verdict, ended_by_signal, extended
from fencepost.invariants.protocols import Protocol
from fencepost.model.language import Property
from fencepost.model.language.actions import Kind
from fencepost.model.language.errors import DomainError, UsageError

SAFE = ("nothing-broke", "same-states")
"""Purposes of rows that change the behaviour but violate no safety property."""

LATER = " while leads-to properties were judged"


def eventual_properties(question: Question) -> tuple[Property, ...]:
    """Return the requested leads-to properties, by default all of them; raise UsageError if none exist."""
    named, every = (
        tuple(item for item in items if item.kind is Kind.LEADS_TO)
        for items in (question.properties, question.protocol.every_property)
    )
    if not every:
        raise UsageError(
            f"protocol {question.name!r} has no leads-to properties that could need a guard: leave `liveness=True` out."
        )
    return named or every


def with_safety(question: Question) -> Question:
    """Return the question, with all safety properties added if it names only leads-to properties."""
    if any(item.kind is not Kind.LEADS_TO for item in question.properties):
        return question
    safety = tuple(item for item in question.protocol.every_property if item.kind.must_hold)
    return replace(question, properties=(*safety, *question.properties))


def judge_whole(question: Question, options: Options, watch: Watch) -> Result:
    return explore(replace(question, properties=eventual_properties(question)), "native", options, watch)


def eventual_of(data: Json) -> Json:
    """Return the leads-to properties judged on the unmodified machine, by verdict."""
    found: Json = data.get("liveness", {"asked": [], "holding": [], "violated": []})
    return found


def judge_liveness(question: Question, data: Json, whole: Result, options: Options, watch: Watch) -> None:
    """Give the purpose `liveness` to guards and settings that a leads-to property needs.

    `whole` is the result for the unmodified machine. If a step would leave a domain, the properties are not judged,
    because such steps are not part of the model's behaviour. After a signal, no further row is judged.
    """
    found, constants = question.protocol, question.constants
    if ended_by_signal(data["why_stopped"]):
        return
    asked, holding = eventual_properties(question), _with(whole, Verdict.HOLDS)
    data["liveness"] = {
        "asked": [item.name for item in asked],
        "holding": holding,
        "violated": _with(whole, Verdict.VIOLATED),
    }
    kept = tuple(item for item in asked if item.name in holding)
    for row in data["rows"]:
        if row["purpose"] not in SAFE or row["departure"] or not kept:
            continue
        machine, values = found.machine, constants
        if row["kind"] == "guard":
            machine = without(machine, find_guard(machine, row["row"]))
        else:
            name, _, text = row["row"].partition("=")
            name, value = read_value(machine, name, text)
            values = constants.replace(**{name: value})
        try:
            result = explore(Question(Protocol(machine, kept), values, kept), "native", options, watch)
        except DomainError as error:
            row["why"] = f"leads-to properties were not judged: {error}"
            continue
        row["liveness"] = _with(result, Verdict.VIOLATED)
        if row["liveness"]:
            row["purpose"] = "liveness"
        elif not result.complete:
            row["why"] = f"leads-to properties were not judged: {result.why_stopped}"
        if ended_by_signal(result.why_stopped):
            data["why_stopped"] = extended(result.why_stopped, LATER)
            return


def _with(result: Result, verdict: Verdict) -> list[str]:
    return [item.name for item in result.properties if item.verdict is verdict]
