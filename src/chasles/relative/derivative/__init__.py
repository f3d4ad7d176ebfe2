"""Derivatives of the equations of motion by configurations, velocities and forces, one algorithm a file."""
