"""Comparisons of the model with Kafka: whole histories, guards, and single changes."""
