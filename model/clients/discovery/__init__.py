"""Leader discovery: what a client learns about leaders from metadata and from the hints of KIP-951."""
