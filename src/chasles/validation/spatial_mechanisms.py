"""Robots and linkages in space: published digits, and equations that do without the loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import chasles as ch
from chasles.gallery import overconstrained
from chasles.validation.board import KnownValue, problem, row, simulate, tree
from chasles.validation.published import DIGITS

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12, "certificate": False}


@problem("P. Corke, Robotics Toolbox, tests of DHRobot (four decimals)", peers=True)
def puma_560() -> list[KnownValue]:
    """Puma 560 with rotors and gears: gravity, inertia and velocity forces."""
    data = {name: np.array(value) for name, value in DIGITS["puma_560"].items() if name != "links"}
    bodies, joints, parent, before = [], [], "ground", np.array([1.0, 0, 0, 0, 0, 0, 0])
    for k, (d, a, alpha, mass, com, moments, rotor, gear) in enumerate(DIGITS["puma_560"]["links"]):
        # standard parameters: the joint turns about z of the frame before, its link ends with Tz(d) Tx(a) Rx(alpha)
        end = ch.lie.pose.compose(ch.lie.pose.exp([0, 0, 0, 0, 0, d]), ch.lie.pose.exp([alpha, 0, 0, a, 0, 0]))
        rotation, place = ch.lie.rotation.quaternion_to_matrix(end[:4]), end[4:]
        inertia = rotation @ np.diag(moments) @ rotation.T
        bodies.append(ch.Body(f"link {k}", mass, tuple(place + rotation @ com), inertia, physical=False))
        armature = rotor * gear**2
        joints.append(
            ch.revolute(f"joint {k}", parent, f"link {k}", axis=(0, 0, 1), at=tuple(before), armature=armature)
        )
        parent, before = f"link {k}", end
    arm = tree(ch.System(bodies, joints))
    q, v, a = data["q"], data["v"], data["a"]
    none = np.zeros(6)
    gravity, inertia = arm.inverse_dynamics(q, none, none), arm.mass_matrix(q)
    return [
        row("gravity forces", data["gravity_forces"], gravity, 6e-5, "N m"),
        row("mass matrix", data["mass_matrix"], inertia, 6e-5, "kg m²"),
        row("velocity forces", data["coriolis"] @ v, arm.inverse_dynamics(q, v, none) - gravity, 6e-4, "N m"),
        row("inertia forces", data["inertia_forces"], inertia @ a, 6e-5, "N m"),
    ]


@problem("IFToMM library; the energy's quadrature in the crank's angle, and two submitted solutions")
def spatial_slider_crank() -> list[KnownValue]:
    """The spatial slider-crank of the IFToMM library. Submitted solutions differ by 7e-4 m after 1 s."""
    from scipy.integrate import quad

    crank, rod, y, z, g = 0.08, 0.3, 0.1, 0.12, 9.81
    masses, moments = (0.12, 0.5, 2.0), ((1e-4, 1e-5, 1e-4), (4e-4, 4e-3, 4e-3), (1e-4, 1e-4, 1e-4))
    coms = ((0, 0, crank / 2), (0, 0, 0), (0, 0, 0))
    names = ("crank", "rod", "slider")
    system = ch.System(
        [ch.Body(*parts) for parts in zip(names, masses, coms, moments, strict=True)],
        [
            ch.revolute("pin", "ground", "crank", axis=(1, 0, 0), at=(0, y, z)),
            ch.spherical("ball", "crank", "rod", at=(0, 0, crank), child_at=(-rod / 2, 0, 0)),
            ch.universal("cross", "slider", "rod", axes=((1, 0, 0), (0, 1, 0)), child_at=(rod / 2, 0, 0)),
            ch.prismatic("guide", "ground", "slider", axis=(1, 0, 0)),
        ],
    )

    def placed(angle: complex) -> tuple[Any, np.ndarray, np.ndarray]:
        """Slider, middle of the rod, and the rod's axes, at an angle of the crank."""
        ball = np.array([0, y - crank * np.sin(angle), z + crank * np.cos(angle)])
        slider = np.sqrt(rod**2 - ball[1] ** 2 - ball[2] ** 2)
        along = (np.array([slider, 0, 0]) - ball) / rod
        across = np.array([0, -along[2], along[1]]) / np.sqrt(along[1] ** 2 + along[2] ** 2)  # stands on the guide, too
        return slider, (np.array([slider, 0, 0]) + ball) / 2, np.stack([along, across, np.cross(along, across)], axis=1)

    def inertia(angle: float) -> float:
        """Of the mechanism, felt by the crank; derivatives by a complex step."""
        slider, middle, axes = (np.imag(one) / 1e-30 for one in placed(angle + 1e-30j))
        spin = np.real(placed(angle)[2]).T @ axes  # [ω]× of the rod, in its axes
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        turning = moments[0][0] + masses[0] * (crank / 2) ** 2 + np.dot(moments[1], omega**2)
        return float(turning + masses[1] * middle @ middle + masses[2] * slider**2)

    def height(angle: float) -> float:
        return float(masses[0] * crank / 2 * np.cos(angle) + masses[1] * np.real(placed(angle)[1][2]))

    def slope(angle: float) -> float:
        return float(np.sqrt(inertia(angle) / (inertia(0.0) * 6.0**2 + 2 * g * (height(0.0) - height(angle)))))

    angles = np.array([1.0, 3.0, 2 * np.pi])
    times = [quad(slope, 0.0, angle, epsabs=1e-13, epsrel=1e-12)[0] for angle in angles]
    data = DIGITS["spatial_slider_crank"]
    start = {"pin": 0.0, "guide": placed(0.0)[0], "ball": ch.lie.rotation.matrix_to_quaternion(placed(0.0)[2])}
    save = np.sort([0.0, *times, 0.2, 1.0])
    run = simulate(system, (0.0, 1.0), start, {"pin": 6.0}, held=["pin"], save=save, **TIGHT)
    found, slider = run.joint("pin").q[:, 0], run.joint("guide").q[:, 0]
    at = np.searchsorted(save, times)
    published = slider[np.searchsorted(save, [0.2, 1.0])]
    return [
        row("angle of the crank at three times", angles, found[at], 1e-9, "rad"),
        row("position of the slider then", [placed(angle)[0] for angle in angles], slider[at], 1e-10, "m"),
        row("slider at 0.2 and 1 s, solution of Masarati (MBDyn)", data["masarati"], published, 8e-4, "m"),
        row("slider at 0.2 and 1 s, solution of González", data["gonzalez"], published, 4e-5, "m"),
    ]


@problem("closure of the loop, solved by SciPy from one angle")
def rectangular_bricard() -> list[KnownValue]:
    """A rectangular Bricard linkage: rods along the edges of a box, overconstrained."""
    from scipy.optimize import root

    sides = np.array([1.0, 0.7, 1.2])
    points, axes = np.array(overconstrained.BRICARD_POINTS) * sides, np.array(overconstrained.BRICARD_AXES, dtype=float)
    linkage = overconstrained.loop(points, axes, 0.1, "rectangular Bricard")
    start: dict[str, Any] = {"poses": linkage.poses, "twists": linkage.twists, "coordinates": "absolute"}
    times = [0.0, 0.3, 0.6]
    run = simulate(linkage.system, (0.0, 0.6), **start, method="rk4", step=1e-3, save=times, certificate=False)
    found = np.stack([run.joint(f"J{k}").q[1:, 0] for k in range(6)], axis=1)

    def closure(angles: np.ndarray, first: float) -> np.ndarray:
        """Product of the turns about all axes: 12 numbers, of which six are independent at most."""
        frame = np.eye(4)
        for k, angle in enumerate([first, *angles]):
            turn, axis = np.eye(4), axes[k]
            cross = np.cross(np.eye(3), axis)
            turn[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
            turn[:3, 3] = points[k] - turn[:3, :3] @ points[k]
            frame = frame @ turn
        return (frame - np.eye(4))[:3].ravel()

    signs = np.array([1, 1, 1, 1, 1, -1])  # the last joint is seen from the ground
    known = [
        [f[0], *(root(closure, signs[1:] * f[1:] + 1e-3, args=(f[0],), method="lm", tol=1e-14).x * signs[1:])]
        for f in found
    ]
    energy = run.energies.balance
    return [
        row("angles of all joints at 0.3 and 0.6 s", known, found, 1e-9, "rad"),
        row("change of the energy", 0.0, np.abs(energy - energy[0]).max(), 1e-8, "J"),
    ]


@problem("parallel shafts and forks in one plane: equal angles")
def double_hooke_joint() -> list[KnownValue]:
    """A shaft with two Hooke joints at 35 degrees: the output turns as the input does."""
    bend, length, small = np.deg2rad(35.0), 0.4, (1e-3, 1e-3, 1e-3)
    end = (length * np.sin(bend), 0.0, length * np.cos(bend))
    system = ch.System(
        [ch.Body(name, 1.0, inertia=small) for name in ("input", "middle", "output")],
        [
            ch.revolute("in", "ground", "input", axis=(0, 0, 1)),
            ch.universal("first", "input", "middle", axes=((1, 0, 0), (0, 1, 0))),
            ch.universal("second", "middle", "output", axes=((0, 1, 0), (1, 0, 0)), at=(0, 0, length)),
            ch.revolute("out", "ground", "output", axis=(0, 0, 1), at=end),
        ],
        constraints=[ch.Drive("motor", "in", "t")],
    )
    start = {"in": 0.0, "first": [0.0, bend], "second": [-bend, 0.0], "out": 0.0}
    times = np.array([0.0, 0.4, 1.3, 2.5])
    run = simulate(system, (0.0, 2.5), start, {"in": 1.0}, held=["in"], save=times, **TIGHT)
    along = ch.lie.rotation.quaternion_to_matrix(run["middle"].orientation)[:, :, 2]
    return [
        row("angle of the output", times, run.joint("out").q[:, 0], 1e-9, "rad"),
        row("speed of the output", np.ones(4), run.joint("out").v[:, 0], 1e-9, "rad/s"),
        row("direction of the middle shaft", np.tile(np.array(end) / length, (4, 1)), along, 1e-9),
    ]


@problem("gonzalez2006, problem A05; Lagrange's equations of its three degrees of freedom, by SciPy")
def flyball_governor() -> list[KnownValue]:
    """The stiff flyball governor of the IFToMM library."""
    from scipy.integrate import solve_ivp

    g, density, K, C, rest = 9.81, 3000.0, 8e5, 4e4, 0.5
    rod, slider, ball, gap = density * 1e-4, density * 1e-3, 5.0, 0.05
    thin = rod * 0.01**2 / 6, rod * (1 + 0.01**2) / 12  # moments of a rod of 1 m along and across
    names = ("left", "right")
    bodies = [
        ch.Body("shaft", rod, (0, 0, 0.5), (thin[1], thin[1], thin[0])),
        ch.Body("slider", slider, inertia=(slider * 0.01 / 6,) * 3),
    ]
    joints = [
        ch.revolute("axis", "ground", "shaft", axis=(0, 0, 1)),
        ch.prismatic("guide", "shaft", "slider", axis=(0, 0, 1)),
    ]
    springs = []
    for name, side in zip(names, (-1.0, 1.0), strict=True):
        # rod and ball as one body: it hangs from the shaft's top and leans outward by its angle
        mass, com = rod + ball, (0.5 * rod + ball) / (rod + ball)
        across = thin[1] + rod * (com - 0.5) ** 2 + ball * (1 - com) ** 2
        bodies.append(ch.Body(name, mass, (0, 0, -com), (across, across, thin[0])))
        joints.append(ch.revolute(f"{name} hinge", "shaft", name, axis=(0, -side, 0), at=(side * gap, 0, 1)))
        points = ((side * gap, 0, 0), (0, 0, -0.5))
        springs.append(ch.Spring(f"{name} coupler", ("slider", name), points, K, C, rest))
    system = ch.System(bodies, joints, forces=springs)

    def rates(t: float, state: np.ndarray) -> np.ndarray:
        """Of the angle of the rods, the height of the slider and the speed of the shaft; both sides are alike."""
        angle, s, angle_rate, s_rate, _, speed = state
        sin, cos = np.sin(angle), np.cos(angle)
        # sums over both rods and balls; distance from the axis: gap + r sin
        first, second = 2 * (0.5 * rod + ball), 2 * (rod / 4 + thin[1] + ball)
        narrow = 2 * thin[0]
        rest_of = thin[0] + slider * 0.01 / 6 + narrow * cos**2
        spin = rest_of + 2 * (rod + ball) * gap**2 + 2 * gap * first * sin + second * sin**2
        spin_slope = 2 * gap * first * cos + 2 * (second - narrow) * sin * cos
        along = np.array([0.5 * sin, 1 - 0.5 * cos - s])
        length = np.hypot(*along)
        change = (along @ np.array([0.5 * cos * angle_rate, 0.5 * sin * angle_rate - s_rate])) / length
        pull = 2 * (K * (length - rest) + C * change)  # of both couplers
        on_angle = -pull * (along @ np.array([0.5 * cos, 0.5 * sin])) / length
        on_slider = pull * along[1] / length
        return np.array([
            angle_rate, s_rate,
            (0.5 * spin_slope * speed**2 - first * g * sin + on_angle) / second,
            on_slider / slider - g,
            speed, -spin_slope * angle_rate * speed / spin,
        ])  # fmt: skip

    times = np.array([0.0, 0.3, 1.0])
    start = [np.pi / 3, 0.5, 0.0, 0.0, 0.0, 2 * np.pi]
    known = solve_ivp(rates, (0.0, 1.0), start, "Radau", times, rtol=1e-10, atol=1e-12).y
    run = simulate(system, (0.0, 1.0), [0, 0.5, np.pi / 3, np.pi / 3], [2 * np.pi, 0, 0, 0], save=times, **TIGHT)
    return [
        row("height of the slider at 0.3 and 1 s", known[1, 1:], run.joint("guide").q[1:, 0], 1e-7, "m"),
        row("angle of the shaft", known[4, 1:], run.joint("axis").q[1:, 0], 1e-7, "rad"),
        row("angles of the rods at 1 s", [known[0, -1]] * 2, run.q[-1, 2:], 1e-7, "rad"),
    ]
