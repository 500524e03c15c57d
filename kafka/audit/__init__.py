"""Audits of a real cluster's metadata log: recorded changes are checked against the guarantees."""
