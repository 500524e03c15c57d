"""Leader discovery: what a client learns of leaders from metadata and from the hints of KIP-951."""
