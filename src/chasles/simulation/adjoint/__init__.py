"""Gradients of simulations: the steps of a run taken backward, with cotangents in place of points."""
