"""JSON schemas of results."""

from typing import Any

EXPRESSION: dict[str, Any] = {
    "anyOf": [
        {"type": ["boolean", "string"]},
        {"type": "integer", "minimum": -(2**53) + 1, "maximum": 2**53 - 1},
        {"type": "array", "items": {"$ref": "#/$defs/expression"}},
        {"$ref": "#/$defs/bigint"},
        {"$ref": "#/$defs/tuple"},
        {"$ref": "#/$defs/set"},
        {"$ref": "#/$defs/map"},
        {"type": "object", "propertyNames": {"pattern": "^[^#]"},
            "additionalProperties": {"$ref": "#/$defs/expression"}},
    ]
}  # fmt: skip
ONE = {"type": "object", "minProperties": 1, "maxProperties": 1}
LIST = {"type": "array", "items": {"$ref": "#/$defs/expression"}}
PAIR = {"type": "array", "prefixItems": [{"$ref": "#/$defs/expression"}] * 2, "minItems": 2, "maxItems": 2}


def only(name: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with one field."""
    return {**ONE, "required": [name], "properties": {name: content}}


ITF: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Informal Trace Format, from the text of Apalache's ADR-015",
    "type": "object",
    "required": ["vars", "states"],
    "additionalProperties": False,
    "properties": {
        "#meta": {"type": "object"},
        "params": {"type": "array", "items": {"type": "string"}},
        "vars": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "states": {"type": "array", "items": {"$ref": "#/$defs/state"}, "minItems": 1},
        "loop": {"type": "integer", "minimum": 0},
    },
    "$defs": {
        "state": {"type": "object", "properties": {"#meta": {"type": "object"}},
            "patternProperties": {"^[^#]": {"$ref": "#/$defs/expression"}}, "additionalProperties": False},
        "expression": EXPRESSION,
        "bigint": only("#bigint", {"type": "string", "pattern": "^-?[0-9]+$"}),
        "tuple": only("#tup", LIST),
        "set": only("#set", {**LIST, "uniqueItems": True}),
        "map": only("#map", {"type": "array", "items": PAIR}),
    },
}  # fmt: skip
