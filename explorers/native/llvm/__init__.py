"""The back end: typed code as LLVM IR, optimized, compiled to an object, cached on disk, and loaded by LLVM."""
