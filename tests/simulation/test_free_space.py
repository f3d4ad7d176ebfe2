"""Free joints move on SO(3) x R3: a uniform velocity changes nothing but the place, by every explicit method; and what
is seen of q and v, by events too, are poses and body twists as ever."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch
from chasles.io.result.header import _dynamics_of_text
from chasles.lie.rotation import quaternion_to_matrix
from chasles.simulation.closed.dynamics import dynamics_of

from . import systems
from .test_far_away import GM, RADIUS, SPEED, satellite

FAST = np.array([6e5, -1e6, 3e5])  # [m/s]
INERTIA = np.array([1.0, 2.0, 3.0])
SPIN = np.array([0.3, 1.0, 0.2])
STEPPED = {
    "rk4": ch.integrate.RKMK("rk4"),
    "cayley": ch.integrate.RKMK("rk4", coordinates="cay"),
    "minimal": ch.integrate.RKMK("rk4", dexpinv="minimal"),
    "commutator free": ch.integrate.CommutatorFree("cf4"),
    "crouch grossman": ch.integrate.CrouchGrossman("cg3"),
    "low storage": ch.integrate.LowStorage(),
}
LEG = {"com": (0.3, 0.0, 0.05), "inertia": (0.02, 0.08, 0.07)}


def loose() -> ch.System:
    return ch.System([ch.Body("b", 1.0, inertia=tuple(INERTIA))], gravity=(0, 0, 0))


def parted() -> ch.System:
    """A hub that floats, an arm, and a body that floats about the arm, held by a spring."""
    hub, arm, moon = (
        ch.Body("hub", 3.0, (0.1, 0, 0), (0.2, 0.3, 0.4)),
        ch.Body("arm", 2.0, **LEG),
        ch.Body("moon", 1.0, **LEG),
    )
    joints = [ch.revolute("elbow", "hub", "arm", axis=(0, 1, 0.3), at=(0.2, 0, 0)), ch.free("orbit", "arm", "moon")]
    band = ch.Spring("band", ("arm", "moon"), points=((0.5, 0, 0), (0, 0, 0)), stiffness=30.0, length=0.3, damping=0.2)
    return ch.System([hub, arm, moon], joints, forces=[band], gravity=(0, 0, -1.0))


def looped() -> ch.System:
    """A four-bar linkage on a hub that floats."""
    bodies = [ch.Body("hub", 5.0, (0, 0, 0.1), (0.4, 0.5, 0.6))]
    bodies += [
        ch.Body(name, 1.0, (0.5 * length, 0, 0), (0.01, 0.1, 0.1))
        for name, length in zip("abc", (0.4, 1.0, 0.7), strict=True)
    ]
    joints = [
        ch.revolute("one", "hub", "a", at=(0, 0, 0), axis=(0, 0, 1)),
        ch.revolute("two", "a", "b", at=(0.4, 0, 0), axis=(0, 0, 1)),
        ch.revolute("three", "b", "c", at=(1.0, 0, 0), axis=(0, 0, 1), child_at=(0.7, 0, 0)),
        ch.revolute("four", "hub", "c", at=(0.9, 0, 0), axis=(0, 0, 1)),
    ]
    return ch.System(bodies, joints, gravity=(0, 0, 0))


def boosted(mechanism, q, v, base="hub", velocity=FAST):
    """The same start in a frame that moves evenly."""
    v = v.copy()
    joint = f"free {base}"
    rotation = quaternion_to_matrix(q[mechanism.tree.coordinates[joint]][:4])
    v[mechanism.tree.velocities[joint].start + 3 :][:3] += rotation.T @ velocity
    return v


def start_of(mechanism, seed=3):
    rng = np.random.default_rng(seed)
    return mechanism.retract(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv)), rng.normal(size=mechanism.nv)


def without_place(run, base="hub"):
    """q without the position of the base, and v without its velocity."""
    q, v = run.mechanism.tree.coordinates[f"free {base}"], run.mechanism.tree.velocities[f"free {base}"]
    gone = np.arange(q.start + 4, q.stop), np.arange(v.start + 3, v.stop)
    return np.concatenate([np.delete(run.q, gone[0], axis=1), np.delete(run.v, gone[1], axis=1)], axis=1)


# ------------------------------------------------------------ a uniform velocity


@pytest.mark.sample(1)
@pytest.mark.parametrize("speed", [1.0, 7.6e3, 1e6])
@pytest.mark.parametrize(
    "method",
    [ch.integrate.RKMK("dopri5"), ch.integrate.RKMK("dop853"), ch.integrate.CrouchGrossman("cg32")],
    ids=["dopri5", "dop853", "crouch grossman"],
)
def test_a_free_body_turns_as_it_does_at_rest(method, speed):
    """The same steps, the same rotation, and a place on a straight line: all to rounding."""
    options = {"method": method, "rtol": 1e-7, "atol": 1e-9, "save": "final"}
    still = ch.simulate(loose(), (0, 200), v=[*SPIN, 0, 0, 0], **options)
    moving = ch.simulate(loose(), (0, 200), v=[*SPIN, *(speed * FAST / 1e6)], **options)
    assert moving.solution.steps == still.solution.steps
    assert moving.solution.rejections == still.solution.rejections
    np.testing.assert_allclose(moving.q[-1, :4], still.q[-1, :4], atol=1e-11)
    np.testing.assert_allclose(moving.v[-1, :3], still.v[-1, :3], atol=1e-11)
    np.testing.assert_allclose(moving.q[-1, 4:], 200 * speed * FAST / 1e6, rtol=1e-13)


@pytest.mark.parametrize("method", STEPPED.values(), ids=STEPPED.keys())
def test_arms_on_a_free_base_move_as_they_do_at_rest(method):
    mechanism = systems.satellite().compile()
    q, v = start_of(mechanism)
    still = ch.simulate(mechanism, (0, 2), q, v, method=method, step=0.02)
    moving = ch.simulate(mechanism, (0, 2), q, boosted(mechanism, q, v), method=method, step=0.02)
    np.testing.assert_allclose(without_place(moving), without_place(still), atol=1e-12)
    moved = moving["hub"].position - still["hub"].position
    np.testing.assert_allclose(moved, still.t[:, None] * FAST, rtol=1e-13, atol=1e-9)


def test_adaptive_steps_of_arms_on_a_fast_base():
    """Errors of the base's velocity are relative to that velocity; those of angles stay what they were."""
    mechanism = systems.satellite().compile()
    q, v = start_of(mechanism)
    truth = ch.simulate(mechanism, (0, 5), q, v, rtol=1e-12, atol=1e-13, save="final")
    still = ch.simulate(mechanism, (0, 5), q, v, save="final")
    moving = ch.simulate(mechanism, (0, 5), q, boosted(mechanism, q, v), save="final")
    assert moving.solution.steps <= still.solution.steps
    off = [np.abs(without_place(run)[-1] - without_place(truth)[-1]).max() for run in (still, moving)]
    assert off[1] < 10 * off[0] < 1e-5


def test_a_loop_on_a_free_base_moves_as_it_does_at_rest():
    mechanism = looped().compile()
    still = ch.simulate(mechanism, (0, 1), *closed_start(mechanism), step=0.01, method=ch.integrate.RKMK("rk4"))
    q, v = still.q[0], still.v[0]
    moving = ch.simulate(mechanism, (0, 1), q, boosted(mechanism, q, v), step=0.01, method=ch.integrate.RKMK("rk4"))
    # equations of closure see bodies that move at 1e6 m/s, to 1e-10 m/s
    np.testing.assert_allclose(without_place(moving), without_place(still), atol=1e-7)
    np.testing.assert_allclose(moving["hub"].position[-1] - still["hub"].position[-1], FAST, rtol=1e-13)


def closed_start(mechanism):
    q = mechanism.assemble(start_of(mechanism)[0])
    v = np.zeros(mechanism.nv)
    v[:6], v[6] = (0.3, -0.2, 0.5, 1.0, 2.0, -1.0), 2.0
    return q, mechanism.consistent_velocities(q, v)


def test_a_satellite_over_a_quarter_of_an_orbit():
    """Steps and errors of SciPy's Runge-Kutta method of the same order, with the attitude among its numbers."""
    inertia, spin, span = np.array([10.0, 12.0, 15.0]), np.array([0.01, 0.02, 0.03]), 1350.0

    def rate(t, y):
        x, w, p = y[:3], y[6:9], y[9:]
        turn = 0.5 * np.array([-p[1:] @ w, *(p[0] * w + np.cross(p[1:], w))])
        fall = -GM * x / np.linalg.norm(x) ** 3
        return np.concatenate([y[3:6], fall, -np.cross(w, inertia * w) / inertia, turn])

    start = np.array([RADIUS, 0, 0, 0, SPEED, 0, *spin, 1, 0, 0, 0])
    peer = solve_ivp(rate, (0, span), start, method="RK45", rtol=1e-8, atol=1e-10)
    truth = solve_ivp(rate, (0, span), start, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    run = ch.simulate(satellite(), (0, span), q=[1, 0, 0, 0, RADIUS, 0, 0], v=[*spin, 0, SPEED, 0], save="final")
    assert run.solution.steps < 1.5 * len(peer.t)
    np.testing.assert_allclose(run.q[-1, 4:], truth[:3], atol=1e-4)
    np.testing.assert_allclose(run.q[-1, :4] * np.sign(run.q[-1, :4] @ truth[9:]), truth[9:], atol=1e-6)


# ------------------------------------------------------------ what is seen of it


@pytest.mark.parametrize("make", [systems.satellite, parted], ids=["arms", "a free joint beyond another"])
def test_the_motion_is_that_of_absolute_coordinates_and_of_se3(make):
    mechanism = make().compile()
    q, v = start_of(mechanism)
    tight = {"rtol": 1e-11, "atol": 1e-12, "save": np.linspace(0, 1, 5)}
    run = ch.simulate(mechanism, (0, 1), q, v, **tight)
    others = [
        ch.simulate(mechanism, (0, 1), q, v, space="SE3", **tight),
        ch.simulate(make(), (0, 1), q, v, coordinates="absolute", **tight),
    ]
    np.testing.assert_array_equal(run.q[0], q)
    np.testing.assert_allclose(run.v[0], v, atol=1e-14)
    for other in others:
        for body in mechanism.bodies:
            np.testing.assert_allclose(run[body].position, other[body].position, atol=1e-8)
            np.testing.assert_allclose(run[body].twist, other[body].twist, atol=1e-7)
        np.testing.assert_allclose(run.energies.balance, other.energies.balance, rtol=1e-8)


def test_the_loop_is_that_of_absolute_coordinates():
    mechanism = looped().compile()
    q, v = closed_start(mechanism)
    tight = {"rtol": 1e-11, "atol": 1e-12, "save": "final"}
    run = ch.simulate(mechanism, (0, 1), q, v, **tight)
    poses, twists = mechanism.poses(q), mechanism.twists(q, v)
    other = ch.simulate(looped(), (0, 1), poses=poses, twists=twists, coordinates="absolute", **tight)
    for body in mechanism.bodies:
        np.testing.assert_allclose(run[body].position[-1], other[body].position[-1], atol=1e-8)
        np.testing.assert_allclose(run[body].twist[-1], other[body].twist[-1], atol=1e-7)


def test_accelerations_are_those_of_body_twists():
    mechanism = parted().compile()
    run = ch.simulate(mechanism, (0, 0.5), *start_of(mechanism))
    expected = mechanism.accelerations_under(run.q, run.v, 0.0, run.t)
    np.testing.assert_allclose(run.a, expected, atol=1e-12 * np.abs(expected).max())


@ch.integrate.field
def turned_across(t, y, p, out):
    out[0] = y[10]  # the first linear velocity along the axes of the body


@pytest.mark.parametrize("function", [turned_across, lambda t, y, p: y[10]], ids=["compiled", "Python"])
@pytest.mark.parametrize(
    "method",
    [{"method": ch.integrate.RKMK("dopri5")}, {"method": ch.integrate.Gauss(2), "step": 0.01}],
    ids=["explicit", "implicit"],
)
def test_events_see_body_twists(function, method):
    """A body that spins at 1 rad/s about z and moves along x: its velocity along its own x axis is cos t."""
    event = ch.Event(function, terminal=True, name="across")
    run = ch.simulate(loose(), (0, 3), v=[0, 0, 1.0, 2.0, 0, 0], events=[event], **method)
    (found,) = run.solution.events
    assert found.t == pytest.approx(np.pi / 2, abs=1e-8)
    assert run.t[-1] == found.t
    np.testing.assert_allclose(found.y, [*run.q[-1], *run.v[-1], 0.0], atol=1e-14)
    np.testing.assert_allclose(run.v[-1, 3:], [0, -2, 0], atol=1e-7)
    np.testing.assert_allclose(run.q[-1, 4:], [np.pi, 0, 0], atol=1e-7)


def test_between_the_points():
    run = ch.simulate(loose(), (0, 4), v=[0, 0, 1.0, 2.0, 0, 0])
    t = np.linspace(0, 4, 23)
    q, v = run(t).q, run(t).v
    np.testing.assert_allclose(v[:, 3:], 2 * np.stack([np.cos(t), -np.sin(t), 0 * t], axis=1), atol=1e-6)
    np.testing.assert_allclose(q[:, 4:], np.outer(2 * t, [1, 0, 0]), atol=1e-12)


def test_files_of_free_bodies(tmp_path):
    """What is opened is what was computed; and files that say nothing of the space are of SE(3), as all were once."""
    mechanism = systems.satellite().compile()
    live = ch.simulate(mechanism, (0, 0.5), *start_of(mechanism), file=tmp_path / "run.h5")
    opened = ch.open(tmp_path / "run.h5")
    for name in ("q", "v", "a"):
        np.testing.assert_array_equal(getattr(opened, name), getattr(live, name))
    system = systems.satellite()
    assert _dynamics_of_text({"kind": "tree"}, system).space_of_free == "SE3"
    assert dynamics_of(system).space_of_free == "SO3xR3"


def test_spaces_that_are_refused():
    with pytest.raises(ValueError, match=r"that of free joints in joint coordinates, and there is none"):
        ch.simulate(systems.pendulum(), (0, 1), space="SE3")
    with pytest.raises(ValueError, match=r"'S3'; in joint coordinates"):
        ch.simulate(loose(), (0, 1), space="S3")


@ch.integrate.field
def slides_forward(t, y, p, out):
    out[0] = y[11] - 0.3  # after a quaternion, a position, an angle and three angular velocities


@ch.law
def ramp(t, _, __, p, out):
    out[0], out[1] = 0.1 * t, 0.1


@pytest.mark.parametrize("closed", [False, True])
def test_compiled_events_see_twists_of_free_bodies(closed):
    """They are compiled with what they see, and find what the same in Python finds: body velocity x passes 0.3 m/s."""
    bodies = [ch.Body(name, 1.0, inertia=(0.1, 0.2, 0.3)) for name in "ab"]
    joints = [ch.free("base", "ground", "a"), ch.revolute("hinge", "a", "b", axis=(0, 0, 1), at=(0.5, 0, 0))]
    coupling = [ch.Drive("motor", "hinge", ramp)] if closed else []
    system = ch.System(bodies, joints, constraints=coupling, gravity=(0, 0, 0))
    v = {"base": [0.2, 0.3, 2.0, 1.0, 0.2, 0.1], "hinge": [0.1]}
    found = []
    for function in (slides_forward, lambda t, y, p: y[11] - 0.3):
        watched = ch.Event(function)
        run = ch.simulate(system, (0.0, 2.0), v=v, events=[watched], progress=False, certificate=False)
        found.append([(event.t, *event.y) for event in run.events])
    assert len(found[0]) >= 1
    np.testing.assert_allclose(found[0], found[1], rtol=1e-14, atol=1e-16)
