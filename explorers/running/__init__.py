"""Robust execution: atomic file writes, locks, Ctrl-C and signals, memory limits, and the private cache."""
