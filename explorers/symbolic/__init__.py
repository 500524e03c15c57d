"""The symbolic engine: a model's functions on z3 terms, and proofs by induction."""
