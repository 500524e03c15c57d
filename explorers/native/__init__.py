"""The native engine: models compiled through LLVM, searched breadth-first in partitions."""
