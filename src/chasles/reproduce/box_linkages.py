"""Figures 5-7, 9, 10 and 12-15 of mueller2013: the double pendulum, the floating bodies and the closed loop."""

from __future__ import annotations

import numpy as np

from chasles.gallery.boxes import FIGURE_STEP
from chasles.reproduce.figure import Claim, Figure
from chasles.reproduce.two_groups import (
    ROUNDING,
    SPACES,
    energy_drift,
    energy_figure,
    gaps,
    largest,
    motion,
    printed,
    similar,
    violation_figure,
)

PENDULUM, FLOATING, LOOP = "double_pendulum", "floating_bodies", "three_bar"
SHORT, LONG = 5.0, 14.0  # ends of the pictures of the double pendulum [s]
KNOWN = 2.0  # until then its motion is known [s]
END = 10.0
BOTH = dict.fromkeys(SPACES, END)
OPEN = "The paper gives no data of the linkage; those here are stated in `gallery.boxes.three_bar`."

# ---------------------------------------------------------------- spherical double pendulum


def _chaos() -> str:
    """When a run and one with half the step are a centimeter apart."""
    first, second = motion(PENDULUM, "SE3", LONG), motion(PENDULUM, "SE3", LONG, FIGURE_STEP / 2)
    apart = abs(first.poses[:, :, 4:] - second.poses[::2, :, 4:]).max(axis=(1, 2))
    when = first.t[int(np.argmax(apart > 0.01))]
    return (
        f"The motion is chaotic: a run with half the step is a centimeter away from t = {when:.1f} s on. Sizes over "
        f"longer times are those of another motion than the one printed; the groups are compared up to {KNOWN:g} s."
    )


def figure_5() -> Figure:
    """Violation of joint 1 of the double pendulum."""
    on_se3, on_product = gaps(PENDULUM, "SE3", "joint 1", SHORT), gaps(PENDULUM, "SO3xR3", "joint 1", LONG)
    claims = [
        Claim(
            "SE(3): up to 2e-15 in print",
            f"largest component on SE(3) up to {SHORT:g} s [m]",
            largest(on_se3),
            high=ROUNDING,
        ),
        Claim(
            "A generally better performance of SE(3): joint 1",
            f"violation up to {KNOWN:g} s, SO(3)×R³ over SE(3)",
            largest(on_product, KNOWN) / largest(on_se3, KNOWN),
            2.0,
        ),
        printed("SO(3)×R³", f"largest component up to {LONG:g} s [m]", largest(on_product), 4e-5, _chaos()),
    ]
    ends = {"SE3": SHORT, "SO3xR3": LONG}
    return violation_figure(5, "Double pendulum: violation of joint 1", PENDULUM, "joint 1", ends, claims, KNOWN)


def figure_6() -> Figure:
    """Violation of joint 2 of the double pendulum."""
    on_se3, on_product = (gaps(PENDULUM, space, "joint 2", LONG) for space in SPACES)
    first = gaps(PENDULUM, "SO3xR3", "joint 1", LONG)
    chaos = _chaos()
    spans = "The printed pictures end at 5 s and at 14 s; over equal times the two are alike."
    claims = [
        Claim(
            "The violation in joint 2 is higher than that in joint 1",
            f"joint 2 over joint 1 on SO(3)×R³, up to {KNOWN:g} s",
            largest(on_product, KNOWN) / largest(first, KNOWN),
            1.0,
        ),
        Claim(
            "A generally better performance of SE(3): joint 2",
            f"violation up to {KNOWN:g} s, SO(3)×R³ over SE(3)",
            largest(on_product, KNOWN) / largest(on_se3, KNOWN),
            2.0,
            note=spans,
        ),
        Claim(
            "A generally better performance of SE(3): joint 2",
            f"violation up to {LONG:g} s, SO(3)×R³ over SE(3)",
            largest(on_product) / largest(on_se3),
            2.0,
            note=spans,
        ),
        printed("SE(3)", f"largest component up to {SHORT:g} s [m]", largest(on_se3, SHORT), 4e-5, chaos),
        printed("SO(3)×R³", f"largest component up to {LONG:g} s [m]", largest(on_product), 1e-3, chaos),
    ]
    ends = {"SE3": SHORT, "SO3xR3": LONG}
    return violation_figure(6, "Double pendulum: violation of joint 2", PENDULUM, "joint 2", ends, claims, KNOWN)


def figure_7() -> Figure:
    """Drift of the total energy of the double pendulum."""
    on_se3, on_product = (energy_drift(PENDULUM, space, LONG) for space in SPACES)
    chaos = f"{_chaos()} At the end {on_se3[-1]:+.1e} and {on_product[-1]:+.1e} J; the printed curves are negative."
    claims = [
        similar(
            "The total energy drift is comparable for both formulations",
            f"largest drift up to {KNOWN:g} s",
            largest(on_se3, KNOWN),
            largest(on_product, KNOWN),
        ),
        printed("Energy drift on SE(3)", f"largest drift up to {LONG:g} s [J]", largest(on_se3), 2e-2, chaos),
        printed("Energy drift on SO(3)×R³", f"largest drift up to {LONG:g} s [J]", largest(on_product), 2e-2, chaos),
    ]
    ends = dict.fromkeys(SPACES, LONG)
    return energy_figure(7, "Double pendulum: drift of the total energy", PENDULUM, ends, claims, KNOWN)


# ---------------------------------------------------------------- interconnected floating bodies


def figure_9() -> Figure:
    """Violation of the joint of two floating bodies."""
    sizes = {space: largest(gaps(FLOATING, space, "joint 1", END)) for space in SPACES}
    claims = [
        similar(
            "Both perform similarly regarding constraint satisfaction",
            "largest component",
            sizes["SE3"],
            sizes["SO3xR3"],
        ),
    ]
    for (space, size), paper in zip(sizes.items(), (3e-7, 2.5e-7), strict=True):
        twice = largest(gaps(FLOATING, space, "joint 1", END, 2 * FIGURE_STEP))
        note = (
            f"{paper / size:.0f} times smaller than in print; with twice the step {twice:.1e} m. The paper gives no "
            "linear velocities; here the common center of mass is at rest."
        )
        claims.append(printed(f"{SPACES[space]}", "largest component at the stated step [m]", size, paper, note))
    return violation_figure(9, "Floating bodies: violation of the joint", FLOATING, "joint 1", BOTH, claims)


def figure_10() -> Figure:
    """Drift of the kinetic energy of two floating bodies."""
    sizes = {space: largest(energy_drift(FLOATING, space, END)) for space in SPACES}
    claims = [similar("The kinetic energy drifts are similar", "largest drift", sizes["SE3"], sizes["SO3xR3"])]
    for (space, size), paper in zip(sizes.items(), (1.2e-7, 8e-8), strict=True):
        twice = largest(energy_drift(FLOATING, space, END, 2 * FIGURE_STEP))
        note = f"{paper / size:.0f} times smaller than in print; with twice the step {twice:.1e} J."
        claims.append(printed(f"{SPACES[space]}", "largest drift at the stated step [J]", size, paper, note))
    return energy_figure(10, "Floating bodies: drift of the kinetic energy", FLOATING, BOTH, claims)


# ---------------------------------------------------------------- closed loop


def _ground_joint(number: int, joint: str, paper: float) -> Figure:
    on_se3, on_product = (largest(gaps(LOOP, space, joint, END)) for space in SPACES)
    claims = [
        Claim(
            f"The constraints of the base joints are perfectly satisfied: up to {paper:.0e} in print",
            "largest component on SE(3) [m]",
            on_se3,
            high=ROUNDING,
        ),
        printed("SO(3)×R³", "largest component [m]", on_product, 1e-5, OPEN),
    ]
    return violation_figure(number, f"Closed loop: violation of {joint}", LOOP, joint, BOTH, claims)


def figure_12() -> Figure:
    """Violation of joint 1 of the closed loop."""
    return _ground_joint(12, "joint 1", 1e-13)


def figure_13() -> Figure:
    """Violation of joint 2 of the closed loop."""
    on_se3, on_product = (largest(gaps(LOOP, space, "joint 2", END)) for space in SPACES)
    claims = [
        similar(
            "The violation of joint 2 is similar for both formulations", "largest component", on_se3, on_product, OPEN
        ),
        printed("SE(3)", "largest component [m]", on_se3, 3e-5, OPEN),
        printed("SO(3)×R³", "largest component [m]", on_product, 1.5e-5, OPEN),
    ]
    return violation_figure(13, "Closed loop: violation of joint 2", LOOP, "joint 2", BOTH, claims)


def figure_14() -> Figure:
    """Violation of joint 3 of the closed loop."""
    return _ground_joint(14, "joint 3", 5e-14)


def figure_15() -> Figure:
    """Drift of the total energy of the closed loop."""
    on_se3, on_product = (largest(energy_drift(LOOP, space, END)) for space in SPACES)
    claims = [
        similar("The energy drift of both formulations is similar", "largest drift", on_se3, on_product),
        printed("Energy drift on SE(3)", "largest drift [J]", on_se3, 2e-3, OPEN),
        printed("Energy drift on SO(3)×R³", "largest drift [J]", on_product, 2.5e-3, OPEN),
    ]
    return energy_figure(15, "Closed loop: drift of the total energy", LOOP, BOTH, claims)
