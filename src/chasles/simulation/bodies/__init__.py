"""Systems in absolute coordinates: their dynamics, quantities and equilibria."""
