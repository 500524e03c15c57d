"""The typed program: the checker's output for a machine, which every engine translates further. It is defined in
`docs/developing/program.md`. The plain semantics runs the Python text, without the typed program.
"""
