"""The typed program: the checker's output for a machine, which every engine translates further.
`docs/developing/program.md` defines the typed program. Only the plain semantics runs the Python text.
"""
