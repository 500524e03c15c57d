"""Calls of the API, one module each."""
