"""Absolute coordinates: the poses of all bodies, joints as constraints, closed loops welcome."""
