from chasles.transition.descriptor_form import descriptor as descriptor
from chasles.transition.local_model import LocalModel as LocalModel
from chasles.transition.local_model import solve_locally as solve_locally
from chasles.transition.mujoco_model import MujocoProblem as MujocoProblem
from chasles.transition.pinocchio_model import PinocchioProblem as PinocchioProblem
from chasles.transition.problem import LGTProblem as LGTProblem
from chasles.transition.second_order_form import second_order as second_order
