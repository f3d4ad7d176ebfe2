"""Joints and other constraints as rows: residual, Jacobian, acceleration term, for bodies in absolute coordinates."""
