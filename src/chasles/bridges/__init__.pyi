from chasles.bridges.function import Differentiable as Differentiable
from chasles.bridges.mechanics import forward_dynamics as forward_dynamics
from chasles.bridges.mechanics import frame_pose as frame_pose
from chasles.bridges.mechanics import inverse_dynamics as inverse_dynamics
from chasles.bridges.mechanics import simulation_end as simulation_end
from chasles.bridges.to_casadi import casadi_function as casadi_function
from chasles.bridges.to_jax import jax_function as jax_function
from chasles.bridges.to_torch import torch_function as torch_function
