"""Consumers that fetch from followers (KIP-392), with position validation (KIP-320) and guarded ListOffsets (KIP-207)."""
