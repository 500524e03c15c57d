"""From the typed program of a model to LLVM IR: its functions, its actions as loops over states, and the kernels that are called."""
