"""Findings on whole clusters: real controllers and brokers on this machine, and their losses."""
