"""Small machines whose state spaces are known, for tests of the engines."""

LINEAGE = ("truncate-to-hwm", "kip101", "kip279", "kip320-first-try", "kip320")
"""The protocols with published counts."""
