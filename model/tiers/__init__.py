"""Tiered storage: logs whose older segments are in remote storage (KIP-405)."""
