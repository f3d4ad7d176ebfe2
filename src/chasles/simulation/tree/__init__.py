"""Trees in joint coordinates: their vector field, dynamics and quantities."""
