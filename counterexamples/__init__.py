"""Counterexamples: traces are written, read, replayed and displayed."""
