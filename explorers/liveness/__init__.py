"""Liveness and its cost: properties of behaviours, judged on the graph of all states."""
