"""Topics that are created, deleted and recreated, as replayed by a broker."""
