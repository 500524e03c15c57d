"""Counterexamples: written, read, replayed and shown."""
