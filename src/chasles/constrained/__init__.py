"""Implicit and structure-preserving methods for constrained systems in absolute coordinates."""
