"""The typed program: what the checker of the language makes of a machine, and what every engine is lowered from.

`docs/developing/program.md` is its definition. The plain semantics is that of the Python text, and does not use it.
"""
