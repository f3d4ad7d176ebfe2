"""States on the constraints, found once for all coordinates: assembly, rank, singular configurations."""
