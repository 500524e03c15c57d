"""How a high watermark gets to a follower, and to a consumer that waits there (KIP-392, High watermark propagation)."""
