"""Comparisons of the model with Kafka, by whole histories, by guards, and by single changes."""
