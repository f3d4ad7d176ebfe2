"""Time stepping on Lie groups and homogeneous spaces. Knows nothing of bodies."""
