"""Five published models: successive generations of the truncation logic."""
