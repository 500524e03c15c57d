"""Back end that turns typed code into LLVM IR, optimizes and compiles it, caches the object on disk, and loads it."""
