"""Leader hints of KIP-951 and consistency tokens in one client."""
