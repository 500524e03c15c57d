"""Claims about schemas, versions, headers and code paths, checked against the classes in Kafka's jars."""
