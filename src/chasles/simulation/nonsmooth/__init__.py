"""Friction that sticks and rigid limits: forces that are no functions of the state, and impacts."""
