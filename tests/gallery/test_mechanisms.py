"""The mechanisms of the gallery against models that share nothing with them but the numbers in their files."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import chasles as ch
from chasles.gallery import model_files
from chasles.io.load import load
from chasles.lie.rotation import quaternion_to_matrix

G = 9.81


def study_of(name, **changes):
    return load(model_files()[name], set={key.replace("__", "."): value for key, value in changes.items()})


def body(study, name):
    return study.system.body(name)


def test_slider_crank_with_friction_spring_and_motor():
    """One equation of motion for the crank's angle, from the kinetic energy M(q) v²/2 and the power of all forces."""
    study = study_of("slider_crank")
    crank, rod, piston = (body(study, name) for name in ("crank", "rod", "piston"))
    r, length, k, free, friction, edge, stall, fast = 0.05, 0.18, 2000.0, 0.2, 60.0, 0.01, 40.0, 20 * np.pi
    inertia_of = {one.name: np.array(one.inertia)[1, 1] for one in (crank, rod, piston)}

    def places(q):
        """Heights and positions with their first and second derivatives by q: each (3,)."""
        s, c = np.sin(q), np.cos(q)
        a = np.array([-np.arcsin(r * s / length), 0, 0])  # angle of the rod
        ca, sa = np.cos(a[0]), np.sin(a[0])
        a[1] = -r * c / (length * ca)
        a[2] = (r * s / length + sa * a[1] ** 2) / ca
        x = np.array([r * c, -r * s, -r * c]) + length * np.array([ca, -sa * a[1], -sa * a[2] - ca * a[1] ** 2])
        d, e = rod.com[0], rod.com[2]
        assert e == 0
        xg = np.array([r * c, -r * s, -r * c]) + d * np.array([ca, -sa * a[1], -sa * a[2] - ca * a[1] ** 2])
        zg = np.array([r * s, r * c, -r * s]) + d * np.array([sa, ca * a[1], ca * a[2] - sa * a[1] ** 2])
        return a, x, xg, zg

    def rates(t, y):
        q, v = y
        a, x, xg, zg = places(q)
        own = inertia_of["crank"] + crank.mass * (crank.com[0] ** 2 + crank.com[2] ** 2)
        parts = [(rod.mass, xg), (rod.mass, zg), (inertia_of["rod"], a), (piston.mass, x)]
        mass = own + sum(m * p[1] ** 2 for m, p in parts)
        slope = sum(2 * m * p[1] * p[2] for m, p in parts)
        lever = crank.com[0] * np.cos(q) - crank.com[2] * np.sin(q)
        force = stall * (1 - v / fast) * np.clip((t - 0.1) / 0.05, 0, 1) - 0.02 * v
        force -= G * (crank.mass * lever + rod.mass * zg[1])
        force -= friction * np.tanh(x[1] * v / edge) * x[1]
        force -= k * (free - (0.36 - 0.042 - x[0])) * x[1]  # a compressed spring pushes the piston back
        return [v, (force - slope * v**2 / 2) / mass]

    ends = (0.1, 0.15, 0.3)  # the motor's ramp has corners at the first two
    run = study.run(progress=False, span=(0.0, 0.3), rtol=1e-11, atol=1e-12, certificate=False, save=ends)
    y, t = [np.radians(150), 0.0], 0.0
    for at, end in enumerate(ends):
        found = solve_ivp(rates, (t, end), y, method="DOP853", rtol=1e-12, atol=1e-13, t_eval=[end])
        y, t = found.y[:, -1], end
        crank_now = run.joint("crank")
        np.testing.assert_allclose([*crank_now.q[at], *crank_now.v[at] / 60], [y[0], y[1] / 60], rtol=0, atol=1e-8)
    assert run["piston"].position[-1, 0] == pytest.approx(places(y[0])[1][0], abs=1e-9)


def test_gear_train_is_two_masses_on_a_spring():
    study = study_of("gear_train")
    first, second, radius = 72 / 18, 90 / 20, 0.15
    wheel, counter, pinion = (np.array(body(study, name).inertia)[1, 1] for name in ("wheel", "countershaft", "pinion"))
    geared = wheel + counter * second**2 + pinion * (first * second) ** 2
    drum = np.array(body(study, "drum").inertia)[1, 1] + 800 * radius**2
    n = first * second
    K = np.array([[40e3 + 25 * n**2, -40e3], [-40e3, 40e3]])
    C = np.array([[200 + 0.6 * n**2 + 2, -200.0], [-200.0, 200.0]])
    M = np.diag([geared, drum])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    rest = ch.equilibrium(study.system)
    hang = np.linalg.solve(K, [0.0, -800 * G * radius])
    at = study.system.compile().tree.coordinates
    np.testing.assert_allclose(rest.q[[at["wheel"].start, at["drum"].start]], hang, rtol=1e-12)
    found = ch.linearize(study.system, rest.q).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(A)), rtol=1e-10)


def test_gripper_is_a_pendulum_with_two_masses_that_slide_apart():
    """With the motor's angle p and the arm's q: jaws at a - r p on both sides of the arm's axis, so the inertia
    of the arm changes with p, and gravity has no part along the racks as they balance each other."""
    study = study_of("gripper")
    arm, pinion, jaw = (body(study, name) for name in ("arm", "pinion", "left jaw"))
    r, length, rotor, side, stiffness, torque = 0.012, 0.4, 2e-5, 0.06, 800.0, 0.06
    down = length + 0.02 + 0.03  # of the jaws' centers
    turning = np.array(pinion.inertia)[1, 1]
    fixed = np.array(arm.inertia)[1, 1] + arm.mass * arm.com[2] ** 2 + pinion.mass * length**2
    fixed += 2 * (jaw.inertia[1][1] + jaw.mass * down**2)
    weight = G * (arm.mass * -arm.com[2] + pinion.mass * length + 2 * jaw.mass * down)

    def rates(t, y):
        q, p, u, w = y
        x = side - r * p
        inertia = fixed + 2 * jaw.mass * x**2 + turning
        M = np.array([[inertia, turning], [turning, turning + rotor + 2 * jaw.mass * r**2]])
        s = np.clip((t - 0.2) / 0.2, 0, 1)
        push = torque * (s**3 * (10 - 15 * s + 6 * s**2))
        right = [
            -weight * np.sin(q) - 0.02 * u + 4 * jaw.mass * x * r * w * u,
            push - 2e-3 * w - 2 * stiffness * r**2 * p - 2 * jaw.mass * x * r * u**2,
        ]
        return [u, w, *np.linalg.solve(M, right)]

    run = study.run(progress=False, span=(0.0, 0.7), rtol=1e-11, atol=1e-13, certificate=False, save=[0.7])
    y = [np.radians(25), 0.0, 0.0, 0.0]
    for part in ((0, 0.2), (0.2, 0.4), (0.4, 0.7)):
        y = solve_ivp(rates, part, y, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert run.joints == ("shoulder", "motor")
    np.testing.assert_allclose([*run.q[-1], *run.v[-1]], y, rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.joint("right").q[-1], [-r * y[1]], rtol=0, atol=1e-10)


def test_gate_rests_on_its_stop_and_swings_there():
    """The arm sinks into the pad until it carries the weight; small motions about this are those of two pendulums."""
    study = study_of("gate")
    arm, weight, leg = (body(study, name) for name in ("arm", "counterweight", "leg"))
    tip, down = 3.4, -leg.com[2]

    def torque(q):
        return -G * np.cos(q) * (arm.mass * 1.75 + leg.mass * tip - weight.mass * 0.3) - 20e3 * min(q, 0.0)

    angle = brentq(torque, -0.1, 0.1, xtol=1e-15)
    rest = ch.equilibrium(study.system)
    np.testing.assert_allclose(rest.q, [angle, -angle], rtol=1e-10)
    about = [np.array(one.inertia)[1, 1] for one in (arm, weight, leg)]
    first = about[0] + about[1] + arm.mass * 1.75**2 + weight.mass * 0.3**2 + leg.mass * tip**2
    second, mixed = about[2] + leg.mass * down**2, leg.mass * tip * down * -np.sin(angle)
    M = np.array([[first, mixed], [mixed, second]])  # of the absolute angles
    lift = G * np.sin(-angle) * (arm.mass * 1.75 + leg.mass * tip - weight.mass * 0.3)
    K = np.diag([20e3 + lift, leg.mass * G * down])
    C = np.array([[12 + 400 + 0.15, -0.15], [-0.15, 0.15]])
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    found = ch.linearize(study.system, rest.q).eigenvalues
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.linalg.eigvals(A)), rtol=1e-9)


def test_excavator_follows_the_strokes_of_its_cylinders():
    """Angles of boom and stick by the law of cosines at any time; cylinder forces by virtual work, at rest."""
    study = study_of("excavator")
    run = study.run(progress=False, span=(0.0, 6.0), save=[0.0, 2.5, 6.0], certificate=False)

    def smooth(t, begin, end):
        s = np.clip((t - begin) / (end - begin), 0, 1)
        return s**3 * (10 - 15 * s + 6 * s**2)

    foot, pin = np.array([0.55, -0.55]), np.array([2.3, 0.35])  # from the boom's hinge: barrel's foot, rod's end
    base, lug = np.array([2.9 - 5.7, 1.0]), np.array([-0.75, 0.25])
    for k, t in enumerate(run.t):
        boom = 1.65 + 0.85 + 0.25 * smooth(t, 0.5, 4)
        stick = 2.0 + 1.3 - 0.20 * smooth(t, 2, 6)
        for joint, one, other, reach in (("boom", foot, pin, boom), ("stick", base, lug, stick)):
            a, b = np.hypot(*one), np.hypot(*other)
            between = np.arccos((a**2 + b**2 - reach**2) / (2 * a * b))
            turn = between if joint == "boom" else -between
            angle = np.arctan2(one[1], one[0]) + turn - np.arctan2(other[1], other[0])
            now = run.joint(joint).q[k]
            assert np.cos(now - angle) == pytest.approx(1.0, abs=1e-12), (joint, t)
        assert run.joint("swing").q[k] == pytest.approx(np.radians(70) * smooth(t, 3, 8), abs=1e-12)


def test_suspension_carries_its_weight_on_the_tire():
    study = study_of("suspension")
    system, rest = study.system, ch.equilibrium(study.system)
    run = ch.simulate(system, (0.0, 1e-3), rest.q, certificate=False)
    wheel, post = run["upright"].position[0], run["post"].position[0]
    gap = wheel - post
    distance = np.linalg.norm(gap)
    weight = sum(one.mass for one in system.bodies if one.name != "post") * G
    assert 220e3 * (0.327 - distance) * gap[2] / distance == pytest.approx(weight, rel=1e-9)
    modes = ch.linearize(system, rest.q).modes
    assert 0.8 < modes[0].frequency < 1.6  # the body
    assert 9 < modes[1].frequency < 15  # the wheel between tire and spring


def test_a_hump_lifts_the_wheel_and_the_bump_stop_is_met():
    study = study_of("suspension", parameters__road=0.12)
    run = study.run(progress=False, span=(0.0, 1.2), certificate=False)
    frame = run["body"].position + np.array([0.0, -0.48, 0.62])
    arm = run["lower arm"]
    foot = arm.position + quaternion_to_matrix(arm.orientation) @ [0.0, -0.25, 0.0]
    strut = np.linalg.norm(frame - foot, axis=1)
    assert strut.min() < 0.4 < strut[0]


def test_gate_hits_both_stops():
    study = study_of("gate")
    run = study.run(progress=False, certificate=False)
    hinge = run.joint("hinge").q
    assert hinge.max() > np.radians(88)
    assert hinge.min() < 0.0
    assert abs(hinge[-1, 0] - ch.equilibrium(study.system).q[0]) < 5e-3
