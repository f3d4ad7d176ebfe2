"""Limits of the joints of a mechanism as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from chasles.model.joint import Joint


class JointLimits(NamedTuple):
    """Limits in the order of the velocities, (nv,) each; infinite where there are none, as for quaternions.

    lower, upper: of the coordinates [m or rad]; velocity: of the speeds [m/s or rad/s]; effort: of the forces [N or
    N m].
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


def joint_limits(joints: Iterable[Joint]) -> JointLimits:
    """The limits of joints, one after the other."""
    fields = ("lower", "upper", "velocity_limit", "effort_limit")
    listed = list(joints)
    return JointLimits(*(np.array([x for joint in listed for x in getattr(joint, name)]) for name in fields))
