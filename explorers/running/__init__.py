"""Safe execution: files written atomically, locks, Ctrl-C and signals, memory limits, and the private cache."""
