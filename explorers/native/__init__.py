"""The native engine: a model compiled through LLVM, searched breadth first by partitions."""
