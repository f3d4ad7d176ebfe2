"""A mechanism in absolute coordinates as flat arrays: what the kernels see, and where it is in one packed array.

The frame of a body is its central one: at the center of mass, along the principal axes, so that its inertia is diagonal
in both spaces. On SE(3) this changes nothing (a constant factor on the right commutes with the integrators), on
SO(3)xR3 it is the point one wants.
"""

from __future__ import annotations

from chasles.constraint.rows import MOTION
from chasles.constraint.tile_work import rows_size
from chasles.force.table import MOVING, SCRATCH
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.memory import Packed, Regions
from chasles.kernel.workspace import layout

# a body: its space (1: SE(3)), whether it is a hub (explicit in the matrix) with the nodes of its two tiles, its first
# incidence and how many, its first entry in the table of slots, and one more than the tile that holds it in a subgroup
BODY = layout("BODY", space=1, hub=1, angular=1, linear=1, first=1, count=1, slots=1, held=1)
# its numbers: mass, principal moments and their inverses
MASS = layout("MASS", mass=1, moments=3, inverse=3)
# an incidence of a body: tile and side; a slot: tile of the matrix and whether it is stored transposed
PAIR = 2
SE3, SO3XR3 = 1, 0

# the packed mechanism. n_angles: angles that are counted over full turns; n_moving: tiles that may depend on time and
# so do work; counted, rates, control are of a simulation: angles over full turns, their rates, inputs along coordinates
MECHANISM = Packed(
    "HEAD",
    {
        **dict.fromkeys(("bodies", "tiles", "nodes", "incidences", "slots"), int),
        **dict.fromkeys(("column", "row", "first", "operations"), int),
        **dict.fromkeys(("masses", "constants", "gravity"), float),
        "table": int,
        "values": float,  # of forces
        "joints": int,
        "joint_numbers": float,  # what acts along coordinates (`joint_force`)
        **dict.fromkeys(("counted", "rates", "control"), float),
    },
    (
        *("n_bodies", "n_tiles", "n_nodes", "n_matrix", "n_angles", "accelerations", "project", "act"),
        *("n_joints", "n_moving"),
    ),
    addresses=("accelerations", "project", "act", "constants", "table"),  # these parts: of laws
)
HEAD = MECHANISM.head
# what "gravity" has: gravity, the two constants of Baumgarte, and ε of `redundant` or 0 if all rows are independent
FIELD = layout("FIELD", gravity=3, alpha=1, beta=1, regularization=1)

# parts of it for kernels, each from the packed array; `Tables` are in the order in which `kkt.accelerate` takes them
OF_TABLES = (
    *("bodies", "tiles", "nodes", "incidences", "slots", "column", "row", "first", "operations"),
    *("masses", "constants", "gravity"),
)
SIZES_OF_TABLES = {"n": "n_bodies", "nt": "n_tiles", "nn": "n_nodes", "nm": "n_matrix"}
tables_of = MECHANISM.parts("Tables", *OF_TABLES, **SIZES_OF_TABLES)
lane_tables_of = MECHANISM.lane_parts("LaneTables", *OF_TABLES, **SIZES_OF_TABLES)
lane_joints_of = MECHANISM.lane_parts("LaneJoints", "joints", "joint_numbers", "counted", "rates", n="n_joints")
bodies_of = MECHANISM.parts("Bodies", "bodies", n="n_bodies")
joints_of = MECHANISM.parts("Joints", "joints", "joint_numbers", n="n_joints")
forces_of = MECHANISM.parts(
    "Forces",
    *("bodies", "masses", "table", "values", "joints", "joint_numbers", "counted", "rates", "control"),
    n="n_bodies",
)
# workspace of `entry.accelerations` and `entry.project`
WORK = DualRegions(
    "Work",
    motion=MOTION.size * MECHANISM.sizes.n_bodies,
    rows=rows_size(MECHANISM.sizes.n_tiles, MECHANISM.sizes.n_angles),
    matrix=9 * MECHANISM.sizes.n_matrix,
    factors=9 * MECHANISM.sizes.n_matrix,
    x=3 * MECHANISM.sizes.n_nodes,
    a=6 * MECHANISM.sizes.n_bodies,
    velocity=6 * MECHANISM.sizes.n_bodies,
    refinement=9 * MECHANISM.sizes.n_nodes,  # of `redundant.solve_refined`
)
work_of, work_size = WORK.views, WORK.total
# workspace of `forces.act`: poses and twists of the ground and all bodies, and workspace of the laws
FORCE_WORK = Regions("ForceWork", states=MOVING.size * MECHANISM.sizes.n_bodies + MOVING.size, scratch=SCRATCH)
force_work_of, force_work_size = FORCE_WORK.views, FORCE_WORK.total
