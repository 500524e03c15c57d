"""Counterexamples: writing, reading, replaying and showing traces."""
