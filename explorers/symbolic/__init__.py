"""The symbolic engine: the functions of a model on terms of z3, and proofs by induction with it."""
