"""Models in absolute coordinates, of any origin, on Lie group integrators: mueller2022, and adapters for libraries."""
