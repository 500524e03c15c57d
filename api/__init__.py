"""Fencepost for Python: what a notebook, a script, a test or a service calls."""
