"""End states of the heavy top of Brüls and Cardona at t = 0.1 s with steps of 0.5 ms.

The digits are those of independent implementations in NumPy with dense matrices, Newton's method to rounding, and the
metric of the papers: tests of every sign and coefficient of the methods, on both groups.
"""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import BRULS_SPIN, bruls_top, run, stepper

TIGHT = {"metric": "unit", "tolerance": 1e-14}
METHODS = {
    "index 3": ch.integrate.GeneralizedAlpha(0.9, index=3, local=False, tolerance=1e-13),
    "index 2": ch.integrate.GeneralizedAlpha(0.9, index=2, local=False, **TIGHT),
    **{f"BLieDF{k}": ch.integrate.BLieDF(k, "exact", **TIGHT) for k in (2, 3, 4, 5)},
    "BLieDF3 first": ch.integrate.BLieDF(3, "first", **TIGHT),
    "RATTLE": ch.integrate.Rattle(),
    **{f"HEM{k}": ch.integrate.HalfExplicit(k, project=False) for k in (3, 4, 5)},
}
# center of mass [m] and angular velocity [rad/s] in the body
DIGITS = {
    "SO3xR3": {
        "index 3": ((0.4212485532, 0.8945776895, -0.1492662516), (4.8137919214, 150.0, 1.0269395107)),
        "index 2": ((0.4211165277, 0.8946636303, -0.1491236355), (4.8090639617, 150.0, 1.0279020845)),
        "BLieDF2": ((0.4211008820, 0.8946606078, -0.1491859380), (4.8093526307, 150.0, 1.0265298850)),
        "BLieDF3": ((0.4213007338, 0.8945698626, -0.1491658564), (4.8090338540, 150.0, 1.0283190279)),
        "BLieDF4": ((0.4212965786, 0.8945720595, -0.1491644166), (4.8089405556, 150.0, 1.0283059207)),
        "BLieDF5": ((0.4212966500, 0.8945719800, -0.1491646917), (4.8089410154, 150.0, 1.0283007230)),
        "BLieDF3 first": ((0.4213012980, 0.8945695497, -0.1491661392), (4.8090339437, 150.0, 1.0283184988)),
        "RATTLE": ((0.4213043129, 0.8945674889, -0.1491699830), (4.8089442863, 150.0, 1.0283042057)),
        "HEM3": ((0.4212963995, 0.8945719953, -0.1491646311), (4.8089360520, 150.0, 1.0282992728)),
        "HEM4": ((0.4212966586, 0.8945719762, -0.1491647019), (4.8089413393, 150.0, 1.0283007303)),
        "HEM5": ((0.4212966589, 0.8945719743, -0.1491647006), (4.8089413318, 150.0, 1.0283007567)),
    },
    "SE3": {
        "index 3": ((0.4204148704, 0.8947900946, -0.1503396931), (4.8170962770, 150.0, 1.0000788332)),
        "index 2": ((0.4204148704, 0.8947900946, -0.1503396931), (4.8170962770, 150.0, 1.0000788332)),
        "BLieDF2": ((0.4186247718, 0.8950180290, -0.1539351427), (4.8336305033, 150.0, 0.9168521854)),
        "BLieDF3": ((0.4215293626, 0.8944408827, -0.1492933483), (4.8149576257, 150.0, 1.0294745570)),
        "BLieDF4": ((0.4213043027, 0.8945707836, -0.1491502517), (4.8088885215, 150.0, 1.0286458733)),
        "BLieDF5": ((0.4212959290, 0.8945724019, -0.1491641979), (4.8089207907, 150.0, 1.0282984389)),
        "BLieDF3 first": ((0.4215304771, 0.8944402590, -0.1492939381), (4.8149575420, 150.0, 1.0294745082)),
        "RATTLE": ((0.4211427829, 0.8946620797, -0.1490587788), (4.8088826412, 150.0, 1.0281956343)),
        "HEM3": ((0.4212610885, 0.8945945210, -0.1491299380), (4.8079088073, 150.0, 1.0280568149)),
        "HEM4": ((0.4212964402, 0.8945720322, -0.1491649716), (4.8089429744, 150.0, 1.0282939071)),
        "HEM5": ((0.4212966613, 0.8945719728, -0.1491647033), (4.8089414051, 150.0, 1.0283007720)),
    },
}
# multipliers [N] of the two forms of generalized alpha. Newton's method ends at the rounding of positions, 4e-15 m, and
# multipliers feel it divided by β h²/m: some 1e-6 N; with index 3 rounding adds to it from step to step
MULTIPLIERS = {
    ("SO3xR3", "index 3"): ((361.3972589593, 295.3354042551, 212.4222901006), 1e-4),
    ("SO3xR3", "index 2"): ((360.9939922826, 295.2881891297, 212.3454458434), 1e-7),
    ("SE3", "index 3"): ((362.5702199581, 295.5212647916, 210.6450725064), 1e-4),
    ("SE3", "index 2"): ((362.5702208408, 295.5212666383, 210.6450722162), 1e-7),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("space", DIGITS)
def test_digits(space, name):
    found = run(bruls_top(), 0.1, space, METHODS[name], 5e-4, v=BRULS_SPIN)
    position, spin = DIGITS[space][name]
    assert np.abs(found.poses[-1, 0, 4:] - position).max() < 1.01e-10
    assert np.abs(found.twists[-1, 0, :3] - spin).max() < 2e-11 * 150.0


@pytest.mark.parametrize(("space", "name"), MULTIPLIERS)
def test_multipliers(space, name):
    going = stepper(bruls_top(), 0.1, space, METHODS[name], 5e-4, v=BRULS_SPIN)
    going.advance(200)
    digits, tolerance = MULTIPLIERS[space, name]
    assert np.abs(going.multipliers[0] - digits).max() < tolerance
