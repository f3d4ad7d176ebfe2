"""Recursive dynamics against numbers that others have published; sources and tolerances are in the data files."""

import json
from pathlib import Path

import numpy as np
import pytest

from chasles import lie
from chasles.model import joint as make
from chasles.model.body import Body
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism

REFERENCE = Path(__file__).parents[1] / "reference"
DATA = json.loads((REFERENCE / "recursive_dynamics.json").read_text())
RBDL = DATA["rbdl"]["cases"]


# ---------------------------------------------------------------- Modern Robotics


@pytest.fixture(scope="module")
def three_links():
    """The mechanism, the scale of its coordinates (q = scale theta), and the data."""
    data = DATA["modern_robotics"]
    places = np.array(data["Mlist"], dtype=float)
    for k in range(1, 4):
        places[k] = places[k - 1] @ places[k]
    names = ["ground", "one", "two", "three"]
    screws = np.array(data["Slist"], dtype=float)
    scale = np.linalg.norm(screws[:, :3], axis=1)
    bodies = [Body(names[k + 1], G[5], inertia=G[:3]) for k, G in enumerate(data["Glist"])]
    joints = [
        make.general(f"joint {k}", names[k], names[k + 1], screws=[screws[k] / scale[k]]) for k in range(len(screws))
    ]
    reference = dict(zip(names[1:], places, strict=False))
    mechanism = Mechanism(System.from_assembly(bodies, joints, reference, gravity=data["gravity"]))
    # the tip's wrench on the environment, as one on the last body
    tip = -np.linalg.inv(lie.se3.Ad(np.array(data["Mlist"][3], dtype=float))).T @ data["Ftip"]
    wrenches = np.zeros((3, 6))
    wrenches[2] = tip
    return mechanism, scale, wrenches, {k: np.array(v) for k, v in data.items() if isinstance(v, list)}


def printed(found, expected):
    np.testing.assert_allclose(found, expected, rtol=5e-9, atol=5e-9)


def test_modern_robotics_inverse_dynamics(three_links):
    mechanism, scale, wrenches, data = three_links
    q, v, a = (scale * data[name] for name in ("theta", "dtheta", "ddtheta"))
    none = np.zeros(3)
    printed(scale * mechanism.inverse_dynamics(q, v, a, wrenches), data["inverse_dynamics"])
    gravity = mechanism.inverse_dynamics(q, none, none)
    printed(scale * gravity, data["gravity_forces"])
    printed(scale * (mechanism.inverse_dynamics(q, v, none) - gravity), data["velocity_forces"])
    printed(scale * (mechanism.inverse_dynamics(q, none, none, wrenches) - gravity), data["end_effector_forces"])


def test_modern_robotics_mass_matrix_and_forward_dynamics(three_links):
    mechanism, scale, wrenches, data = three_links
    q, v = (scale * data[name] for name in ("theta", "dtheta"))
    printed(scale[:, None] * mechanism.mass_matrix(q) * scale, data["mass_matrix"])
    printed(mechanism.forward_dynamics(q, v, data["tau"] / scale, wrenches) / scale, data["forward_dynamics"])


# ---------------------------------------------------------------- RBDL


@pytest.mark.parametrize("case", RBDL, ids=[case["name"] for case in RBDL])
def test_rbdl_accelerations(case):
    axis = dict(zip("xyz", np.eye(3), strict=True))
    bodies, joints = [], []
    for k, (parent, at, axes, com, moments) in enumerate(case["links"]):
        bodies.append(Body(f"link {k + 1}", 1.0, com, moments))
        screws = [[*axis[letter], 0, 0, 0] for letter in axes]
        joints.append(
            make.general(
                f"joint {k + 1}", f"link {parent}" if parent else "ground", f"link {k + 1}", screws=screws, at=at
            )
        )
    mechanism = Mechanism(System(bodies, joints, gravity=DATA["rbdl"]["gravity"]))
    none = np.zeros(mechanism.nv)
    expected = np.array(case["acceleration"])
    # the mechanism's order is depth first, as is that of the data
    found = mechanism.forward_dynamics(case["q"], none, none)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    np.testing.assert_allclose(mechanism.inverse_dynamics(case["q"], none, found), none, atol=1e-13)


# ---------------------------------------------------------------- planar arm, computed for this project


def test_planar_arm_of_two_links():
    data = json.loads((REFERENCE / "planar_two_links.json").read_text())["models"]["planar2"]
    model, state, expected = data["model"], data["state"], data["reference"]
    names, bodies, joints, reference = ["ground", "upper", "lower"], [], [], {}
    for k, (parent, Y, A, M) in enumerate(zip(*(model[name] for name in ("parent", "Y", "A", "M")), strict=True)):
        M = np.array(M)
        com = np.array([M[2, 4], M[0, 5], M[1, 3]]) / M[5, 5]
        about = M[:3, :3] - M[5, 5] * (com @ com * np.eye(3) - np.outer(com, com))
        bodies.append(Body(names[k + 1], M[5, 5], com, about))
        joints.append(make.general(f"joint {k}", names[parent + 1], names[k + 1], screws=[Y]))
        reference[names[k + 1]] = A
    mechanism = Mechanism(System.from_assembly(bodies, joints, reference, gravity=model["gravity"]))
    q, v, a, tau = (np.array(state[name]) for name in ("q", "qd", "qdd", "tau_fd"))
    wrenches, none = state["W_app_body"], np.zeros(2)
    found = {
        "C": lie.pose.to_matrix(mechanism.poses(q)),
        "M": mechanism.mass_matrix(q),
        "Q": mechanism.inverse_dynamics(q, v, a),
        "G": mechanism.inverse_dynamics(q, none, none),
        "C_qd": mechanism.inverse_dynamics(q, v, none) - mechanism.inverse_dynamics(q, none, none),
        "Q_with_applied_wrench": mechanism.inverse_dynamics(q, v, a, wrenches),
        "qdd_forward_dynamics": mechanism.forward_dynamics(q, v, tau),
        "qdd_forward_dynamics_with_applied_wrench": mechanism.forward_dynamics(q, v, tau, wrenches),
    }
    for name in ("body", "spatial", "hybrid", "mixed"):
        found[f"V_{name}"] = mechanism.twists(q, v, representation=name)
        found[f"Vdot_{name}"] = mechanism.accelerations(q, v, a, representation=name)
    for name, value in found.items():
        np.testing.assert_allclose(
            value, expected[name], rtol=0, atol=1e-14 * max(1.0, np.abs(expected[name]).max()) * 4
        )
