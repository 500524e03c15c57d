"""Topics that are created, deleted and recreated, as a broker learns of it."""
