"""A state for the page, as JSON values: cards, messages, enabled and disabled steps, and every property."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from fencepost.counterexamples.browser.refusals import Refusal, number_of, refusal
from fencepost.counterexamples.browser.setting import Setting, fault_of
from fencepost.counterexamples.history import folded
from fencepost.counterexamples.render.pictures import card_html, cards
from fencepost.counterexamples.states import changes, parts
from fencepost.counterexamples.violating_binding import violating_binding
from fencepost.model.language.actions import Action, Kind, Property
from fencepost.model.language.constants import Constants
from fencepost.model.language.errors import DomainError
from fencepost.model.language.interpreter import Path, Transition
from fencepost.model.language.records import Key

View = dict[str, Any]
VIOLATED, HOLDS, REACHED, NOT_HERE = "violated", "holds", "reached", "not here"
NO_STEP, WHOLE, WRONG = "no step yet", "whole behaviours", "raises an error"
"""Verdicts on properties that a single state cannot decide."""

PARAMETERS = {
    "kept": "the number of records that the log keeps",
    "checkpoint": "the high watermark that was written to disk",
    "index": "the last applied image of the controller's log",
    "electors": "the voters of the candidate",
    "loses": "whether unflushed records are lost",
    "arrives": "whether the response arrives",
    "target": "the intended replicas",
    "members": "the replicas to be removed from the ISR",
}


def view(
    setting: Setting,
    key: Key,
    before: Key | None = None,
    came: Transition | None = None,
    *,
    explained: bool = False,
    acts: bool = True,
) -> View:
    """Return a state for the page, highlighting the changes made by `came`, the step that led from `before` to this
    state. If `explained`, each guard that fails is shown with its values. Unless `acts` is set, actions are omitted.
    """
    found = itself(setting, key, explained=explained, acts=acts) | arrival(setting, key, before, came)
    return found | {"properties": found["properties"] + found.pop("of_step")}


def itself(setting: Setting, key: Key, *, explained: bool = False, acts: bool = True) -> View:
    return {
        "messages": [
            (f"{part.label}.{cell.name}" if part.label else cell.name, text)
            for part in parts(setting.plain.machine.state, key)
            for cell in part.cells
            for text in cell.messages or ()
        ],
        "actions": [_action(setting, item, key, explained=explained) for item in setting.plain.machine.actions if acts],
        "properties": properties(
            setting, [item for item in setting.protocol.every_property if not item.over_steps], key
        ),
    }


def arrival(setting: Setting, key: Key, before: Key | None = None, came: Transition | None = None) -> View:
    record, raw = setting.plain.machine.state, came.raw if came is not None else key
    of_steps = [item for item in setting.protocol.every_property if item.over_steps]
    return {
        "cards": [card_html(card) for card in cards(setting.parties, key if before is None else before, raw)],
        "changes": [] if before is None else [item.whole for item in changes(record, before, raw)],
        "folded": folded(record, raw, key) if came is not None else "",
        "of_step": properties(setting, of_steps, key, before, came),
    }


def _action(setting: Setting, item: Action, key: Key, *, explained: bool) -> View:
    can: list[str] = []
    cannot: dict[int, View] = {}
    for step, found in setting.plain.attempts(item, key):
        if isinstance(found, Transition):
            can.append(setting.plain.show(step))
            continue
        # must happen before the next step, which reuses the state that the guard has read
        number = number_of(setting, item, found)
        if number not in cannot:
            why = refusal(setting, step, found, explained=explained)
            cannot[number] = {**_refused(setting, item, why), "count": 0, "step": setting.plain.show(step)}
        cannot[number]["count"] += 1
    return {"label": item.label, "can": can, "cannot": [why for _, why in sorted(cannot.items(), reverse=True)]}


def _refused(setting: Setting, item: Action, why: Refusal) -> View:
    # without the bound, the step would leave a domain, so the bound cannot be removed; a larger constant allows it
    return why._asdict() | {"name": "" if why.bound else setting.guard_name(item, why.number)}


def refusals(setting: Setting, key: Key, label: str) -> list[View]:
    """Return why each step of an action is disabled, starting with the steps for which the most guards hold."""
    item = setting.plain.machine.action(label)
    found = [
        (step, refusal(setting, step, error))
        for step, error in setting.plain.attempts(item, key)
        if not isinstance(error, Transition)
    ]
    found.sort(key=lambda pair: -pair[1].number)
    return [{"step": setting.plain.show(step), **why._asdict()} for step, why in found]


def properties(
    setting: Setting, asked: Iterable[Property], key: Key, before: Key | None = None, came: Transition | None = None
) -> list[View]:
    return [_property(setting, prop, key, before, came) for prop in asked]


def _property(setting: Setting, prop: Property, key: Key, before: Key | None, came: Transition | None) -> View:
    try:
        status = _status(setting, prop, key, before, came)
    except DomainError as error:
        return {"name": prop.name, "status": WRONG, "values": str(error)}
    values = _values(setting, prop, key, before, came) if status == VIOLATED else ""
    return {"name": prop.name, "status": status, "values": values}


def _status(setting: Setting, prop: Property, key: Key, before: Key | None, came: Transition | None) -> str:
    if prop.kind.over_behaviours:
        return WHOLE
    if not prop.over_steps:
        so = setting.plain.holds(prop, key)
    elif before is None or came is None:
        return NO_STEP
    else:
        so = setting.plain.holds_step(prop, before, came)
    if prop.kind is Kind.SOMETIMES:
        return REACHED if so else NOT_HERE
    return HOLDS if so else VIOLATED


def _values(setting: Setting, prop: Property, key: Key, before: Key | None, came: Transition | None) -> str:
    path = Path(key, (), (key,)) if before is None or came is None else Path(before, (came.step,), (before, key))
    return str(violating_binding(setting.trace("", prop=prop), path) or "")


def about(setting: Setting) -> View:
    machine = setting.plain.machine
    return {
        "protocol": setting.protocol.name,
        "sentence": machine.sentence,
        "version": setting.link.version,
        "constants": {name: str(value).lower() for name, value in setting.constants.shown.items()},
        "mark": mark_of(setting.constants),
        "bounds": {name: machine.constants.declared()[name].high for name in setting.guards.declared},
        "removed": [{"name": guard.name, "condition": guard.condition} for guard in setting.removed],
        "parties": [lane.title for lane in setting.parties.lanes],
        "actions": {
            item.label: {
                "sentence": item.sentence,
                "fault": fault_of(setting.protocol.machine.action(item.name)),
                "parameters": {name: PARAMETERS[name] for name, _ in item.params if name in PARAMETERS},
            }
            for item in machine.actions
        },
        "properties": {
            item.name: {"kind": str(item.kind), "sentence": item.sentence} for item in setting.protocol.every_property
        },
    }


def mark_of(constants: Constants) -> str:
    """Return a short digest of constants, which identifies traces with equal constants."""
    return hashlib.sha256(json.dumps(dict(constants.values)).encode()).hexdigest()[:12]
