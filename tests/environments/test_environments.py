"""Environments of gymnasium: its own checker, single ones beside those on lanes, and motions against SciPy."""

import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch

gymnasium = pytest.importorskip("gymnasium")
environments = pytest.importorskip("chasles.environments")

SCENARIOS = [environments.CartPole, environments.Acrobot, environments.Reacher]
pytestmark = pytest.mark.filterwarnings("ignore:.*Box observation space:UserWarning")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_gymnasium_has_nothing_to_say(scenario):
    from gymnasium.utils.env_checker import check_env

    made = gymnasium.make(f"chasles/{scenario.__name__}-v0")
    check_env(made.unwrapped, skip_render_check=True)
    with pytest.raises(gymnasium.error.InvalidAction, match="is not an action"):
        made.unwrapped.step(np.full(made.action_space.shape, 99))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_many_on_lanes_are_single_ones_to_the_bit(scenario):
    count, name = 5, f"chasles/{scenario.__name__}-v0"
    many = gymnasium.make_vec(name, num_envs=count, vectorization_mode="vector_entry_point")
    several = gymnasium.vector.SyncVectorEnv([lambda: environments.Environment(scenario())] * count)
    assert np.array_equal(many.reset(seed=3)[0], several.reset(seed=3)[0])
    many.action_space.seed(1)
    ended = 0
    for _ in range(60):
        actions = many.action_space.sample()
        mine, theirs = many.step(actions), several.step(actions)
        for one, other in zip(mine[:4], theirs[:4], strict=True):
            assert np.array_equal(one, other)
        assert many.observation_space.contains(mine[0])
        ended += 2 * int(mine[2].sum())
    assert ended or scenario is not environments.CartPole
    while not ended & 1 and scenario is environments.CartPole:  # until one just ended: its next start is not lost
        actions = many.action_space.sample()
        ended = int(many.step(actions)[2].any())
        several.step(actions)
    assert np.array_equal(many.reset()[0], several.reset()[0])


def test_episodes_are_truncated_and_begin_anew():
    scenario = environments.Acrobot()
    scenario.limit = 3
    many = environments.VectorEnvironment(scenario, 2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        many.step(np.array([1, 1]))
    many.reset(seed=[1, 2])
    found = [many.step(np.array([1, 1])) for _ in range(5)]
    assert [one[3].tolist() for one in found] == [[False] * 2, [False] * 2, [True] * 2, [False] * 2, [False] * 2]
    assert found[3][1].tolist() == [0.0, 0.0]
    for wrong in ([1], [1, 3], [0.5, 1.0], [-1, 0]):
        with pytest.raises(gymnasium.error.InvalidAction):
            many.step(np.array(wrong))
    with pytest.raises(ValueError, match="3 seeds; expected 2"):
        many.reset(seed=[1, 2, 3])


def cart_pole(t, y, force):
    """Gymnasium's equations (Florian 2007)."""
    own = gymnasium.make("CartPole-v1").unwrapped
    _, speed, angle, spin = y
    sine, cosine = np.sin(angle), np.cos(angle)
    push = (force + own.polemass_length * spin**2 * sine) / own.total_mass
    bent = (own.gravity * sine - cosine * push) / (own.length * (4.0 / 3.0 - own.masspole * cosine**2 / own.total_mass))
    return [speed, push - own.polemass_length * bent * cosine / own.total_mass, spin, bent]


def acrobot(t, y, torque):
    """Gymnasium's equations of its acrobot (in the form of the book by Sutton and Barto)."""
    own = gymnasium.make("Acrobot-v1").unwrapped
    return own._dsdt(np.append(y, torque))[:4]


@pytest.mark.parametrize(
    ("scenario", "equations", "order", "inputs"),
    [
        (environments.CartPole, cart_pole, [0, 2, 1, 3], (0, 10.0)),
        (environments.Acrobot, acrobot, [0, 1, 2, 3], (1, 1.0)),
    ],
)
def test_the_motion_is_that_of_gymnasiums_equations(scenario, equations, order, inputs):
    """By SciPy; RK4 converges to it with its order."""
    made, rng = scenario(), np.random.default_rng(5)
    start, span = rng.uniform(-0.3, 0.3, 4), 0.4
    wanted = solve_ivp(equations, (0, span), start, "DOP853", rtol=1e-12, atol=1e-12, args=(inputs[1],)).y[:, -1][order]
    begin, errors = start[order], []
    for steps in (20, 40):
        sim = ch.BatchSimulation(made.system(), span / steps, 1, begin[:2], begin[2:])
        u = np.zeros(2)
        u[inputs[0]] = inputs[1]
        q, v = sim.step(u, steps).coordinates()
        errors.append(np.abs(np.concatenate([q[0], v[0]]) - wanted).max())
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) > 3.7


def test_an_environment_goes_to_other_processes_and_back():
    sim = ch.BatchSimulation(environments.CartPole().system(), 0.01, 3, v=[[0.0, 1.0], [0.0, 2.0], [1.0, 0.0]])
    again = pickle.loads(pickle.dumps(sim.step([1.0, 0.0], 3)))
    assert np.array_equal(again.step(steps=2).q, sim.step(steps=2).q)
    assert again.t == sim.t
