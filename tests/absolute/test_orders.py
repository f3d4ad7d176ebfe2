"""Orders of the explicit methods on the index-1 form, with and without projection, on both groups."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose as pose_group
from tests.absolute.systems import SPACES, double_pendulum, slow_top

METHODS = {
    "rk4": (ch.integrate.RKMK("rk4"), 4, (20, 40, 80)),
    "dopri5": (ch.integrate.RKMK("dopri5"), 5, (40, 80, 160)),
    "cf4": (ch.integrate.CommutatorFree("cf4"), 4, (20, 40, 80)),
    "cg3": (ch.integrate.CrouchGrossman("cg3"), 3, (40, 80, 160)),
}
START = np.array([*pose_group.exp([0.4, 0.2, -0.3, 0.0, 0.0, 0.0])[:4]])
END = 0.5  # [s]


def run(space, stabilization, **options):
    spin = np.array([1.0, 8.0, -2.0])
    return ch.simulate(
        slow_top(), (0.0, END), START, spin, coordinates="absolute", space=space, stabilization=stabilization,
        save="final", **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def exact():
    spin = np.array([1.0, 8.0, -2.0])
    best = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-14, "atol": 1e-14, "save": "final"}
    found = ch.simulate(slow_top(), (0.0, END), START, spin, **best)  # in joint coordinates: other equations
    return found.mechanism.poses(found.q[-1])[0], found.mechanism.twists(found.q[-1], found.v[-1])[0]


def error(found, exact):
    pose, twist = exact
    off = pose_group.log(pose_group.compose(pose_group.inverse(pose), found.poses[-1, 0]))
    return max(np.abs(off).max(), np.abs(found.twists[-1, 0] - twist).max())


@pytest.mark.parametrize("stabilization", ["projection", None])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", METHODS)
def test_orders_on_the_slow_top(name, space, stabilization, exact):
    method, order, counts = METHODS[name]
    errors = np.array([error(run(space, stabilization, method=method, step=END / n), exact) for n in counts])
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders[-1] > order - 0.2


# at t = 0.1 s, computed from the reduced equations (rotations alone, positions eliminated) with another program
DIGITS = {
    "positions": [(-0.0981631730, 0.0188671585, -0.0028322772), (-0.2223812244, 0.1034372539, -0.0764054011)],
    "spins": [(-19.5176137738, 10.3923612311, 25.1775414388), (0.2795808533, 31.4516809005, 7.8044239862)],
    "multipliers": [(-389.4502948059, 44.6278413788, 18.1163765654), (-170.5075763543, 103.8272265500, -76.7209490220)],
}


@pytest.mark.parametrize("stabilization", ["projection", None])
@pytest.mark.parametrize("space", SPACES)
def test_digits_of_the_double_pendulum(space, stabilization):
    spins = np.array([[10.0, 0.0, 0.0], [10 * np.pi, 10 * np.pi, 20 * np.pi]])
    system = double_pendulum()
    v = np.concatenate([spins[0], spins[1] - spins[0]])  # the frames are parallel at the start
    run = ch.simulate(
        system, (0.0, 0.1), v=v, coordinates="absolute", space=space, stabilization=stabilization,
        method=ch.integrate.RKMK("dop853"), rtol=1e-13, atol=1e-13, save="final",
    )  # fmt: skip
    assert np.abs(run.poses[-1, :, 4:] - DIGITS["positions"]).max() < 2e-10
    assert np.abs(run.twists[-1, :, :3] - DIGITS["spins"]).max() < 2e-9
    multipliers = run.mechanism.constrained_motion(*run.mechanism.state(run.poses[-1], run.twists[-1])).multipliers
    assert np.abs(multipliers - DIGITS["multipliers"]).max() < 1e-7
