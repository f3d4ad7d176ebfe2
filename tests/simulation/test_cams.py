"""Cams: a point or a roller on a spline of another body, against closed forms and an independent model."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import chasles as ch
from chasles.io.model_file import ModelFileError
from chasles.io.model_writer import model_text
from chasles.model.scale import constraint_lengths

R, E, INERTIA, MASS, GRAVITY = 0.04, 0.015, 0.002, 0.3, 9.81
COORDINATES = ("relative", "absolute")


def circle(count, radius=R):
    """Points of an eccentric circle."""
    angle = 2 * np.pi * np.arange(count) / count
    return np.column_stack([E + radius * np.cos(angle), radius * np.sin(angle)])


def eccentric(count=192, turn=1.0, **cam):
    """A circle that turns about a point off its center, and a follower that slides along x."""
    return ch.System(
        [ch.Body("disc", 1.0, inertia=(1, 1, INERTIA)), ch.Body("follower", MASS, inertia=(1, 1, 1))],
        [
            ch.revolute("shaft", "ground", "disc", axis=(0, 0, 1)),
            ch.prismatic("guide", "ground", "follower", axis=(1, 0, 0)),
        ],
        constraints=[ch.Cam("cam", ("disc", "follower"), circle(count)[:: 1 if turn > 0 else -1], **cam)],
        gravity=(-GRAVITY, 0, 0),
        name="eccentric",
    )


def lift(theta, radius=R):
    """Place of the follower and its two derivatives by the angle: a slider-crank with crank E and rod `radius`."""
    root = np.sqrt(radius**2 - (E * np.sin(theta)) ** 2)
    d_root = -(E**2) * np.sin(theta) * np.cos(theta) / root
    dd_root = -(E**2) * np.cos(2 * theta) / root - d_root**2 / root
    return E * np.cos(theta) + root, -E * np.sin(theta) + d_root, -E * np.cos(theta) + dd_root


def independent(span, speed, times, radius=R):
    """Angle and speed of the shaft by SciPy: (I + m x'²) θ'' = -m x' (x'' θ'² + g)."""

    def right(_, y):
        _, first, second = lift(y[0], radius)
        return [y[1], -MASS * first * (second * y[1] ** 2 + GRAVITY) / (INERTIA + MASS * first**2)]

    return solve_ivp(right, span, [0.0, speed], "DOP853", times, rtol=1e-13, atol=1e-13).y


@pytest.mark.sample(1)
@pytest.mark.parametrize("radius", [0.0, 0.012])
@pytest.mark.parametrize("turn", [1.0, -1.0])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_eccentric_is_a_slider_crank(coordinates, turn, radius):
    """Motion over the seam, force of the contact, energy; the points in either order, a roller too."""
    run = ch.simulate(
        eccentric(turn=turn, radius=radius),
        (0.0, 0.5),
        q={"shaft": 0.0, "guide": R + E + radius},
        v={"shaft": 25.0},
        coordinates=coordinates,
        rtol=1e-10,
        atol=1e-12,
        certificate=False,
    )
    theta, speed = independent((0.0, 0.5), 25.0, run.t, R + radius)
    assert theta[-1] > 4 * np.pi  # over the seam, twice
    x = lift(theta, R + radius)
    assert np.abs(run["follower"].pose[:, 4] - x[0]).max() < 1e-8 * R
    assert np.abs(run["disc"].twist[:, 2] - speed).max() < 1e-7 * speed.max()  # slopes of the spline are of third order
    energy = run.energies.total
    assert np.ptp(energy) < 1e-9 * np.abs(energy).max()
    # the force on the follower along its guide; the curvature of the spline is of second order
    torque = -MASS * x[1] * (x[2] * speed**2 + GRAVITY) / (INERTIA + MASS * x[1] ** 2)
    acceleration = x[2] * speed**2 + x[1] * torque
    force = run.reactions("cam")[:, 3]
    assert np.abs(force - MASS * (acceleration + GRAVITY)).max() < 4e-4 * np.abs(force).max()


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_an_eccentric_below_a_flat_face_is_a_scotch_yoke(coordinates):
    """x = e cos θ + R, wherever the face is held along itself: motion, force and torque of the contact."""
    run = ch.simulate(
        eccentric(face=(1, 0, 0), point=(0, 0.01, 0)),
        (0.0, 0.5),
        q={"shaft": 0.0, "guide": R + E},
        v={"shaft": 25.0},
        coordinates=coordinates,
        rtol=1e-10,
        atol=1e-12,
        certificate=False,
    )

    def right(_, y):
        first, second = -E * np.sin(y[0]), -E * np.cos(y[0])
        return [y[1], -MASS * first * (second * y[1] ** 2 + GRAVITY) / (INERTIA + MASS * first**2)]

    theta, speed = solve_ivp(right, (0.0, 0.5), [0.0, 25.0], "DOP853", run.t, rtol=1e-13, atol=1e-13).y
    assert theta[-1] > 4 * np.pi
    assert np.abs(run["follower"].pose[:, 4] - E * np.cos(theta) - R).max() < 1e-7 * R
    assert np.abs(run["disc"].twist[:, 2] - speed).max() < 1e-7 * speed.max()
    assert np.ptp(run.energies.total) < 1e-9 * np.abs(run.energies.total).max()
    rate = np.array([right(0.0, y)[1] for y in zip(theta, speed, strict=True)])
    force = MASS * (GRAVITY - E * np.cos(theta) * speed**2 - E * np.sin(theta) * rate)
    wrench = run.reactions("cam")
    assert np.abs(wrench[:, 3] - force).max() < 4e-4 * np.abs(force).max()
    moment = -E * np.sin(theta) * force  # about the body's origin; it acts where the circle is farthest
    assert np.abs(wrench[:, 2] - moment).max() < 1e-3 * np.abs(moment).max()


def spline_of(points):
    closed = np.vstack([points, points[:1]])
    chords = np.linalg.norm(np.diff(closed, axis=0), axis=1)
    return CubicSpline(np.r_[0, np.cumsum(chords)], closed, bc_type="periodic")


@pytest.mark.first(1)
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_cam_without_symmetry_against_scipy(coordinates):
    """The follower is where a ray meets SciPy's spline: motion to 1e-8, with the reduced equation of the shaft."""
    points = wavy()
    spline = spline_of(points)
    length = spline.x[-1]

    def lifted(theta, guess):
        """x, x', x'' by θ of the follower on the ray at the angle -θ of the profile, and the place on the curve."""
        c, s = np.cos(theta), np.sin(theta)
        turn, back = np.array([[c, -s], [s, c]]), np.array([[0.0, -1.0], [1.0, 0.0]])
        u = guess
        for _ in range(30):
            off = (turn @ spline(u % length))[1] / (turn @ spline(u % length, 1))[1]
            u -= off
            if abs(off) < 1e-15 * length:
                break
        p, d, dd = (turn @ spline(u % length, k) for k in range(3))
        du = -(back @ p)[1] / d[1]
        ddu = -((back @ back @ p)[1] + 2 * du * (back @ d)[1] + du**2 * dd[1]) / d[1]
        first = back @ p + du * d
        second = back @ back @ p + 2 * du * (back @ d) + du**2 * dd + ddu * d
        return p[0], first[0], second[0], u

    last = [0.0]

    def right(_, y):
        _, first, second, last[0] = lifted(y[0], last[0])
        return [y[1], -MASS * first * (second * y[1] ** 2 + GRAVITY) / (INERTIA + MASS * first**2)]

    system = eccentric()
    system = ch.System(
        system.bodies,
        system.joints,
        constraints=[ch.Cam("cam", ("disc", "follower"), points)],
        gravity=system.gravity,
    )
    run = ch.simulate(
        system,
        (0.0, 0.4),
        q={"shaft": 0.0, "guide": points[0, 0]},
        v={"shaft": 25.0},
        coordinates=coordinates,
        rtol=1e-11,
        atol=1e-13,
        certificate=False,
    )
    expected = solve_ivp(right, (0.0, 0.4), [0.0, 25.0], "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    assert expected[0] > 2.5 * np.pi
    assert run["disc"].twist[-1, 2] == pytest.approx(expected[1], rel=1e-8)
    assert run["follower"].pose[-1, 4] == pytest.approx(lifted(expected[0], last[0])[0], rel=1e-8)
    assert np.ptp(run.energies.total) < 1e-9 * np.abs(run.energies.total).max()
    _, first, second, _ = lifted(expected[0], last[0])
    acceleration = second * expected[1] ** 2 + first * right(0.0, expected)[1]
    assert run.reactions("cam")[-1, 3] == pytest.approx(MASS * (acceleration + GRAVITY), rel=1e-7)


def test_the_spline_is_of_fourth_order():
    """Place of the follower at the worst of some angles, over the number of points."""
    theta = np.linspace(0.1, 6.1, 13)
    errors = []
    for count in (16, 32, 64):
        mechanism = eccentric(count).compile()
        found = [mechanism.assemble([angle, R], held=["shaft"])[1] for angle in theta]
        errors.append(np.abs(found - lift(theta)[0]).max())
    orders = np.log2(np.array(errors)[:-1] / np.array(errors)[1:])
    assert (np.abs(orders - 4) < 0.4).all()


def wavy(count=9):
    """A closed curve without symmetry."""
    angle = 2 * np.pi * np.arange(count) / count
    size = 0.05 * (1 + 0.2 * np.cos(2 * angle + 0.3) + 0.1 * np.sin(3 * angle))
    return np.column_stack([size * np.cos(angle), size * np.sin(angle)])


def egg(count=9):
    """A closed curve without symmetry that is nowhere hollow."""
    angle = 2 * np.pi * np.arange(count) / count
    size = 0.05 * (1 + 0.1 * np.cos(angle + 0.3) + 0.05 * np.sin(2 * angle))
    return np.column_stack([size * np.cos(angle), size * np.sin(angle)])


@pytest.mark.parametrize("radius", [0.0, 0.004, -0.003, None])
def test_rows_are_derivatives(radius):
    """J v and the acceleration term by differences of the residual, along motions in space of two free bodies."""
    at = [0.6, 0.0, 0.8, 0.0, 0.01, -0.02, 0.03]
    follower = {"radius": radius} if radius is not None else {"face": (0.3, -0.8, 0.4)}
    profile = wavy() if radius is not None else egg()
    cam = ch.Cam("cam", ("one", "two"), profile, (0.02, 0.01, -0.03), at, **follower)
    bodies = [ch.Body(name, 1.0, inertia=(1, 1, 1)) for name in ("one", "two")]
    joints = [ch.free(f"to {name}", "ground", name) for name in ("one", "two")]
    mechanism = ch.System(bodies, joints, constraints=[cam]).compile()
    rng = np.random.default_rng(3)
    h, offsets = 2e-5, np.arange(-4, 5)
    first = np.array([1 / 280, -4 / 105, 1 / 5, -4 / 5, 0, 4 / 5, -1 / 5, 4 / 105, -1 / 280])
    second = np.array([-1 / 560, 8 / 315, -1 / 5, 8 / 5, -205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560])
    for _ in range(4):
        q, v = mechanism.neutral(), rng.normal(size=12)
        q = mechanism.assemble(mechanism.retract(q, 0.03 * rng.normal(size=12)))
        # along exponentials of constant body twists v' = 0, so g'' is minus the acceleration term
        path = [mechanism.retract(q, k * h * v) for k in offsets]
        values = np.array([mechanism.constraint_rows(x, v).residual[0] for x in path])
        rows = mechanism.constraint_rows(q, v)
        speed = rows.jacobian[0] @ v
        assert first @ values / h == pytest.approx(speed, rel=1e-7)
        assert second @ values / h**2 == pytest.approx(-rows.right[0], rel=1e-4, abs=1e-4 * abs(speed))


def sledge():
    """An open profile that slides along x below a follower that slides along y."""
    x = np.linspace(0.0, 0.4, 12)
    return ch.System(
        [ch.Body("sledge", 2.0, inertia=(1, 1, 1)), ch.Body("follower", 0.1, inertia=(1, 1, 1))],
        [
            ch.prismatic("way", "ground", "sledge", axis=(-1, 0, 0)),
            ch.prismatic("guide", "ground", "follower", axis=(0, 1, 0)),
        ],
        constraints=[ch.Cam("ramp", ("sledge", "follower"), np.column_stack([x, 0.5 * x**2]), closed=False)],
        gravity=(0, 0, 0),
    )


@pytest.mark.parametrize("coordinates", COORDINATES)
def test_a_run_is_over_at_the_end_of_an_open_profile(coordinates):
    options = {"q": {"way": 0.1}, "v": {"way": 1.0}, "coordinates": coordinates, "certificate": False}
    run = ch.simulate(sledge(), (0.0, 0.2), **options)
    assert run.success
    with pytest.warns(RuntimeWarning, match="the step became too small"):
        run = ch.simulate(sledge(), (0.0, 1.0), **options)
    assert not run.success
    assert "the follower of cam 'ramp' comes to an end of its open profile at t = 0.300" in run.message
    assert run["follower"].pose[-1, 5] == pytest.approx(0.08, abs=1e-3)


def test_freedoms_and_linearization():
    """A spring on the shaft: its frequency is that of the reduced inertia, where the lift is largest."""
    system = eccentric(256)
    joints = [ch.revolute("shaft", "ground", "disc", axis=(0, 0, 1), stiffness=3.0), system.joints[1]]
    system = ch.System(system.bodies, joints, constraints=system.constraints, gravity=(-GRAVITY, 0, 0))
    assert ch.mobility(system).freedoms == 1
    # r'' of the spline in polar coordinates about its point on the axis, where its curvature is off by h²/12
    closed = np.vstack([circle(256), circle(256)[:1]])
    spline = CubicSpline(
        np.r_[0, np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))], closed, bc_type="periodic"
    )
    (dx, dy), (ddx, ddy) = spline(0.0, 1), spline(0.0, 2)
    bend = (dx * ddy - dy * ddx) / np.hypot(dx, dy) ** 3
    stiffness = 3.0 + MASS * GRAVITY * ((R + E) - (R + E) ** 2 * bend)
    found = ch.linearize(system, [0.0, R + E]).modes[0].frequency
    assert found == pytest.approx(np.sqrt(stiffness / INERTIA) / (2 * np.pi), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"profile": circle(2)}, "profile has 2 points; expected 3 to 2000"),
        ({"profile": 3.0}, r"profile is 3.0; expected points \(n, 2\)"),
        ({"profile": np.ones((5, 3))}, "profile has shape"),
        ({"profile": [*circle(8), circle(8)[0]]}, "profile ends where it begins; leave out the last point"),
        ({"profile": [[0, 0], [1, 0], [1, 0], [1, 1]]}, r"has the point \[1.0, 0.0\] twice, numbers 1 and 2"),
        ({"profile": [[0, 0], [1, 1], [1, 0], [0, 1]]}, "profile crosses itself near"),
        ({"profile": wavy(), "radius": -0.05}, "the profile is hollow with a radius of"),
        ({"profile": wavy(), "face": (1, 0, 0)}, "hollow or straight near .* take a rounder profile, or a roller"),
        ({"face": (1, 0, 0), "radius": 0.01}, "radius = 0.01 m and a flat face exclude each other"),
        ({"face": (1, 0, 0), "closed": False}, "closed = false and a flat face exclude each other"),
        ({"face": (0, 0, 0)}, "face .* has no length; expected a direction"),
        ({"bodies": ("disc", "disc")}, "two different bodies"),
        ({"profile": [[0, 0], [np.nan, 1], [1, 0]]}, "not finite"),
    ],
)
def test_bad_cams_are_named(given, message):
    with pytest.raises(ValueError, match=f"cam 'c': .*{message}"):
        ch.Cam(**{"name": "c", "bodies": ("disc", "follower"), "profile": circle(12)} | given)
    with pytest.raises(ValueError, match="constraint 'c': there is no body 'other'"):
        eccentric().with_constraint(ch.Cam("c", ("disc", "other"), circle(12)))


def test_cams_in_files(tmp_path):
    for system in (eccentric(12, face=(1, 0, 0)), eccentric(12, radius=0.003)):
        (tmp_path / "model.toml").write_text(model_text(system))
        assert ch.load(tmp_path / "model.toml").system == system
    rows = "\n".join(f"{1000 * x!r};{100 * y!r}" for x, y in circle(12).tolist())
    (tmp_path / "cam.csv").write_text(f"x [mm];y [cm];load [N]\n{rows}\n")
    text = model_text(system)
    start, end = text.index("profile = "), text.index("\n", text.index("profile = "))
    for field, message in (
        ('{ file = "cam.csv", x = "x", y = "y" }', None),
        ('{ file = "cam.csv", x = "x", y = "load" }', r"column 'load' is in 'N'.*expected a length \[m\]"),
        ('{ file = "cam.csv", x = "x", y = "z" }', "has no column 'z'"),
        ('{ file = "cam.csv", x = "x" }', r"constraints\[0\].profile: expected { file"),
        ("[[0, 0], [1, 0]]", r"constraints\[0\].profile.*2 points"),
        ('[["3 s", 0], [1, 0], [1, 1]]', r"constraints\[0\].profile.*expected a length"),
    ):
        (tmp_path / "model.toml").write_text(f"{text[:start]}profile = {field}{text[end:]}")
        if message is None:
            found = ch.load(tmp_path / "model.toml").system.constraints[0].profile
            assert np.abs(np.array(found) - circle(12)).max() < 1e-16
        else:
            with pytest.raises(ModelFileError, match=message):
                ch.load(tmp_path / "model.toml")


@pytest.mark.parametrize("radius", [0.0, 0.003, -0.003])
def test_a_cam_is_as_large_as_its_profile_whatever_its_roller(radius):
    """Violations are judged relative to it; a negative length would have let all of them pass."""
    length = constraint_lengths(eccentric(12, radius=radius))["cam"]
    assert length == pytest.approx(2 * np.sqrt(2) * R, rel=0.02)
