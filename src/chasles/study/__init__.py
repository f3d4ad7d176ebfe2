"""Studies on one mechanism: `chasles.compare` runs integrators, configuration spaces and stabilizations against
each other."""
