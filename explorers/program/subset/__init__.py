"""The subset of Python that models may use, and the type of every expression in it.

A model function must mean the same on every engine. This package reads the text of an action, a property or a helper,
and gives every expression a type from the closed schema. It refuses what an engine would silently get wrong: a misspelt
field, a NONE index, a swap of records, an unassigned variable, a guard after a write.
"""
