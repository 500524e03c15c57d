"""Audits of a real cluster's metadata log, which check the recorded changes against the guarantees."""
