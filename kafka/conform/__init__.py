"""The model compared with Kafka: its histories, its guards, and what single changes do."""
