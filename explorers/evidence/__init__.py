"""Evidence that a protocol's checks are meaningful: ablation, fault counting, comparison of variants, and vacuity."""
