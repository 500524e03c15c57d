"""The native engine: a model compiled by Numba, searched breadth first by partitions."""
