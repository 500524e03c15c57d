"""Code that works with Apache Kafka itself: Kafka's classes, clients, clusters and metadata logs."""
