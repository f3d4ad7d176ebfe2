"""Measurements of accuracy and speed that write pages of the documentation; run from the root of the repository."""
