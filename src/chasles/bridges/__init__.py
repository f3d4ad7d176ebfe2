"""Functions of mechanisms for other programs that differentiate: JAX, PyTorch, CasADi, SciPy, cyipopt.

function     what a bridge carries: a function of vectors with its derivatives
mechanics    such functions: forward and inverse dynamics, poses of frames, the end of a simulation
to_jax, to_torch, to_casadi    the same functions for these packages, which are not needed for the rest
"""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
