"""Checker for the subset of Python that models may use, which assigns a type to every expression.

A model function must have the same meaning on every engine. The checker reads the source of an action, a property or a
helper, and assigns a type from the schema to every expression. Code that an engine would silently get wrong is
rejected: a misspelt field, a NONE index, a swap of records, an unassigned variable, a guard after a write.
"""
