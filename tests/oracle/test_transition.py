"""Every transition map against the product of the group in 60 digits: rotation and position, not the numbers, are
compared, because near half and full turns different numbers are the same rotation."""

import mpmath
import numpy as np
import pytest
from mpmath import mp

from chasles.integrate.method import COORDINATES
from chasles.integrate.space import Space
from chasles.lie import pose, transition
from chasles.lie.transition.coordinates import LOCAL, SE3
from tests.oracle.definitions import ORACLE, precise

EPS = np.finfo(float).eps
ULPS = 8.0
ABSOLUTE = ("quaternion", "rotation_vector", "rotation_vector:2pi", "screw", "euler:ZYX", "euler:zxz")
ANGLES = (0.0, 1e-9, 1e-4, 0.02, 0.7, 2.0, 3.0, np.pi - 1e-7, np.pi)
# how far the angle of an increment may be, by map; the coordinates are infinite at π (cay) and 2π (cay2)
LARGEST = {"exp": 5.5, "cay": 2.8, "cay2": 5.5}
SCALE = {"exp": lambda t: t, "cay": lambda t: np.tan(t / 2), "cay2": lambda t: np.tan(t / 4)}


def exact_pose(q, absolute):
    """The 4x4 matrix of absolute coordinates, in 60 digits."""
    if absolute == "quaternion":
        return mp.matrix(ORACLE["pose"]._load(q).tolist())
    if absolute == "screw":
        return ORACLE["se3"].exp(q)
    if absolute.startswith("rotation_vector"):
        turn = ORACLE["so3"].exp(q[:3])
    else:
        sequence = absolute.partition(":")[2]
        pairs = list(zip(sequence.upper(), q[:3], strict=True))
        turn = mp.eye(3)
        for letter, angle in pairs if sequence.isupper() else reversed(pairs):
            axis = np.eye(3)["XYZ".index(letter)]
            turn = turn * ORACLE["so3"].exp(axis * angle)
    result = mp.eye(4)
    result[:3, :3] = turn
    for k in range(3):
        result[k, 3] = mp.mpf(float(q[3 + k]))
    return result


def exact_motion(x, local):
    """Rotation and displacement of local coordinates."""
    name = LOCAL[local].map
    if LOCAL[local].group == SE3:
        return getattr(ORACLE["se3"], name)(x)
    result = mp.eye(4)
    result[:3, :3] = getattr(ORACLE["so3"], name)(x[:3])
    for k in range(3):
        result[k, 3] = mp.mpf(float(x[3 + k]))
    return result


def exact_product(g, h, local):
    if LOCAL[local].group == SE3:
        return g * h
    result = mp.eye(4)
    result[:3, :3] = g[:3, :3] * h[:3, :3]
    result[:3, 3] = g[:3, 3] + h[:3, 3]
    return result


@precise
def ulps(q, x, found, absolute, local):
    """Error of rotation and position, in units of rounding of 1 and of the lengths that are added."""
    before, step = exact_pose(q, absolute), exact_motion(x, local)
    truth, moved = exact_product(before, step, local), exact_pose(found, absolute)
    turn = max(abs(e) for e in truth[:3, :3] - moved[:3, :3])
    length = max(mpmath.norm(before[:3, 3]), mpmath.norm(step[:3, 3]), mpmath.norm(mp.matrix(x[3:].tolist())))
    shift = max(abs(e) for e in truth[:3, 3] - moved[:3, 3])
    return float(turn / EPS), float(shift / (EPS * length))


def samples(absolute, local):
    """Coordinates and increments over small and large angles, in random directions."""
    rng = np.random.default_rng(7)
    cases = []
    for angle in (*ANGLES, 5.0):
        if angle > LARGEST[LOCAL[local].map]:
            continue
        axes = rng.normal(size=(2, 3))
        axes /= np.linalg.norm(axes, axis=1)[:, None]
        x = np.concatenate([SCALE[LOCAL[local].map](angle) * axes[0], rng.normal(size=3)])
        start = ANGLES[rng.integers(len(ANGLES))]
        g = np.concatenate([[np.cos(start / 2)], np.sin(start / 2) * axes[1], rng.normal(size=3)])
        cases.append((transition.from_pose(pose.project(g), absolute), x))
    if absolute.startswith("euler"):  # at gimbal lock, and to it
        lock = np.pi / 2 if absolute == "euler:ZYX" else 0.0
        cases += [(np.array([0.3, lock + near, -0.4, 1.0, 2.0, 3.0]), x) for near in (0.0, 1e-16, 1e-9, -1e-5)]
        cases += [(cases[-1][0], np.array([0.0, 0.0, size, 1.0, 0.0, 0.0])) for size in (0.0, 1.0)]
    return cases


@pytest.mark.sample(1)
@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("absolute", ABSOLUTE)
def test_transition_maps_are_right_to_rounding(absolute, local):
    group = "se3" if LOCAL[local].group == SE3 else "so3xr3"
    block = {"se3": ("pose",), "so3xr3": ("s3", "r3")}[group] if absolute == "quaternion" else (f"{group}:{absolute}",)
    space = Space(*block, side="right")
    for q, x in samples(absolute, local):
        for found in (transition.tau(q, x, absolute, local), space.move(q, x, COORDINATES[LOCAL[local].map])):
            turn, shift = ulps(q, x, found, absolute, local)
            assert turn <= ULPS, (absolute, local, q, x, turn)
            assert shift <= ULPS, (absolute, local, q, x, shift)


# ---------------------------------------------------------------- what is printed


def _cross(a, b):
    return mp.matrix([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _dot(a, b):
    return sum(a[k] * b[k] for k in range(3))


@precise
def test_mueller2022_62_has_a_square_too_many():
    """The vector part of the product of quaternions, with p~ x and, as printed, with p~² x."""
    rho, x = [0.3, -0.7, 0.5], mp.matrix([0.4, 0.2, -0.9])
    truth = ORACLE["so3"].exp(rho) * ORACLE["so3"].exp(list(x))
    q = ORACLE["s3"].exp(rho)
    p0, p = q[0], mp.matrix(q[1:])
    half = mpmath.norm(x) / 2
    c, s = mp.cos(half), mp.sin(half) / (2 * half)
    for turned, low, high in ((_cross(p, x), 0, 1e-40), (_cross(p, _cross(p, x)), 0.1, 10)):
        vector = c * p + s * (p0 * x + turned)
        found = exact_pose([p0 * c - s * _dot(p, x), *vector, 0, 0, 0], "quaternion")[:3, :3]
        assert low <= max(abs(e) for e in found - truth) <= high


@precise
def test_mueller2022_77_to_79_need_the_other_root():
    """ρ' of ρ and a Rodrigues vector c: as printed it is no composition of rotations; with √(σ/2) it is."""
    x, c = mp.matrix([0.3, -0.7, 0.5]), mp.matrix([0.4, 0.2, -0.3])
    first = mpmath.norm(x)
    sigma = 2 / (1 + _dot(c, c))

    def composed(root):
        w = mp.sqrt(sigma / 2)
        cosine, quotient = mp.cos(first / 2), 2 * mp.sin(first / 2) / first
        angle = 2 * mp.acos(w * cosine - root * quotient * _dot(x, c) / 2)
        scale = 2 * mp.sin(angle / 2) / angle
        a, b, g = w * quotient / scale, 2 * root * cosine / scale, root * quotient / scale
        return a * x + b * c + g * _cross(x, c)

    truth = ORACLE["so3"].exp([0.3, -0.7, 0.5]) * ORACLE["so3"].cay([0.4, 0.2, -0.3])
    for root, low, high in ((mp.sqrt(sigma / 2), 0, 1e-40), (mp.sqrt(1 - sigma / 2), 0.05, 10)):
        found = ORACLE["so3"].exp(list(composed(root)))
        assert low <= max(abs(e) for e in found - truth) <= high


def test_mueller2022_66_does_not_converge():
    """r + R Δr on SO(3) x R3, as printed: halving the step does not help; r + Δr converges."""
    import chasles as ch
    from chasles.transition.local_model import LocalModel, runge_kutta
    from tests.transition.models import initial, plain_model

    case = ch.transition.LGTProblem(
        plain_model(representation="mixed"), local="rotation_vector", representation="mixed"
    )

    class Printed(LocalModel):
        def point(self, z):
            y = super().point(z)
            turned = np.array(exact_pose(self.q[0], "quaternion")[:3, :3].tolist(), dtype=float)
            y[4:7] = self.q[0, 4:] + turned @ z[3:6]
            return y

    truth = ch.integrate.solve(case, ch.integrate.RKMK("dopri5"), (0.0, 0.4), initial(case, "mixed"), step=0.01).y[
        -1, 4:7
    ]
    errors = {Printed: [], LocalModel: []}
    for kind, found in errors.items():
        for steps in (10, 20):
            y = initial(case, "mixed")
            for k in range(steps):
                model = kind(case, y)
                y = model.point(runge_kutta("rk4")(model, 0.4 * k / steps, model.start, 0.4 / steps))
            found.append(np.abs(y[4:7] - truth).max())
    assert min(errors[Printed]) > 0.05
    assert errors[Printed][1] > 0.9 * errors[Printed][0]
    assert errors[LocalModel][1] < 1e-6
