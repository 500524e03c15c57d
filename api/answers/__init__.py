"""Answers: results as frozen dataclasses, counterexamples and matrices, each with its JSON."""
