"""Rules for clients. Each rule names its source, and the harm to users if a client violates the rule."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    name: str
    source: str
    sentence: str
    cost: str


RULES = tuple(
    Rule(name, **{key: " ".join(text.split()) for key, text in item.items()})
    for name, item in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
)
NAMES = tuple(rule.name for rule in RULES)
