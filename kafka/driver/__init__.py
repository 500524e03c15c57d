"""Parts that all comparisons share: Kafka's releases and jars, the Java process, and the execution of histories."""
