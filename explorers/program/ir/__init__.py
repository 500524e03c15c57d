"""The typed program: the checker's result for a machine, which every engine lowers.

`docs/developing/program.md` is its definition. The plain semantics runs the Python text, without the typed program.
"""
