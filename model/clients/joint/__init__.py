"""Leader hints of KIP-951 and consistency tokens, combined in one client."""
