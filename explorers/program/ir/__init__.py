"""The typed program: the checker's result for a machine, which every engine lowers.

It is defined in `docs/developing/program.md`. The plain semantics runs the Python text, without the typed program.
"""
