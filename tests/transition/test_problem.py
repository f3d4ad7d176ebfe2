"""Models in absolute coordinates on Lie group integrators: orders, equality with the group, representations, charts."""

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.gallery.boxes import double_pendulum
from chasles.lie import pose, transition
from chasles.lie.transition.coordinates import LOCAL
from chasles.reproduce.user_model import mechanism_problem, start
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.transition.models import POSE, TWIST, initial, matrices, plain_model, problem, spring_body

ABSOLUTE = ("quaternion", "rotation_vector", "screw", "euler:ZYX")
END = 1.0


@pytest.fixture(scope="module")
def truth():
    case = problem()
    final = ch.integrate.solve(
        case, ch.integrate.RKMK("dop853"), (0.0, END), initial(case), rtol=1e-13, atol=1e-13, save="final"
    ).y[-1]
    return matrices(case, final), final[-6:]


def error(case, tableau, steps, truth, **options):
    final = ch.integrate.solve(
        case, ch.integrate.RKMK(tableau), (0.0, END), initial(case), step=END / steps, save="final"
    ).y[-1]
    return max(np.abs(matrices(case, final) - truth[0]).max(), np.abs(final[-6:] - truth[1]).max())


@pytest.mark.sample(2)
@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("absolute", ABSOLUTE)
@pytest.mark.parametrize(
    ("tableau", "counts"),
    [("heun", (200, 400, 800)), ("kutta3", (80, 160, 320)), ("rk4", (40, 80, 160)), ("dopri5", (16, 32, 64))],
)
def test_orders(absolute, local, tableau, counts, truth):
    case = problem(absolute, local)
    errors = np.array([error(case, tableau, n, truth) for n in counts])
    slope = np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert -slope >= ch.integrate.RKMK(tableau).order - 0.2, errors


@pytest.mark.parametrize(("space", "local"), [("SE3", "screw"), ("SO3xR3", "rotation_vector")])
def test_exponential_coordinates_are_the_integration_on_the_group(space, local):
    """The same numbers as the absolute formulation on its own group: bit for bit with quaternions, to rounding with
    rotation vectors (times what a chaotic motion makes of it)."""
    example = double_pendulum()
    mechanism = AbsoluteMechanism(example.system, space, stabilized=False)
    direct = BodyDynamics(mechanism, space, projected=False)
    y0 = direct.state(*mechanism.state(example.poses, example.twists), np.empty(0))
    options = {"step": 1e-3, "progress": False}
    on_group = ch.integrate.solve(direct.problem(), ch.integrate.RKMK("rk4"), (0.0, 0.2), y0, **options).y
    for absolute, bound in (("quaternion", 0.0), ("rotation_vector", 3e-13), ("euler:ZYX", 3e-13)):
        case = mechanism_problem(mechanism, absolute, local)
        sol = ch.integrate.solve(
            case, ch.integrate.RKMK("rk4"), (0.0, 0.2), start(case, mechanism, example.poses, example.twists), **options
        )
        truth = pose.to_matrix(on_group[:, :14].reshape(-1, 2, 7))
        assert np.abs(matrices(case, sol.y) - truth).max() <= bound
        assert np.abs(sol.y[:, -12:] - on_group[:, 14:26]).max() <= 1e3 * bound  # speeds of a hundred rad/s


@pytest.mark.sample(1)
@pytest.mark.parametrize("local", ["screw", "rotation_vector"])
@pytest.mark.parametrize("representation", ["body", "mixed", "spatial", "hybrid"])
def test_representations(representation, local, truth):
    """A model in any twists: the group acts from the side they ask for, and the motion is the same, with order 4."""
    case = ch.transition.LGTProblem(
        plain_model(representation=representation), local=local, representation=representation
    )
    ends = []
    for n in (20, 40):
        y0 = initial(case, representation)
        final = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, END), y0, step=END / n, save="final").y[-1]
        ends.append(np.abs(matrices(case, final) - truth[0]).max())
    assert ends[1] < 2e-6
    assert np.log2(ends[0] / ends[1]) > 3.8


def test_python_and_compiled_models_agree():
    for absolute, local in (("quaternion", "screw"), ("euler:ZYX", "rodrigues")):
        plain, compiled = ch.transition.LGTProblem(plain_model(absolute), absolute, local), problem(absolute, local)
        ends = [
            ch.integrate.solve(p, ch.integrate.RKMK("rk4"), (0.0, 0.2), initial(p), step=0.02).y[-1]
            for p in (plain, compiled)
        ]
        assert np.abs(ends[0] - ends[1]).max() < 1e-14


def test_no_singularity(truth):
    """Euler angles that pass gimbal lock, and rotation vectors that pass half a turn, follow the same motion."""
    spin = np.array([0.0, 9.0, 0.05, 0, 0, 0])
    reference = None
    for absolute in ("quaternion", "euler:ZYX", "rotation_vector", "rotation_vector:2pi", "screw"):
        case = problem(absolute)
        y0 = case.state(transition.from_pose(pose.identity(), absolute), spin)
        sol = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 2.0), y0, step=0.01)
        near = transition.clearance(case.split(sol.y)[0], absolute).min()
        assert near < 0.05 or not absolute.startswith("euler"), near
        reference = matrices(case, sol.y) if reference is None else reference
        assert np.abs(matrices(case, sol.y) - reference).max() < 2e-13


def test_quaternions_keep_their_norm():
    case = problem(local="rodrigues")
    sol = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 50.0), initial(case), step=0.01)
    assert np.abs(np.linalg.norm(case.split(sol.y)[0][..., :4], axis=-1) - 1).max() < 4e-16


@pytest.mark.parametrize(
    ("local", "rate", "limit"),
    [
        ("rodrigues", 33.0, 3.3),
        ("extended_rodrigues", 33.0, 3.3),
        ("wiener_milenkovic", 64.0, 6.4),
        ("screw", 61.0, 6.1),
    ],
)
def test_a_step_beyond_the_chart(local, rate, limit):
    """Fixed steps raise a named error with what there is; adaptive ones are shortened."""
    case = ch.transition.LGTProblem(lambda q, twists, t: np.zeros((2, 6)), local=local, bodies=2, representation="body")
    twists = [[0.0, 0.1, 0.0, 0, 0, 0], [0.0, 0.0, rate, 0, 0, 0]]
    y0 = case.state(pose.identity((2,)), twists)
    for method in ("rk4", "heun"):
        with pytest.raises(ch.errors.ChartError, match=r"body 1 turns at .* rad in a step") as caught:
            ch.integrate.solve(case, ch.integrate.RKMK(method), (0.0, 1.0), y0, step=0.1)
        assert caught.value.angle == pytest.approx(limit)
        assert caught.value.body == 1
        assert caught.value.time == 0.0
        assert len(caught.value.solution.t) == 1
    sol = ch.integrate.solve(
        case, ch.integrate.RKMK("dopri5"), (0.0, 1.0), y0, rtol=1e-3, atol=1e-3, first_step=0.5, save="final"
    )
    assert sol.success
    assert sol.rejections > 0
    turn = 2 * np.arctan2(sol.y[-1, 7 + 3], sol.y[-1, 7])
    assert abs((turn - rate + np.pi) % (2 * np.pi) - np.pi) < 0.05


def test_just_within_the_chart():
    case = ch.transition.LGTProblem(lambda q, twists, t: np.zeros(6), local="rodrigues")
    y0 = case.state(pose.identity(), [0.0, 0.0, 2.0, 0, 0, 0])
    sol = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 1.0), y0, step=1.0)
    assert sol.success


def test_states_and_bad_input():
    case = ch.transition.LGTProblem(spring_body, "rotation_vector", bodies=2, parameters=[1.0])
    q, twists = np.zeros((2, 6)), np.ones((2, 6))
    y = case.state(q, twists)
    back = case.split(np.stack([y, y]))
    assert back[0].shape == (2, 2, 6)
    assert np.array_equal(back[1][1], twists)
    for call, message in (
        (lambda: case.state(q[0], twists), r"q has shape \(6,\); expected \(2, 6\)"),
        (lambda: problem().state([2.0, 0, 0, 0, 0, 0, 0], TWIST), "block 0 .pose. is not a pose"),
        (lambda: ch.transition.LGTProblem(spring_body, "quaternions"), "absolute coordinates 'quaternions'"),
        (lambda: ch.transition.LGTProblem(spring_body, local="cayley"), "local coordinates 'cayley'"),
        (lambda: ch.transition.LGTProblem(spring_body, representation="world"), "'world' is not a representation"),
        (lambda: ch.transition.LGTProblem(spring_body, bodies=0), "bodies is 0"),
        (
            lambda: ch.integrate.solve(
                problem(local="rodrigues"), ch.integrate.CommutatorFree(), (0, 1), initial(problem()), step=0.1
            ),
            "moves along exponentials",
        ),
        (
            lambda: ch.integrate.solve(
                problem(local="rodrigues"),
                ch.integrate.RKMK("rk4", coordinates="cay2"),
                (0, 1),
                initial(problem()),
                step=0.1,
            ),
            "leave the choice to the problem",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match="expected a function"):
        ch.transition.LGTProblem(3)


def test_errors_in_the_model_are_those_of_the_user():
    def short(q, twists, t):
        return np.zeros(5)

    def broken(q, twists, t):
        raise KeyError("tire")

    y0 = problem().state(POSE, TWIST)
    with pytest.raises(ValueError, match=r"short returned shape \(5,\) at t = 0"):
        ch.integrate.solve(ch.transition.LGTProblem(short), ch.integrate.RKMK("rk4"), (0, 1), y0, step=0.1)
    with pytest.raises(KeyError, match="tire"):
        ch.integrate.solve(ch.transition.LGTProblem(broken), ch.integrate.RKMK("rk4"), (0, 1), y0, step=0.1)


def test_batches_and_the_curve_between_points():
    case = problem("rotation_vector", "extended_rodrigues")
    starts = np.stack([initial(case), initial(case)])
    starts[1, -1] += 1.0
    sols = ch.integrate.solve_batch(case, ch.integrate.RKMK("rk4"), (0.0, 0.4), starts, step=0.02)
    alone = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.4), starts[1], step=0.02)
    assert np.array_equal(sols[1].y, alone.y)
    fine = ch.integrate.solve(case, ch.integrate.RKMK("rk4"), (0.0, 0.4), starts[1], step=0.001)
    assert np.abs(matrices(case, alone(0.111)) - matrices(case, fine(0.111))).max() < 3e-6
    assert np.abs(alone(0.2) - alone.y[10]).max() < 1e-14
