"""Audit of a real cluster's metadata log, judged by the guarantees."""
