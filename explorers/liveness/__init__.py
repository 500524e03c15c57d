"""Liveness properties and their costs, judged on the graph of all states."""
