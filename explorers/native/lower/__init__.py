"""Lowering of a model's typed program to LLVM IR: functions, actions as loops over states, and kernels."""
