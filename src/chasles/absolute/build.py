"""What an absolute mechanism is made of: the tiles of its joints and constraints, and all of it packed for kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute import entry
from chasles.absolute.frames import CentralFrames
from chasles.absolute.plan import plan_tables
from chasles.absolute.space import SE3_NAME
from chasles.absolute.tables import MECHANISM
from chasles.constraint.joints import Tile, joint_tiles
from chasles.constraint.tiles import TileBuilder
from chasles.model.constraint import CustomConstraint, Drive
from chasles.model.joint import Joint

if TYPE_CHECKING:
    from chasles.absolute.mechanism import AbsoluteMechanism


def make_tiles(
    mechanism: CentralFrames,
    builder: TileBuilder,
    feedback: bool,
    known: dict[tuple[Any, ...], list[Tile]] | None = None,
) -> list[Tile]:
    """Those of the joints, then of the constraints, then of the rotors. feedback: of the violation, by Baumgarte.
    known: those of joints that were made before."""
    tiles: list[Tile] = []
    known = {} if known is None else known

    def made(what: Callable[..., list[Tile]], joint: Joint, *given: Any) -> list[Tile]:
        ends = (builder.places[body][1].tobytes() for body in (joint.parent, joint.child))
        key = what.__name__, joint, *ends
        if key not in known:
            known[key] = what(joint, *given)
        return known[key]

    def of_joint(joint: Joint, first: int, second: int, special: bool) -> list[Tile]:
        on_first = mechanism._central(joint.parent, joint.parent_frame)
        return joint_tiles(joint, first, second, on_first, mechanism._central(joint.child, joint.child_frame), special)

    for joint in mechanism.system.joints:
        first, second = mechanism._index.get(joint.parent, -1), mechanism._index[joint.child]
        # with feedback the acceleration does not stay in the subgroup
        special = first < 0 and mechanism.spaces[joint.child] == SE3_NAME and not feedback
        if joint.traits.any_screws:
            tiles += builder.screw_tiles(joint)
        else:
            tiles += made(of_joint, joint, first, second, special)
    for constraint in mechanism.system.constraints:
        tiles += builder.build(constraint)
    for joint in mechanism.system.joints:
        tiles += made(builder.rotor_tiles, joint)
    return tiles


def pack(mechanism: AbsoluteMechanism, builder: TileBuilder) -> np.ndarray:
    """The mechanism as one array of numbers."""
    masses = np.array([body.mass for body in mechanism.system.bodies])
    accelerations, project = entry.addresses()
    return MECHANISM.pack(
        **plan_tables(mechanism._plan, mechanism.tiles, ~mechanism._mixed, masses, mechanism.moments),
        constants=builder.numbers(mechanism.tiles),
        gravity=np.array((*map(float, np.array(mechanism.system.gravity)), *mechanism.baumgarte, 0.0)),
        table=mechanism.forces.table,
        values=mechanism.forces.values,
        joints=mechanism.joint_tables.rows,
        joint_numbers=mechanism.joint_tables.numbers,
        counted=np.zeros(mechanism.angles_counted),
        rates=np.zeros(mechanism.angles_counted),
        control=np.zeros(mechanism.joint_tables.nv),
        n_bodies=mechanism.n,
        n_tiles=len(mechanism.tiles),
        n_nodes=mechanism.elimination.nodes,
        n_matrix=mechanism.elimination.tiles,
        n_angles=mechanism.angles_counted,
        accelerations=accelerations,
        project=project,
        act=0 if mechanism.forces.empty else entry.act_address(),  # not called where nothing acts
        n_joints=len(mechanism.joint_tables.order),
        n_moving=sum(isinstance(item, Drive | CustomConstraint) for item in mechanism.system.constraints),
    )
