"""Liveness and its cost: properties of whole behaviours, on the graph of all states."""
