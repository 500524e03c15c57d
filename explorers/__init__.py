"""Explorers: each takes a machine and properties and returns verdicts."""
