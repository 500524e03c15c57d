"""The back end: typed code as LLVM IR, optimized, made an object, kept on disk, and loaded by LLVM itself."""
