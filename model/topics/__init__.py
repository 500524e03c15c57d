"""Topics that are created, deleted and recreated, and how a broker replays these changes."""
