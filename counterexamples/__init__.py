"""Counterexamples: writing, reading, replaying and displaying traces."""
