"""The same machines on Apache Spark: exhaustive search in partitions, and sweeps of random walks."""
