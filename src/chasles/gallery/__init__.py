"""Canonical systems with their published data."""
