"""From a checked model function to text that the back end compiles: the same function, with its checks made explicit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.explorers.native.bags import bag_text
from fencepost.explorers.native.writer import Writer

if TYPE_CHECKING:
    import ast

    from fencepost.explorers.native.checks import Checks
    from fencepost.model.language.records import Record
    from fencepost.model.language.subset import Function, Program


class Emitter:
    """Writes functions of one program as text; what they call is written before them."""

    def __init__(self, program: Program, checks: Checks) -> None:
        self.program, self.checks = program, checks
        self.texts: list[str] = []
        self.names: dict[object, str] = {}
        self.lifted = 0
        self.bags: dict[type[Record], str] = {}

    def function(self, made: Function) -> str:
        """Write a helper or a predicate and return its name in the generated module."""
        if made.python not in self.names:
            name = f"f{len(self.names)}_{made.name}"
            self.names[made.python] = name
            body = self.body(made, made.node.body)
            self.texts.append(f"@helper\ndef {name}(_e, {', '.join(made.params)}):\n{body}\n")
        return self.names[made.python]

    def body(self, made: Function, statements: list[ast.stmt], indent: str = "    ") -> str:
        """Return statements as text."""
        lines: list[str] = []
        writer = Writer(self, made)
        for statement in statements:
            lines += writer.statement(statement)
        return "\n".join(indent + line for line in lines or ["pass"])

    def bag(self, record: type[Record]) -> str:
        """Write the operations on bags of these messages and return the suffix of their names."""
        if record not in self.bags:
            self.bags[record] = f"{record.__name__}{len(self.bags)}"
            self.texts.append(bag_text(record, self.bags[record], self.checks.most))
        return self.bags[record]
