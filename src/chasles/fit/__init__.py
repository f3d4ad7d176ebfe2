"""Parameters of a model from measured data.

recording       what was measured: times and columns with units, from a CSV file or arrays
measurable      what a sensor can measure, by name: "joints.elbow", "bodies.hand.accelerometer", as a function of states
sensor          a sensor: what it measures, its noise, bias and delay
unknown         what is to be found: parameters, paths of a model file, inertias of bodies, starts; with bounds, priors
inertia_cone    inertias that bodies can have, plates and rods among them; units for them
physical        least squares within bounds and these inertias
trial           one experiment simulated with some values: residuals and their exact derivatives
moved_states    states at the times of sensors, and derivatives of what these show of them
by_simulation   `to_data`, which fits simulations to data; `problem`, `solve`; `data_fit`: what comes out
by_regression   `to_torques`, linear regression of inverse dynamics; `torque_fit`: what comes out
other_starts    ways out of local minima: a horizon that grows, other starts; `instability`: how errors of a start grow
patience        the time that a fit may take, its progress, Ctrl-C
cutting         `pieces`: a long recording as short experiments, for unstable motions
exciting        `excitation`: a motion within limits that tells parameters apart
fitted_file     the model file with the values that were found
plot, report    pictures and a page
"""

from chasles.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
