"""Vector environments on lanes beside gymnasium's own cart-pole in a loop.

Run: python -m benchmarks.environment_speed. Prints a table.

Processor time a step of one member, with all resets that random actions cause; short stretches of both in turn, the
least of many: other programs run on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from benchmarks import page
from chasles.environments import Acrobot, CartPole, Reacher, VectorEnvironment

MEMBERS, STEPS, REPETITIONS, BAR = 256, 25, 60, 10.0


def vector(environment: Any) -> Callable[[], int]:
    """Steps of all members under random actions; how many steps of one member that is."""
    environment.reset(seed=0)
    environment.action_space.seed(0)
    actions = [environment.action_space.sample() for _ in range(STEPS)]

    def run() -> int:
        for action in actions:
            environment.step(action)
        return STEPS * environment.num_envs

    return run


def single(environment: Any) -> Callable[[], int]:
    """The same of one environment."""
    environment.reset(seed=0)
    environment.action_space.seed(0)
    actions = [environment.action_space.sample() for _ in range(20 * STEPS)]

    def run() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                environment.reset()
        return len(actions)

    return run


def main() -> None:
    runs = {
        f"chasles, {MEMBERS} cart-poles": vector(VectorEnvironment(CartPole(), MEMBERS)),
        "gymnasium, cart-pole": single(gymnasium.make("CartPole-v1").unwrapped),
        "gymnasium, cart-pole, as `make` gives it": single(gymnasium.make("CartPole-v1")),
        f"chasles, {MEMBERS} acrobots, 4 steps each": vector(VectorEnvironment(Acrobot(), MEMBERS)),
        "gymnasium, acrobot": single(gymnasium.make("Acrobot-v1").unwrapped),
        f"chasles, {MEMBERS} arms of 7 joints, 4 steps each": vector(VectorEnvironment(Reacher(), MEMBERS)),
    }
    found = dict.fromkeys(runs, np.inf)
    for _ in range(REPETITIONS):
        for name, run in runs.items():
            begin = time.process_time()
            count = run()
            found[name] = min(found[name], 1e6 * (time.process_time() - begin) / count)
    mine = next(iter(found.values()))
    rows = [[name, f"{value:.2f}", f"{value / mine:.1f}"] for name, value in found.items()]
    print(f"random actions; bar: gymnasium's cart-pole at least {BAR:g} times as long; {page.machine()}\n")
    print(page.table(["µs a step of one member", "", "over the first"], rows))


if __name__ == "__main__":
    main()
