"""`tiers` on Kafka's logs and tasks of its tier."""
