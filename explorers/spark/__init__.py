"""Exhaustive search in partitions, and sweeps of random walks, on Apache Spark."""
