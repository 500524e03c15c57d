"""Notes on a verdict about a version of Kafka: sources, findings, and limits of the question."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from fencepost.api.asking.quantities import listed
from fencepost.api.asking.targets import Question
from fencepost.api.topics import measured
from fencepost.api.topics.applying import unrepaired
from fencepost.api.topics.claims import Allows, Executed, Prevents
from fencepost.api.topics.evidence import outside_models
from fencepost.counterexamples.prevention import is_prevented, parameters
from fencepost.explorers.verdict import Result, Verdict
from fencepost.invariants.catalogue import entries
from fencepost.model.language.actions import Action, Property
from fencepost.model.language.interpreter import Path
from fencepost.model.language.machine import REPAIRED, Machine, Repair


def version_notes(question: Question, mark: str | None = None) -> Iterator[str]:
    """Yield notes on an answer about a version. `mark` is the digest of the question's machine, if already known."""
    machine, name = question.protocol.machine, question.version
    if not name:
        return
    version, left = machine.version(name), machine.missing(question.constants.values)
    if machine.terms is None:
        yield f"{name}: {version.sentence}" + (f" (after {machine.source})." if machine.source else ".")
        yield from _contained(name, left)
        return
    mark = mark or measured.machine_mark(machine)
    yield from machine.terms(question.constants)
    open_findings = _unrepaired(question)
    if name.endswith(REPAIRED):
        of_release = (
            "No release contains all changes of this version, so a `holds` verdict applies to a hypothetical release."
        )
        yield f"{name} is {version.sentence}. {of_release if measured.is_measured(mark) else unlike_kafka(machine)}"
        if open_findings:
            yield f"{name} still contains {open_findings}, for which the model has no fix."
        return
    if measured.is_measured(mark):
        yield f"{name} follows Kafka's code: {version.sentence}.{_compared(question, mark)}"
    else:
        yield f"{name} has the constants of Kafka without fixes: {version.sentence}. {unlike_kafka(machine)}"
    yield from _contained(name, left)
    if open_findings:
        yield f"{name} also contains {open_findings}, which the model cannot fix."
    modelled = {item.finding for item in machine.repairs}
    if machine.name == "replication" and (outside := [item for item in outside_models(name) if item not in modelled]):
        yield (
            f"Kafka {name.removeprefix('kafka-')} also has {', '.join(outside)}: these findings were observed on "
            "clusters, not in this model. `fencepost guarantees ID` explains each finding and its workaround."
        )


def _contained(name: str, left: tuple[Repair, ...]) -> Iterator[str]:
    if left:
        found = "; ".join(f"{item.finding}, until {item.sentence}" for item in left)
        yield (
            f"{name} contains {found}. `version='{name}{REPAIRED}'` checks a model with these findings fixed, and "
            "`fencepost guarantees ID` explains each finding."
        )


def unlike_kafka(machine: Machine) -> str:
    """Return a note for a variant or an edited model, to which statements about Kafka do not apply."""
    changed = f"a variant of {machine.base.name}" if machine.base is not None else "edited"
    return f"This model is {changed}, not the model that was compared with Kafka's classes."


def _unrepaired(question: Question) -> str:
    if question.protocol.machine.name != "replication":
        return ""
    release = question.version.removesuffix(REPAIRED)
    names = unrepaired(release, elr=bool(question.constants.values["elr"]))
    told = [
        f"{name} (with {entries()[name].switch})" if entries()[name].kind == "hypothesis" else name for name in names
    ]
    return listed(told)


def executed(question: Question, mark: str) -> Executed | None:
    """Return a claim about the steps of a question's machine that were executed on Kafka, or None."""
    own = measured.driven_rows(question.version, mark)
    if not own or measured.beyond(question, mark):
        return None
    counts = ("steps", "differences", "aside")
    steps, differ, aside = (sum(int(row[key].replace(",", "") or 0) for row in own) for key in counts)
    return Executed(steps, own[0]["release"], differ, aside, measured.are_driven_together(question, mark))


def _compared(question: Question, mark: str) -> str:
    own = measured.driven_rows(question.version, mark)
    if not own:
        return " This version was not compared with Kafka's classes."
    claim = executed(question, mark)
    if claim is not None:
        return f" {claim.sentence}"
    others = ", ".join(measured.beyond(question, mark))
    return f" With these constants, the model was not compared with Kafka {own[0]['release']}'s classes: {others}."


def background_notes(question: Question, result: Result, *, normalize: bool) -> Iterator[str]:
    """Yield the notes that depend on the version, the machine and the constants, but not on the search."""
    machine = question.protocol.machine
    told: tuple[str, ...] = ()
    if question.version:
        mark = measured.machine_mark(machine) if machine.repairs else None
        about = answer_notes(question, result, mark, normalize=normalize)
        told = (*version_notes(question, mark), *about)
    own = machine.notes(question.constants) if machine.notes else ()
    yield from told
    yield from (item for item in own if not told or not is_told(item, told))


def answer_notes(question: Question, result: Result, mark: str | None = None, *, normalize: bool) -> Iterator[str]:
    """Yield the finding that explains each violation. If nothing is violated, yield the effect of crashes."""
    machine = question.protocol.machine
    if not question.version or not machine.repairs:
        return
    mark = mark or measured.machine_mark(machine)
    needed = repaired_by(question, result, normalize=normalize)
    by_change = allows(question, result, needed.get("", ()), normalize=normalize)
    if by_change is not None:
        yield by_change.sentence
    why = "these settings allow it" if measured.is_measured(mark) else "this model or these settings allow it"
    for findings, found in sorted(needed.items()):
        names = [name for name in found if by_change is None or name not in by_change.properties]
        shown = f"the shortest history that violates {', '.join(names)}"
        if findings:
            yield f"{Prevents(f'Fixing {findings}', shown).sentence}."
        elif names:
            yield f"No single fix prevents {shown}: either {why}, or several fixes are needed."
    if measured.crashes_are_of(int(question.constants.values.get("brokers", 0)), mark) and measured.follows_version(
        question
    ):
        yield from _with_crashes(question)


def repaired_by(question: Question, result: Result, *, normalize: bool) -> dict[str, list[str]]:
    """Return the violated properties, grouped by the findings (`HYP-1 or HYP-3`) whose fix prevents the shortest path.
    The key is empty for properties whose violation no single fix prevents.
    """
    machine = question.protocol.machine
    if not question.version or not machine.repairs:
        return {}
    needed: dict[str, list[str]]
    about, properties, needed = machine.kept.get("repaired", (None, None, {}))
    if about is question and properties is result.properties:  # both the notes and the first screen need these
        return needed
    left = machine.missing(question.constants.values)
    needed = {}
    for item in result.properties:
        prop = next(prop for prop in question.properties if prop.name == item.name)
        if item.verdict is Verdict.VIOLATED and item.path is not None and not item.kind.over_behaviours:
            repairs = [
                it
                for it in left
                if is_prevented(machine, question.constants, prop, item.path, it.values, normalize=normalize)
            ]
            needed.setdefault(" or ".join(it.finding for it in repairs), []).append(item.name)
    machine.kept["repaired"] = question, result.properties, needed
    return needed


def allows(question: Question, result: Result, names: Iterable[str], *, normalize: bool) -> Allows | None:
    """Return the claim that a variant's replacements cause violations, or None."""
    base = question.protocol.machine.base
    found = [name for name in names if _is_of_change(question, result, name, normalize=normalize)]
    return None if base is None or not found else Allows(base.name, tuple(found))


def _is_of_change(question: Question, result: Result, name: str, *, normalize: bool) -> bool:
    """Return whether the base of a variant excludes the shortest path of a property."""
    base = question.protocol.machine.base
    path = next(item.path for item in result.properties if item.name == name)
    prop = next(prop for prop in question.properties if prop.name == name)
    ways = {normalize, False}
    return (
        base is not None
        and path is not None
        and all(_is_refused_by(base, question, prop, path, normalize=way) for way in ways)
    )


def replaced_in(machine: Machine, base: Machine) -> tuple[tuple[Action, Action | None], ...]:
    """Return the actions of the base that a variant replaces, each with its replacement."""
    return tuple((old, new) for old, new in placed_in(machine, base) if new is not old)


def placed_in(machine: Machine, base: Machine) -> tuple[tuple[Action, Action | None], ...]:
    """Return all actions of a variant's base, each with the variant's counterpart, which may have another name."""
    known, left, found = {item.name for item in base.actions}, list(machine.actions), []
    for item in base.actions:
        stays = bool(left) and (left[0].name == item.name or left[0].name not in known)
        found.append((item, left.pop(0) if stays else None))
    return tuple(found)


def _is_refused_by(base: Machine, question: Question, prop: Property, path: Path, *, normalize: bool) -> bool:
    """Return whether the base of a variant excludes a path, or satisfies the property at its end.

    If `normalize` is set, values that only the variant uses may be removed, which changes later steps. The result is
    False if the parameters of one of the path's actions differ in the base.
    """
    known = {item.name: item for item in base.actions}
    known |= {new.name: old for old, new in replaced_in(question.protocol.machine, base) if new is not None}
    if any(step.action.name not in known for step in path.steps):
        return True
    if any(parameters(known[step.action.name]) != parameters(step.action) for step in path.steps):
        return False
    steps = tuple(step._replace(action=known[step.action.name]) for step in path.steps)
    return is_prevented(base, question.constants, prop, replace(path, steps=steps), {}, normalize=normalize)


def _with_crashes(question: Question) -> Iterator[str]:
    """Yield a sentence about the effect of crashes for this number of brokers, in a model with every fix."""
    values = question.constants.values
    rows = [
        row
        for row in measured.cells(int(values.get("brokers", 0)))
        if all(row["setting"][name] == bool(values[name]) for name in ("elr", "unclean_election"))
    ]
    if not rows:
        return
    told = "; ".join(f"min ISR {row['setting']['min_isr']}: {measured.outcome(row)}" for row in rows)
    elr, unclean = (
        f"{'with' if values[name] else 'without'} {words}"
        for name, words in (("elr", "ELR"), ("unclean_election", "unclean elections"))
    )
    yield (
        f"The measured crashes apply to one record on {values['brokers']} brokers, {elr} and {unclean}, in a model "
        f"that has all fixes and in which every crash loses the log: {told} (docs/kafka/losing-data.md)."
    )


def is_told(note: str, told: tuple[str, ...]) -> bool:
    """Return whether a note only repeats findings that were already named."""
    found = re.findall(r"HYP-\d+\b", note)
    return bool(found) and all(any(re.search(rf"{item}\b", line) for line in told) for item in found)
