"""Liveness properties and their costs, which are checked on the graph of all states."""
