"""Machines drawn at random, as the text of a model file, and what engines say of them."""
