"""Programs that measure the figures in `invariants/figures`."""
