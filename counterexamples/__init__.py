"""Counterexamples: modules that write, read, replay and display traces."""
