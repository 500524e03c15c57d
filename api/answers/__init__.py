"""Results (frozen dataclasses), counterexamples and matrices. All of them can be written as JSON."""
