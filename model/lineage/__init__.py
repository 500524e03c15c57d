"""Five published models: one generation of the truncation logic after the other."""
