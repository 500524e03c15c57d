"""Binding of the model `directory-moves` to a broker with two directories and its controller."""
