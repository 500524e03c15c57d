"""Binding of the model `tiers` to Kafka's logs and its tasks for tiered storage."""
