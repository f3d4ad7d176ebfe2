"""Pictures, the 3D page and the report of a run."""
