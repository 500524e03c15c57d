"""Search engines: each takes a machine and its properties, and returns verdicts."""
