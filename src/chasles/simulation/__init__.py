"""Where model, dynamics and integrators meet: `simulate(system, span, ...)`, stepping, equilibrium."""
