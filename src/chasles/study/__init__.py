"""Studies on one mechanism: `chasles.compare` runs integrators, configuration spaces and stabilisations against
each other."""
