"""Tiered storage: logs whose older segments are in a tier (KIP-405)."""
