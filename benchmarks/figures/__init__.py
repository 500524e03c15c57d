"""Scripts that measure what lies in `invariants/figures`."""
