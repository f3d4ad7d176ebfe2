"""Three scenarios: cart-pole, acrobot, and an arm of seven joints that reaches for a point."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from chasles.cached import cached_property
from chasles.environments.scenario import Scenario, Starts, unbounded
from chasles.model.body import Body, Frame
from chasles.model.joint import prismatic, revolute
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism


class CartPole(Scenario):
    """A pole on a cart, kept upright by pushing the cart to the left or right, with gymnasium's numbers.

    Observation: position, velocity, angle, angular velocity. Reward: 1 for each action; the end is beyond 2.4 m or
    12 degrees. The motion is that of the equations, by RK4; gymnasium's own takes steps of Euler's method.
    """

    step = 0.02
    pushes = np.array([[-10.0, 0.0], [10.0, 0.0]])  # [N] on the cart
    farthest, steepest = 2.4, 12 * 2 * np.pi / 360
    action, chances = spaces.Discrete(2), 4

    def __init__(self) -> None:
        self.bounds = np.array([[self.farthest], [self.steepest]])  # of position and angle
        bound = np.array([2 * self.farthest, np.inf, 2 * self.steepest, np.inf], dtype=np.float32)
        self.observation = spaces.Box(-bound, bound, dtype=np.float32)

    def system(self) -> System:
        half, mass = 0.5, 0.1
        moment = mass * (2 * half) ** 2 / 12
        cart = Body("cart", 1.0, inertia=(0.01, 0.01, 0.01))
        pole = Body("pole", mass, (0, 0, half), (moment, moment, 1e-6))
        joints = [
            prismatic("rail", "ground", "cart", axis=(1, 0, 0)),
            revolute("hinge", "cart", "pole", axis=(0, 1, 0)),
        ]
        return System([cart, pole], joints, gravity=(0, 0, -9.8), name="cart-pole")

    def start(self, chances: np.ndarray) -> Starts:
        values = 0.1 * chances - 0.05
        return Starts(values[:, :2], values[:, 2:], values[:, :0])

    def inputs(self, actions: np.ndarray) -> np.ndarray:
        return self.pushes.take(actions, axis=0)

    def observe(self, q: np.ndarray, v: np.ndarray, goals: np.ndarray) -> np.ndarray:
        seen = np.empty((len(q), 4), dtype=np.float32)
        seen[:, 0], seen[:, 1], seen[:, 2], seen[:, 3] = q[:, 0], v[:, 0], q[:, 1], v[:, 1]
        return seen

    def judge(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        beyond = np.abs(q.T) > self.bounds
        return np.ones(len(q)), beyond[0] | beyond[1]


class Acrobot(Scenario):
    """Two links that hang, with a motor between them, swung up until the tip is 1 m above the first joint,
    with gymnasium's numbers.

    Observation: cosine and sine of both angles, and their rates. Action: torque of -1, 0 or 1 N m. Reward: -1 for each
    action until the tip is there. Angular velocities have no bounds here.
    """

    step, steps = 0.05, 4
    torques = np.array([-1.0, 0.0, 1.0])  # [N m]
    action, chances = spaces.Discrete(3), 4

    def __init__(self) -> None:
        bound = np.array([1, 1, 1, 1, np.inf, np.inf], dtype=np.float32)
        self.observation = spaces.Box(-bound, bound, dtype=np.float32)

    def system(self) -> System:
        links = [Body(name, 1.0, (0, 0, -0.5), (1.0, 1.0, 1e-3 + 1.0)) for name in ("upper", "lower")]
        joints = [
            revolute("shoulder", "ground", "upper", axis=(0, -1, 0)),
            revolute("elbow", "upper", "lower", axis=(0, -1, 0), at=(0, 0, -1)),
        ]
        return System(links, joints, gravity=(0, 0, -9.8), name="acrobot")

    def start(self, chances: np.ndarray) -> Starts:
        values = 0.2 * chances - 0.1
        return Starts(values[:, :2], values[:, 2:], values[:, :0])

    def inputs(self, actions: np.ndarray) -> np.ndarray:
        turned = np.zeros((len(actions), 2))
        turned[:, 1] = self.torques[actions]
        return turned

    def observe(self, q: np.ndarray, v: np.ndarray, goals: np.ndarray) -> np.ndarray:
        cosines, sines = np.cos(q), np.sin(q)
        return np.stack([cosines[:, 0], sines[:, 0], cosines[:, 1], sines[:, 1], v[:, 0], v[:, 1]], axis=1)

    def judge(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        there = -np.cos(q[:, 0]) - np.cos(q[:, 0] + q[:, 1]) > 1.0
        return np.where(there, 0.0, -1.0), there


class Reacher(Scenario):
    """An arm of seven joints whose hand is to reach a point.

    Observation: angles, velocities and the way from the hand to the point. Action: torques, of which 1 is the strongest
    that a motor has. Reward: less the distance [m] and a hundredth of the mean square of the torques.
    """

    step, steps, limit, chances = 0.005, 4, 200, 14
    strongest = np.array([60.0, 60.0, 40.0, 40.0, 15.0, 15.0, 5.0])  # [N m]
    lengths = (0.15, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1)  # [m]
    masses = (4.0, 4.0, 3.0, 3.0, 2.0, 1.5, 0.5)  # [kg]

    def __init__(self) -> None:
        self.observation, self.action = unbounded(17), spaces.Box(-1.0, 1.0, (7,), np.float32)

    def system(self) -> System:
        bodies, joints, below, at = list[Body](), [], "ground", 0.0
        drive = {"damping": 0.5, "armature": 0.05}  # friction and rotor of each motor and its gear
        for k, (length, mass) in enumerate(zip(self.lengths, self.masses, strict=True), 1):
            across, along = mass * (length**2 + 0.05**2) / 12, mass * 0.05**2 / 6
            name = f"link {k}"
            bodies.append(Body(name, mass, (0, 0, length / 2), (across, across, along)))
            axis = (0, 0, 1) if k % 2 else (0, 1, 0)
            joints.append(revolute(f"joint {k}", below, name, axis=axis, at=(0, 0, at), **drive))
            below, at = name, length
        return System(bodies, joints, [Frame("hand", below, (0, 0, at))], name="arm")

    @cached_property
    def _mechanism(self) -> Mechanism:
        return Mechanism(self.system())

    def start(self, chances: np.ndarray) -> Starts:
        q, there = chances[:, :7] - 0.5, chances[:, 7:] - 0.5
        return Starts(q, np.zeros_like(q), self._mechanism.poses(there, "hand")[:, 4:])

    def inputs(self, actions: np.ndarray) -> np.ndarray:
        return self.strongest * np.clip(actions, -1.0, 1.0)

    def observe(self, q: np.ndarray, v: np.ndarray, goals: np.ndarray) -> np.ndarray:
        return np.concatenate([q, v, goals - self._mechanism.poses(q, "hand")[:, 4:]], axis=1)

    def judge(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        far = np.linalg.norm(goals - self._mechanism.poses(q, "hand")[:, 4:], axis=1)
        effort = np.mean((inputs / self.strongest) ** 2, axis=1)
        return -far - 0.01 * effort, np.zeros(len(q), dtype=bool)
