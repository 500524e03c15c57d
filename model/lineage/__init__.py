"""Five published models, one for each generation of Kafka's truncation logic."""
