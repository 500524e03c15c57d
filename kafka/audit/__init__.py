"""Audits of a real cluster's metadata log: the recorded changes are checked against the guarantees."""
