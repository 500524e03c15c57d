"""Five published models, one for each generation of the truncation logic."""
