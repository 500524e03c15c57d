"""Machines drawn at random, as the text of a model file, and their comparison on all engines."""
