"""The model and the classes of Apache Kafka judge each other, step by step."""
