"""Measured figures, shown on pages and by `fencepost vacuity`.

The figures are committed to the repository because measuring them takes minutes to hours; `tox -e figures` measures
them again. `matrices/` has a file for each protocol whose guards were removed one by one. `faults.json` contains fault
tables. Costs are in `proofs.json` (proofs), `replication.json` (searches) and `spark.json` (searches on Spark).
"""
