"""Answers: results as frozen dataclasses, counterexamples and matrices; each can be written as JSON."""
