"""One environment of gymnasium, and many on lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from chasles.environments.scenario import Scenario
from chasles.simulation.batch_stepping import BatchSimulation

NOBODY = np.empty(0, dtype=np.int64)


class Episodes:
    """Members of a scenario, each somewhere in an episode."""

    def __init__(self, scenario: Scenario, members: int):
        self.scenario, self.members = scenario, members
        self.simulation = BatchSimulation(scenario.system(), scenario.step, members)
        self.elapsed = np.zeros(members, dtype=np.int64)
        self.goals: np.ndarray | None = None

    def begin(self, chosen: np.ndarray, generators: Sequence[np.random.Generator]) -> None:
        """New episodes of some members, by number."""
        q, v, goals = self.scenario.start(np.array([generators[i].random(self.scenario.chances) for i in chosen]))
        if self.goals is None:
            self.goals = np.zeros((self.members, goals.shape[1]))
        self.goals[chosen], self.elapsed[chosen] = goals, 0
        self.simulation.reset(q, v, members=chosen)

    def observe(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What is seen of states of all members."""
        assert self.goals is not None
        return np.asarray(self.scenario.observe(q, v, self.goals), dtype=np.float32)

    def act(
        self, actions: np.ndarray, over: np.ndarray = NOBODY, generators: Sequence[np.random.Generator] = ()
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Observations, rewards, ends and truncations after an action of each member; of those whose episode was over,
        the begin of the next."""
        assert self.goals is not None
        scenario = self.scenario
        inputs = scenario.inputs(actions)
        self.simulation.step(inputs, scenario.steps)
        self.elapsed += 1
        if len(over):
            self.begin(over, generators)
        q, v = self.simulation.coordinates()
        rewards, ended = scenario.judge(q, v, inputs, self.goals)
        truncated = self.elapsed >= scenario.limit
        if len(over):
            rewards[over], ended[over] = 0.0, False
        return self.observe(q, v), rewards, ended, truncated


class Environment(gymnasium.Env):
    """A scenario as an environment: env.reset(seed=1), env.step(action)."""

    metadata = {"render_modes": []}  # noqa: RUF012 (gymnasium's own)

    def __init__(self, scenario: Scenario, render_mode: str | None = None):
        _nothing_is_drawn(render_mode)
        self.scenario, self._episodes = scenario, Episodes(scenario, 1)
        self.observation_space, self.action_space = scenario.observation, scenario.action

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episodes.begin(np.array([0]), [self.np_random])
        return self._episodes.observe(*self._episodes.simulation.coordinates())[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._episodes.goals is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"{action!r} is no action; expected one of {self.action_space}")
        seen, rewards, ended, truncated = self._episodes.act(np.asarray(action)[None])
        return seen[0], float(rewards[0]), bool(ended[0]), bool(truncated[0]), {}


class VectorEnvironment(gymnasium.vector.VectorEnv):
    """Many episodes of a scenario at once, on SIMD lanes. One that ended begins anew at the next step, whose action it
    ignores, with reward 0: as gymnasium's SyncVectorEnv, to the last bit."""

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (gymnasium's own)

    def __init__(self, scenario: Scenario, num_envs: int, render_mode: str | None = None):
        _nothing_is_drawn(render_mode)
        self.scenario, self.num_envs, self._episodes = scenario, num_envs, Episodes(scenario, num_envs)
        self.single_observation_space, self.single_action_space = scenario.observation, scenario.action
        self.observation_space = batch_space(scenario.observation, num_envs)
        self.action_space = batch_space(scenario.action, num_envs)
        self._over = np.zeros(num_envs, dtype=bool)
        self._generators: list[np.random.Generator] = []

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is None:
            seeds = [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ValueError(f"reset: {len(seeds)} seeds; expected {self.num_envs}")
        fresh = not self._generators
        for i, one in enumerate(seeds):
            if fresh:
                self._generators.append(seeding.np_random(one)[0])
            elif one is not None:
                self._generators[i] = seeding.np_random(one)[0]
        self._over[:] = False
        self._episodes.begin(np.arange(self.num_envs), self._generators)
        return self._episodes.observe(*self._episodes.simulation.coordinates()), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        given = np.asarray(actions)
        if not self._generators:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if given.shape != self.action_space.shape:
            raise gymnasium.error.InvalidAction(f"actions have shape {given.shape}; expected {self.action_space.shape}")
        self._refuse_actions(given)
        seen, rewards, ended, truncated = self._episodes.act(given, np.flatnonzero(self._over), self._generators)
        self._over = ended | truncated
        if self._over.any():  # at rest until the next step: what fell further might leave all numbers
            self._episodes.simulation.reset(members=self._over)
        return seen, rewards, ended, truncated, {}

    def _refuse_actions(self, given: np.ndarray) -> None:
        """InvalidAction for actions that are none."""
        single = self.single_action_space
        if isinstance(single, gymnasium.spaces.Discrete):
            low, high = int(single.start), int(single.start + single.n) - 1
            good = given.dtype.kind in "iu" and low <= given.min() and given.max() <= high
        else:
            good = self.action_space.contains(given.astype(self.action_space.dtype, copy=False))
        if not good:
            raise gymnasium.error.InvalidAction(f"an action is not one of {single}")


def _nothing_is_drawn(render_mode: str | None) -> None:
    if render_mode is not None:
        raise ValueError(f"render_mode is {render_mode!r}; these environments draw nothing; chasles.view shows runs")
