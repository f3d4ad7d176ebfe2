"""Closed mechanisms in joint coordinates: their vector field, dynamics and runs."""
