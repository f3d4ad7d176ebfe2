"""Derivatives with respect to what a mechanism is made of: masses and inertias, the placement of joints and frames."""
