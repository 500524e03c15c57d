"""Measured figures: they take minutes to hours to measure, so they are committed; pages and `fencepost vacuity` read
them.

`matrices/` has a file for each protocol whose guards were removed one by one; `faults.json` has fault tables,
`proofs.json`, `replication.json` and `spark.json` the cost of proofs, of searches and of searches on Spark. `tox -e
figures` measures them again.
"""
