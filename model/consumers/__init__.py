"""Consumers that fetch from followers (KIP-392), validate positions (KIP-320) and list offsets (KIP-207)."""
