"""Comparisons of the model with Kafka by histories, guards and single changes."""
