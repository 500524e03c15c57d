"""KIP-951's leader hints and consistency tokens, combined in one client."""
