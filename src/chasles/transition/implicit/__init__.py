"""Generalized alpha and BLieDF for models of users in absolute coordinates, in NumPy with small dense matrices."""
