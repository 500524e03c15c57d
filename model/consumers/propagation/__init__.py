"""Propagation of a high watermark to a follower, and to a consumer that waits there (KIP-392)."""
