"""The knowledge of clients: metadata reads with consistency tokens, and the discovery of leaders (KIP-951)."""
