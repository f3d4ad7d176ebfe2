"""Local-global transition maps: absolute coordinates moved by local coordinates on the group (mueller2022).

`tau(q, x, absolute, local)` gives the absolute coordinates q' of a body after the motion with local coordinates x:
α(q') = α(q) ψ(x), with α from absolute coordinates to the group and ψ from local ones. `coordinates` has the two kinds
of coordinates and their names, `maps` the maps and their differentials, `kinematics` V = H(q) q' and its inverse.
"""

from __future__ import annotations

from chasles.lie.transition.coordinates import Absolute, Local, absolute_names, local_names
from chasles.lie.transition.kinematics import clearance, rate, velocity
from chasles.lie.transition.maps import differential, dtau, from_motion, from_pose, local_rate, motion, tau, to_pose

__all__ = [
    "Absolute",
    "Local",
    "absolute_names",
    "clearance",
    "differential",
    "dtau",
    "from_motion",
    "from_pose",
    "local_names",
    "local_rate",
    "motion",
    "rate",
    "tau",
    "to_pose",
    "velocity",
]
