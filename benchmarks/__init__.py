"""Measurements of accuracy and speed that write pages of the documentation. Run them from the root of the repository."""
