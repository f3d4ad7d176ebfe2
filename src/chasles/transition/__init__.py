"""Models in absolute coordinates, of any origin, on Lie group integrators: source 003, and adapters for libraries."""
