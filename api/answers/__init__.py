"""Results as frozen dataclasses, counterexamples and matrices, all of which can be written as JSON."""
