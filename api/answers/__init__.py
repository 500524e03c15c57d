"""The shelf of answers: results as frozen dataclasses, counterexamples and matrices, each with its JSON."""
