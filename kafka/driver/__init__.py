"""Shared parts of all comparisons: Kafka's releases and jars, the Java process, and step-by-step execution."""
