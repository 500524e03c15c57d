"""Propagation of a high watermark to a follower, and to a consumer that fetches from the follower (KIP-392)."""
