"""Apache Kafka: its own classes, real clients, real clusters, and the metadata logs of clusters."""
