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
from chasles.simulation.batch.stepping import BatchSimulation

AHEAD = 16  # starts of a member for which random numbers are drawn at once


class Chances:
    """Random numbers of starts, of each member from a generator of its own."""

    def __init__(self, members: int, size: int):
        self.generators: list[np.random.Generator | None] = [None] * members
        self._drawn, self._used = np.empty((members, AHEAD, size)), np.zeros(members, dtype=np.int64)

    def seed(self, seeds: Sequence[int | None]) -> None:
        """Give the members new generators; those that have one keep it if their seed is None."""
        for i, seed in enumerate(seeds):
            if seed is not None or self.generators[i] is None:
                self.generators[i], self._used[i] = seeding.np_random(seed)[0], AHEAD

    def __call__(self, chosen: np.ndarray) -> np.ndarray:
        """The next numbers of some members, by number."""
        used = self._used[chosen]
        if AHEAD in used:
            for i in chosen[used == AHEAD].tolist():
                self.generators[i].random(out=self._drawn[i])
                self._used[i] = 0
            used = self._used[chosen]
        self._used[chosen] = used + 1
        found: np.ndarray = self._drawn[chosen, used]
        return found


class Episodes:
    """Members of a scenario, each somewhere in an episode."""

    def __init__(self, scenario: Scenario, members: int):
        self.scenario, self.members = scenario, members
        self.simulation = BatchSimulation(scenario.system(), scenario.step, members)
        self.elapsed = np.zeros(members, dtype=np.int64)
        self.goals: np.ndarray | None = None

    def begin(self, chosen: np.ndarray, chances: np.ndarray) -> None:
        """New episodes of some members, by number, from random numbers."""
        q, v, goals = self.scenario.start(chances)
        if self.goals is None:
            self.goals = np.zeros((self.members, goals.shape[1]))
        self.elapsed[chosen] = 0
        if goals.size:
            self.goals[chosen] = goals
        self.simulation.reset(q, v, members=chosen)

    def observe(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What is seen of states of all members."""
        assert self.goals is not None
        return np.asarray(self.scenario.observe(q, v, self.goals), dtype=np.float32)

    def act(
        self, actions: np.ndarray, fresh: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Observations, rewards, ends and truncations after an action of each member; of those whose episode is fresh,
        by a mask, the begin of it."""
        assert self.goals is not None
        scenario = self.scenario
        inputs = scenario.inputs(actions)
        self.simulation.step(inputs, scenario.steps, held=fresh)
        q, v = self.simulation.coordinates()
        rewards, ended = scenario.judge(q, v, inputs, self.goals)
        if fresh is None:
            self.elapsed += 1
        else:
            self.elapsed += ~fresh
            np.copyto(rewards, 0.0, where=fresh)
            np.copyto(ended, False, where=fresh)
        return self.observe(q, v), rewards, ended, self.elapsed >= scenario.limit


class Environment(gymnasium.Env):
    """A scenario as an environment: env.reset(seed=1), env.step(action)."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (gymnasium's own)

    def __init__(self, scenario: Scenario, render_mode: str | None = None):
        _nothing_is_drawn(render_mode)
        self.scenario, self._episodes = scenario, Episodes(scenario, 1)
        self.observation_space, self.action_space = scenario.observation, scenario.action

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._episodes.begin(np.array([0]), self.np_random.random((1, self.scenario.chances)))
        return self._episodes.observe(*self._episodes.simulation.coordinates())[0], {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        if self._episodes.goals is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if not self.action_space.contains(action):
            raise gymnasium.error.InvalidAction(f"{action!r} is not an action; expected one of {self.action_space}")
        seen, rewards, ended, truncated = self._episodes.act(np.asarray(action)[None])
        return seen[0], float(rewards[0]), bool(ended[0]), bool(truncated[0]), {}


class VectorEnvironment(gymnasium.vector.VectorEnv):
    """Many episodes of a scenario at once, on SIMD lanes. One that ended begins anew at the next step, whose action it
    ignores, with reward 0: as gymnasium's SyncVectorEnv, to the last bit."""

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 (gymnasium's own)

    def __init__(self, scenario: Scenario, num_envs: int, render_mode: str | None = None):
        _nothing_is_drawn(render_mode)
        self.scenario, self.num_envs, self._episodes = scenario, num_envs, Episodes(scenario, num_envs)
        self.single_observation_space, self.single_action_space = scenario.observation, scenario.action
        self.observation_space = batch_space(scenario.observation, num_envs)
        self.action_space = batch_space(scenario.action, num_envs)
        self._over: np.ndarray | None = None  # whose episode ended, if any: their next one has begun, but is not shown
        self._actions = self.action_space.shape
        self._chances, self._begun = Chances(num_envs, scenario.chances), False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed
        if seeds is None:
            seeds = [None] * self.num_envs
        if len(seeds) != self.num_envs:
            raise ValueError(f"reset: {len(seeds)} seeds; expected {self.num_envs}")
        self._chances.seed(seeds)
        waiting = [self._over is not None and self._over[i] and one is None for i, one in enumerate(seeds)]
        self._over, self._begun = None, True
        self._begin(np.flatnonzero(np.logical_not(waiting)))
        return self._episodes.observe(*self._episodes.simulation.coordinates()), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        given = np.asarray(actions)
        if not self._begun:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if given.shape != self._actions:
            raise gymnasium.error.InvalidAction(f"actions have shape {given.shape}; expected {self._actions}")
        self._refuse_actions(given)
        seen, rewards, ended, truncated = self._episodes.act(given, self._over)
        over = ended | truncated
        self._over = over if over.any() else None
        if self._over is not None:  # the next begins at once, or what goes on falling might leave all numbers
            self._begin(np.flatnonzero(over))
        return seen, rewards, ended, truncated, {}

    def _begin(self, chosen: np.ndarray) -> None:
        self._episodes.begin(chosen, self._chances(chosen))

    def _refuse_actions(self, given: np.ndarray) -> None:
        """InvalidAction for actions that are none."""
        single = self.single_action_space
        if isinstance(single, gymnasium.spaces.Discrete):
            whole = given.dtype.kind in "iu"
            shifted = given - single.start if single.start else given
            good = whole and shifted.astype(np.uint64, copy=False).max() < single.n  # those below 0 are large
        else:
            good = self.action_space.contains(given.astype(self.action_space.dtype, copy=False))
        if not good:
            raise gymnasium.error.InvalidAction(f"an action is not one of {single}")


def _nothing_is_drawn(render_mode: str | None) -> None:
    if render_mode is not None:
        raise ValueError(f"render_mode is {render_mode!r}; these environments draw nothing; chasles.view shows runs")
