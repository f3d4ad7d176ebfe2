"""Drives that are no number at some time are named before anything is computed."""

import pytest

import chasles as ch


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0.1 * sqrt(0.1 - t)", r"'road': value '0.1 \* sqrt\(0.1 - t\)' has no finite rate at t = 0.1 s"),
        ("1 / (t - 0.25)", "is no finite number at t = 0.25 s"),
        ("sqrt(t)", "has no finite rate at t = 0 s"),
        ("log(t)", "is no finite number at t = 0 s"),
    ],
)
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_drive_that_is_no_number_is_named_with_its_time(value, message, coordinates):
    hinge = ch.revolute("hinge", "ground", "arm", axis=(0, 0, 1))
    arm = ch.Body("arm", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1))
    system = ch.System([arm], [hinge], constraints=[ch.Drive("road", "hinge", value)])
    with pytest.raises(ValueError, match=message):
        ch.simulate(system, (0.0, 1.0), coordinates=coordinates)
