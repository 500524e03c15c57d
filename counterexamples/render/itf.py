"""A trace in the Informal Trace Format (Apalache's ADR-015), which Apalache, Quint and their viewers read.

Numbers are big integers, as Apalache writes them, and NONE is -1. Enum members are strings, flags are booleans, and
sets are sets. Arrays are lists indexed from 0, and logs end at their log end offset. A bag maps each message to the
number of its copies in flight.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from fencepost.counterexamples.promises import kept
from fencepost.counterexamples.replay import Replay
from fencepost.counterexamples.states import is_set, log_ends
from fencepost.counterexamples.trace import Trace
from fencepost.counterexamples.violating_binding import violated_for
from fencepost.model.language.domains import BitSet, Domain, Flag, InFlight, Member
from fencepost.model.language.interpreter import Interpreter, Step
from fencepost.model.language.records import ArrayOf, BagOf, FieldType, Key, Nested, Record, Scalar, fields

ACTION = "mbt::actionTaken"
"""The variable for the action that led to a state, as expected by Quint and by tools that replay traces."""
CONSTANT = "c::"
"""Prefix of the names of constants, because a field may have the same name as a constant."""
DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def render(made: Replay, _model: str = "") -> str:
    trace, plain = made.trace, made.trace.interpreter()
    record = plain.machine.state
    constants = dict(_constants(trace))
    loop, last = made.path.loop, made.path.length - 1
    kept = last if loop is not None and loop < last else last + 1  # the state that closes a loop is not repeated
    data: dict[str, Any] = {
        "#meta": _meta(made, plain),
        "params": list(constants),
        "vars": [*(name for name, _ in fields(record)), ACTION],
        **({} if loop is None else {"loop": loop}),
        "states": [
            {"#meta": meta, **(constants if number == 0 else {}), **record_as_itf(record, state), ACTION: taken}
            for number, (state, (meta, taken)) in enumerate(
                zip(made.path.states[:kept], _taken(made, plain), strict=False)
            )
        ],
    }
    return _text(data)


def _text(data: dict[str, Any]) -> str:
    states = ",\n  ".join(json.dumps(state, ensure_ascii=False) for state in data["states"])
    head = "".join(
        f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)},\n"
        for name, value in data.items()
        if name != "states"
    )
    return f'{{\n{head} "states": [\n  {states}\n ]\n}}\n'


def _meta(made: Replay, plain: Interpreter) -> dict[str, Any]:
    trace = made.trace
    found = {
        "format": "ITF", "format-description": DESCRIPTION, "description": trace.title, "source": plain.machine.name,
        "status": trace.verdict, "finding": violated_for(trace, made.path),
        "property": trace.prop.name if trace.prop else "", "version": trace.version, "why": trace.why,
        "fair": kept(trace, made.path),
    }  # fmt: skip
    return {name: value for name, value in found.items() if value}


def _taken(made: Replay, plain: Interpreter) -> Iterator[tuple[dict[str, Any], str]]:
    yield {"index": 0}, "initial"
    for number, step in enumerate(made.path.steps, 1):
        yield (
            {"index": number, "step": plain.show(step), "parameters": dict(_parameters(plain, step))},
            step.action.label,
        )


def _parameters(plain: Interpreter, step: Step) -> Iterator[tuple[str, Any]]:
    for (name, domain), value in zip(step.action.params, step.args, strict=True):
        yield (
            name,
            record_as_itf(plain.message_class(domain), value)
            if isinstance(domain, InFlight)
            else _scalar(domain, value),
        )


def _constants(trace: Trace) -> Iterator[tuple[str, Any]]:
    for name, constant in trace.constants.declared().items():
        shown = constant.show(trace.constants.values[name])
        yield f"{CONSTANT}{name}", shown if isinstance(shown, str | bool) else _number(int(shown))


def record_as_itf(record: type[Record], key: Key) -> dict[str, Any]:
    ends, names = log_ends(record), [name for name, _ in fields(record)]
    found = {}
    for (name, field), value in zip(fields(record), key, strict=True):
        end = key[names.index(ends[name])] if name in ends else None
        found[name] = _value(field, value if end is None or is_set(value[end:]) else value[:end])
    return found


def _value(field: FieldType, value: Any) -> Any:
    match field:
        case Scalar():
            return _scalar(field.domain, value)
        case Nested():
            return record_as_itf(field.record, value)
        case ArrayOf():
            return [_value(field.element, item) for item in value]
        case BagOf():
            return {
                "#map": [[record_as_itf(field.record, item), _number(count)] for item, count in Counter(value).items()]
            }


def _scalar(domain: Domain, value: int) -> Any:
    if isinstance(domain, Flag):
        return bool(value)
    if isinstance(domain, Member):
        return domain.show(value)
    if isinstance(domain, BitSet):
        return {"#set": [_number(bit) for bit in range(int(value).bit_length()) if value >> bit & 1]}
    return _number(value)


def _number(value: int) -> dict[str, str]:
    return {"#bigint": str(int(value))}
