"""The model compared with Kafka: its histories, its guards, and single changes."""
