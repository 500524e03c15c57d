"""Reproductions of findings on whole clusters: real controllers and brokers on this machine."""
