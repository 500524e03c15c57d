"""Audit of a real cluster's metadata log, checked against the guarantees."""
