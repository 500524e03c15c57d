"""Checker for the subset of Python that models may use, which assigns a type to every expression.

A model function must mean the same on every engine. This package reads the text of an action, a property or a helper,
and gives every expression a type from the schema. Code that an engine would silently get wrong is rejected: a misspelt
field, a NONE index, a swap of records, an unassigned variable, a guard after a write.
"""
