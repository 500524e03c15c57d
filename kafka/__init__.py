"""Code that uses Apache Kafka itself: its classes, clients and clusters, and the metadata logs of clusters."""
