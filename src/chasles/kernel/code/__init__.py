"""What writes code of LLVM: the types, operators and functions that kernels are made of.

These modules need Numba, so they are loaded when something is compiled, through names of `kernel.late`.
"""
