"""Measured figures, shown on pages and by `fencepost vacuity`.

The figures are committed to the repository because measuring them takes minutes to hours; `tox -e figures` measures
them again. `matrices/` has a file for each protocol whose guards were removed one by one. `faults.json` contains fault
tables; `proofs.json`, `replication.json` and `spark.json` contain the costs of proofs, searches and searches on Spark.
"""
