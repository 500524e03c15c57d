"""The tests. Every test name is a claim."""
