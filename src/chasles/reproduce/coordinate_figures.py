"""Figures for mueller2022: what combinations of coordinates do on four systems. The paper has no numbers; these are
ours, and the statements are those that it makes in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.display.style import COLORS, INK, MARKERS
from chasles.lie.transition.coordinates import LOCAL
from chasles.reproduce.coordinate_study import (
    DIRECT,
    STUDIED_COORDINATES,
    STUDIED_METHODS,
    CoordinateRow,
    measured,
    row,
    study,
)
from chasles.reproduce.figure import Claim, Columns, Figure

ROUNDING = 1e-13  # [m] and of rotations: thousands of steps
ALIKE = 0.01  # errors of two coordinates that are those of the method alone
SE3 = tuple(name for name, local in LOCAL.items() if local.group == "SE3")
PRODUCT = tuple(name for name in LOCAL if name not in SE3)


def _table(rows: Sequence[CoordinateRow]) -> Columns:
    columns: dict[str, Any] = {
        "absolute": [r.absolute for r in rows],
        "local": [r.local for r in rows],
        "method": [r.method for r in rows],
        "position error [m]": np.array([r.position_error for r in rows]),
        "rotation error": np.array([r.rotation_error for r in rows]),
        "norm defect": np.array([r.norm_defect for r in rows]),
        "constraint defect": np.array([r.constraint_defect for r in rows]),
        "evaluations a step": np.array([r.evaluations for r in rows]),
        "us a step": np.array([r.microseconds for r in rows]),
    }
    return columns


def _draw(rows: Sequence[CoordinateRow], constrained: bool):
    """Error against time a step on the left; defects by local coordinates on the right."""
    kinds = (*LOCAL, *(f"direct: {r.absolute}" for r in rows if r.local == DIRECT and r.method == STUDIED_METHODS[0]))
    floor = 1e-17

    def kind(r: CoordinateRow) -> str:
        return f"direct: {r.absolute}" if r.local == DIRECT else r.local

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        for r in rows:
            direct = r.local == DIRECT
            color = INK if direct else COLORS[list(LOCAL).index(r.local)]
            marker = MARKERS[STUDIED_METHODS.index(r.method)]
            hollow = {"facecolors": "none"} if r.absolute != "quaternion" else {}
            place: Any = {"edgecolors": color, "color": color} | hollow
            if hollow:
                place.pop("color")
            if marker == "x":
                place = {"color": color}
            left.scatter(r.microseconds, max(r.rotation_error, floor), s=18, marker=marker, linewidths=0.9, **place)
            value = r.constraint_defect if constrained else r.norm_defect
            right.scatter(kinds.index(kind(r)), max(value, floor), s=18, marker=marker, linewidths=0.9, **place)
        left.set(xscale="log", yscale="log", xlabel="µs a step", ylabel="error of rotations")
        left.set_title("a) filled: quaternions; hollow: other coordinates; black: direct")
        right.set(yscale="log", ylabel="violation of joints" if constrained else "defect of the norm")
        right.set_xticks(range(len(kinds)), kinds, rotation=60, ha="right", fontsize=6.5)
        right.set_title("b) largest on the way")
        for method, marker in zip(STUDIED_METHODS, MARKERS, strict=False):
            left.scatter([], [], marker=marker, color=INK, label=method)
        left.legend()

    return draw


def _figure(number: int, title: str, name: str, claims: Sequence[Claim], constrained: bool = True) -> Figure:
    rows = study(name)
    return Figure(number, title, {"runs": _table(rows)}, claims, _draw(rows, constrained), (10.0, 4.6))


def _apart(name: str, local: str, method: str = "rk4") -> float:
    """By how much errors differ among the absolute coordinates, relative to that of quaternions."""
    errors = [row(name, absolute, local, method).rotation_error for absolute in STUDIED_COORDINATES]
    return float(max(abs(e / errors[0] - 1) for e in errors))


def _norms(name: str) -> float:
    return max(r.norm_defect for r in study(name) if r.absolute == "quaternion" and r.local != DIRECT)


def _violation(name: str, names: Sequence[str], *methods: str) -> list[float]:
    return [r.constraint_defect for r in study(name) if r.local in names and r.method in methods]


def _same(name: str) -> Claim:
    return Claim(
        "Absolute coordinates of any kind can be integrated on the group: the LGT map encapsulates the geometry",
        "largest relative difference of errors among absolute coordinates (screw, rk4)",
        _apart(name, "screw"),
        high=ALIKE,
    )


def _renormalized(name: str) -> Claim:
    plain, unit = (row(name, way, DIRECT, "rk4").rotation_error for way in ("quaternion", "renormalized"))
    return Claim(
        "Renormalization is known to interfere with the system dynamics",
        "error of rotations, renormalized over not (rk4)",
        unit / plain,
        1.1,
        note="Quaternions that are divided by their norm after each step are no worse here than those that are not.",
    )


def figure_1() -> Figure:
    """Heavy top: all coordinates, and direct integration."""
    name = "heavy_top"
    ours, direct = row(name, "quaternion", "rotation_vector", "rk4"), row(name, "renormalized", DIRECT, "rk4")
    claims = [
        _same(name),
        Claim(
            "On SE(3) the motion stays in the isotropy group of a lower pair",
            "largest violation of the pivot with local coordinates on SE(3) [m]",
            max(_violation(name, SE3, *STUDIED_METHODS)),
            high=ROUNDING,
        ),
        Claim(
            "On SO(3)×R³ it does not",
            "smallest violation of the pivot with local coordinates on SO(3)×R³ (rk4) [m]",
            min(_violation(name, PRODUCT, "rk4")),
            1e3 * ROUNDING,
        ),
        Claim("Quaternions keep their norm without renormalization", "largest defect", _norms(name), high=4.5e-16),
        Claim(
            "Lie group methods allow for the geometrically correct motion within a step",
            "error of the position, direct integration over quaternion with rotation vector (rk4)",
            direct.position_error / ours.position_error,
            1.0,
        ),
        _renormalized(name),
    ]
    return _figure(1, "Heavy top", name, claims)


def figure_2() -> Figure:
    """Spherical double pendulum, 2 s; errors at half a second."""
    name = "double_pendulum"
    with_multiplier, unit = (row(name, way, DIRECT, "rk4") for way in ("constrained", "renormalized"))
    claims = [
        _same(name),
        Claim("Quaternions keep their norm without renormalization", "largest defect", _norms(name), high=4.5e-16),
        Claim(
            "The norm among the constraints is known to interfere with the system dynamics",
            "violation of joints, norm as a constraint over renormalized (rk4)",
            with_multiplier.constraint_defect / unit.constraint_defect,
            1.1,
        ),
        _renormalized(name),
    ]
    return _figure(2, "Double pendulum", name, claims)


def figure_3() -> Figure:
    """Tumbling body, which passes gimbal lock."""
    name, coarse = "tumbling_body", 54  # half a radian a step
    euler = {local: row(name, "euler:ZYX", local, "rk4").rotation_error for local in LOCAL}
    direct = row(name, "euler", DIRECT, "rk4").rotation_error
    large = {
        local: measured(name, "quaternion", local, "rk4", coarse, repeated=0).rotation_error
        for local in ("rotation_vector", "rodrigues", "wiener_milenkovic")
    }
    exact = large["rotation_vector"]
    claims = [
        _same(name),
        Claim(
            "Three angles can be integrated free of singularities",
            "error of directly integrated Euler angles over that with a transition map (screw, rk4)",
            direct / euler["screw"],
            1e3,
        ),
        Claim(
            "Rodrigues vectors may interfere if the rotation in a step is large",
            "error with Rodrigues over rotation vectors, half a radian a step (rk4)",
            large["rodrigues"] / exact,
            1.5,
        ),
        Claim(
            "That can be mitigated by higher-order Cayley maps",
            "error with the second-order map over Rodrigues, half a radian a step (rk4)",
            large["wiener_milenkovic"] / large["rodrigues"],
            high=0.67,
        ),
        Claim("Quaternions keep their norm without renormalization", "largest defect", _norms(name), high=4.5e-16),
    ]
    return _figure(3, "Tumbling body", name, claims, constrained=False)


def figure_4() -> Figure:
    """Chain of twenty rods."""
    name = "chain"

    def seconds(absolute: str, local: str) -> float:
        return row(name, absolute, local, "rk4").microseconds

    claims = [
        _same(name),
        Claim("Quaternions keep their norm without renormalization", "largest defect", _norms(name), high=4.5e-16),
        Claim(
            "Rodrigues vectors with quaternions are algebraic, which may be computationally advantageous",
            "time a step, Rodrigues over rotation vectors (rk4)",
            seconds("quaternion", "rodrigues") / seconds("quaternion", "rotation_vector"),
            high=1.0,
            note="Processor time; it varies from run to run.",
        ),
        Claim(
            "The LGT map inevitably involves additional computation",
            "time a step, quaternion with screw over direct integration of quaternions (rk4)",
            seconds("quaternion", "screw") / seconds("quaternion", DIRECT),
            1.0,
            note="Processor time; it varies from run to run.",
        ),
    ]
    return _figure(4, "Chain of 20", name, claims)
