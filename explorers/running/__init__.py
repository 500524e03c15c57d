"""Running safely: files written in one step, the lock, Ctrl-C and signals, memory, and the private cache."""
