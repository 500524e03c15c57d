"""Replicas that move between directories of their broker (KIP-113, KIP-858)."""
