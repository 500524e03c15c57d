"""Running safely: files that are whole or absent, one lock, Ctrl-C and signals, memory, and the private cache."""
