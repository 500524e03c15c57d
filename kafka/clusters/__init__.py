"""Reproductions of findings on real clusters of controllers and brokers on this machine."""
