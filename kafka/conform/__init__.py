"""Comparisons of the model with Kafka: histories, guards and single changes."""
