"""The subset of Python that a model may use, and what every expression in it denotes.

A model function must mean the same on every engine. This package reads the text of an action, a property or a helper,
gives every expression a type from the closed schema, and refuses what an engine would get wrong in silence: a misspelt
field, a NONE index, a swap of records, an unassigned local, a guard after a write.
"""
