"""Measured figures: they take minutes to hours to make, and are committed so that pages and `fencepost vacuity` need not make them.

`matrices/` has a file for each protocol whose guards were removed one by one; `faults.json` has fault tables, `proofs.json` what proofs
took, `replication.json` what searches took, and `spark.json` what Spark did. `tox -e figures` measures them again.
"""
