"""Calls: one module for each."""
