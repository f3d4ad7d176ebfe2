from chasles.io.model_file import Study as Study
from chasles.io.plan_file import plan_task as plan_task
from chasles.io.plan_file import planned as planned
from chasles.io.report import ImportReport as ImportReport
from chasles.io.state_order import StateOrder as StateOrder
from chasles.io.state_order import mujoco_order as mujoco_order
from chasles.io.state_order import pinocchio_order as pinocchio_order
