"""Measured figures, which pages and `fencepost vacuity` read.

The figures are committed to the repository because measuring them takes minutes to hours; `tox -e figures` measures
them again. `matrices/` has a file for each protocol whose guards were removed one by one. `faults.json` has fault
tables; `proofs.json`, `replication.json` and `spark.json` have the cost of proofs, of searches and of searches on
Spark.
"""
