"""The subset of Python that models may use, and the type of every expression in it.

A model function must mean the same on every engine. This package reads the text of an action, a property or a helper,
gives every expression a type from the closed schema, and refuses what an engine would get wrong silently: a misspelt
field, a NONE index, a swap of records, an unassigned local, a guard after a write.
"""
