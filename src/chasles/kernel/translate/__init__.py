"""From the syntax tree of a kernel to LLVM, in one pass: the first half of the compiler, for the package's own kernels.

Numba turns bytecode into statements of its own, infers the types of all of them together and then writes LLVM's code,
a millisecond for each statement. The package's kernels need no inference: read from top to bottom, each expression has
a type as soon as its parts have one. So the syntax tree is walked once, and each expression is typed and written at
the same time, by Numba's own rules and functions for single operations. What comes out is the same.

What is not known here (`UntranslatedError`) goes through Numba's passes as before.
"""
