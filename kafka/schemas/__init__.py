"""Claims about schemas, versions, headers and code paths, held against the classes in Kafka's jars."""
