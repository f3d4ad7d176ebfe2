"""Closed mechanisms in joint coordinates: a spanning tree, and the rows of `constraint` for what closes its loops."""
