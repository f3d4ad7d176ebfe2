"""Derivatives of the equations of motion with respect to configurations, velocities and forces, one algorithm a file."""
