"""Andrews' squeezing mechanism: seven planar bodies on three fixed pivots, six loop equations, driven by a motor.

Source of the data: Test Set for Initial Value Problem Solvers, problem "andrews" (hairer1996, section VII.7).
Each body hangs on a revolute joint about z; the three loops are closed at the point P, where K3, K4 and K6 meet the end
of K2, by points on lines along z, so that no equation is redundant: 35 + 6 = 41 equations, one freedom.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.model.body import GROUND, Body
from chasles.model.constraint import PointOnLine
from chasles.model.force import Spring, Wrench
from chasles.model.joint import revolute
from chasles.model.system import System

MASSES = (0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498)  # [kg]
INERTIAS = (2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)  # about z, central [kg m²]
A, B, C = (-0.06934, -0.00227), (-0.03635, 0.03273), (0.014, 0.072)  # fixed points [m]
STIFFNESS, REST, TORQUE = 4530.0, 0.07785, 0.033  # spring [N/m, m], motor [N m]
D, DA, E, EA, RR, RA = 0.028, 0.0115, 0.02, 0.01421, 0.007, 0.00092
SS, SA, SB, SC, SD = 0.035, 0.01874, 0.01043, 0.018, 0.02
TA, TB, U, UA, UB, ZF, ZT, FA = 0.02308, 0.00916, 0.04, 0.01228, 0.00449, 0.02, 0.04, 0.01421
# beta, Theta, gamma, Phi, delta, Omega, epsilon at the start [rad], at rest
START = (
    *(-0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885),
    *(0.487364979543842550, -0.222668390165885885, 1.23054744454982119),
)
DURATION = 0.03  # [s]
Z = (0.0, 0.0, 1.0)
# center of mass of each body in its frame, whose origin is on its joint and whose x is at the angle of the data
CENTERS = ((RA, 0.0), (-DA, 0.0), (SA, SB), (0.0, EA - E), (TA, TB), (ZF - FA, 0.0), (UA, UB))
# the point P of K2 and of the three bodies that meet it
END_OF_K2, P_OF = (-D, 0.0, 0.0), {3: (0.0, -SS, 0.0), 4: (0.0, -E, 0.0), 6: (ZF, 0.0, 0.0)}
# where each body is jointed: to what, and where on it; K4 hangs on K5, K6 on K7
JOINTED = {
    1: ("ground", (0.0, 0.0, 0.0)),
    2: ("K1", (RR, 0.0, 0.0)),
    3: ("ground", (*B, 0.0)),
    4: ("K5", (ZT, 0.0, 0.0)),
    5: ("ground", (*A, 0.0)),
    6: ("K7", (0.0, -U, 0.0)),
    7: ("ground", (*A, 0.0)),
}


def system() -> System:
    """The mechanism: bodies K1 to K7, joints "to K1" to "to K7" whose coordinates are the angles of the data."""
    bodies = [
        Body(f"K{k}", MASSES[k - 1], (*CENTERS[k - 1], 0.0), (INERTIAS[k - 1],) * 3)  # about x and y: plays no part
        for k in JOINTED
    ]
    joints = [revolute(f"to K{k}", parent, f"K{k}", axis=Z, at=at) for k, (parent, at) in JOINTED.items()]
    loops = [PointOnLine(f"P of K{k}", ("K2", f"K{k}"), (END_OF_K2, at), Z) for k, at in P_OF.items()]
    spring = Spring("spring", ("ground", "K3"), ((*C, 0.0), (SD, -SC, 0.0)), STIFFNESS, length=REST)
    motor = Wrench("motor", "K1", (0.0, 0.0, TORQUE, 0.0, 0.0, 0.0))
    return System(bodies, joints, forces=[spring, motor], constraints=loops, gravity=(0.0, 0.0, 0.0), name="andrews")


def poses(angles: ArrayLike = START) -> np.ndarray:
    """Poses of the seven bodies, (7, 7), for the seven angles of the data."""
    q = np.asarray(angles, dtype=float)
    parents = {2: 1, 4: 5, 6: 7}  # Theta, Phi and Omega are relative to these
    found = np.zeros((7, 7))
    for k in (1, 3, 5, 7, 2, 4, 6):
        parent, at = JOINTED[k]
        base = pose_group.identity() if parent == GROUND else found[parents[k] - 1]
        joint = np.array([np.cos(0.5 * q[k - 1]), 0.0, 0.0, np.sin(0.5 * q[k - 1]), *at])
        found[k - 1] = pose_group.compose(base, joint)
    return found


def angles(found: ArrayLike) -> np.ndarray:
    """The seven angles of the data, (..., 7), within half a turn, from poses (..., 7, 7)."""
    at = np.asarray(found, dtype=float)
    turned = 2.0 * np.arctan2(at[..., 3], at[..., 0])
    turned[..., [1, 3, 5]] -= turned[..., [0, 4, 6]]
    return np.remainder(turned + np.pi, 2 * np.pi) - np.pi
