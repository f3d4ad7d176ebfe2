"""Mechanisms as environments of gymnasium: `import chasles.environments` registers them.

`gymnasium.make("chasles/CartPole-v0")` is one, `gymnasium.make_vec("chasles/CartPole-v0", num_envs=256)` many on SIMD
lanes. Own ones are a `Scenario`, for `Environment(scenario)` and `VectorEnvironment(scenario, num_envs)`.
"""

from functools import partial
from typing import Any

try:
    import gymnasium
except ImportError:
    raise ImportError("chasles.environments needs gymnasium: pip install gymnasium") from None

from chasles.environments.environment import Environment as Environment
from chasles.environments.environment import VectorEnvironment as VectorEnvironment
from chasles.environments.scenario import Scenario as Scenario
from chasles.environments.scenario import Starts as Starts
from chasles.environments.scenarios import Acrobot as Acrobot
from chasles.environments.scenarios import CartPole as CartPole
from chasles.environments.scenarios import Reacher as Reacher


def _made(kind: Any, scenario: type[Scenario], *, num_envs: int | None = None, **options: Any) -> Any:
    """What gymnasium asks for: an environment of a scenario with options."""
    render_mode = options.pop("render_mode", None)
    more = {} if num_envs is None else {"num_envs": num_envs}
    return kind(scenario(**options), **more, render_mode=render_mode)


for _scenario in (CartPole, Acrobot, Reacher):
    gymnasium.register(
        f"chasles/{_scenario.__name__}-v0",
        entry_point=partial(_made, Environment, _scenario),
        vector_entry_point=partial(_made, VectorEnvironment, _scenario),
    )
