"""Unclean recovery of a partition without eligible leaders (KIP-966, second part)."""
