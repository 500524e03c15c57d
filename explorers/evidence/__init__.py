"""Evidence on the checks of a protocol: ablation, fault counting, comparison of variants, vacuity."""
