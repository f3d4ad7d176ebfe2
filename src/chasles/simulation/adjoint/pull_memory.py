"""The memory of `body_pull` and `projection_pull`, for a mechanism."""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals
from chasles.absolute.coloring import translates
from chasles.absolute.residual_tangent import residuals_address
from chasles.constraint.rows import EMPTY, ROTOR, TILE
from chasles.kernel.lanes import WIDTH, buffer
from chasles.simulation.adjoint.pull_state import ACCOUNT, PULL, PULL_DUALS, PULL_SPOT, ROOM, SPOTS


def pull_memory(
    residuals: BodyResiduals, staged: bool = False, rows: int = 0, slipping: np.ndarray | None = None
) -> np.ndarray:
    """staged: whether stages are projected. rows: of the account. slipping: rows (tiles, 3) of equations between
    velocities alone."""
    mechanism, colors = residuals.mechanism, residuals.colors
    head, chosen = mechanism.packed.view(np.int64), np.zeros(len(mechanism.tiles), dtype=np.int64)
    chosen[residuals.tile_of_rows] = 1
    kinds = np.array([tile.integers[TILE.kinds : TILE.kinds + 3] for tile in mechanism.tiles]).reshape(-1, 3)
    follows = (kinds != EMPTY) & (kinds != ROTOR)
    if slipping is not None:
        follows &= slipping == 0
    parts: dict[str, np.ndarray] = {
        "duals": np.zeros(PULL_DUALS.size(head)),
        "forces": residuals.force_duals,
        "mechanism": residuals.packed,
        "acting": residuals.acting,
        "color": colors.of_body,
        "of_bodies": colors.bodies,
        "of_tiles": colors.tiles,
        "of_joints": colors.joints,
        "chosen": chosen,
        "follows": follows.astype(np.int64),
        "room": np.zeros(ROOM.size(head)),
        "spots": np.zeros(SPOTS * PULL_SPOT.size(head)),
        "account": np.zeros(rows * ACCOUNT.size(head)),
    }
    sizes = PULL.size, *(part.size for part in parts.values())
    places = np.cumsum([-(-size // WIDTH) * WIDTH for size in sizes])  # where lanes may begin
    memory = buffer(int(places[-1]) // WIDTH)
    integers = memory.view(np.int64)
    for (name, part), place in zip(parts.items(), places[:-1], strict=True):
        integers[getattr(PULL, name)] = place
        memory[place : place + part.size] = np.ascontiguousarray(part).ravel().view(float)
    alone = {
        "residuals": residuals_address(),
        "mechanism_end": integers[PULL.mechanism] + len(residuals.packed),
        "n_acting": len(residuals.acting),
        "colors": len(colors.bodies),
        "translates": int(translates(mechanism) or any(mechanism.baumgarte)),
        "shared": int(residuals.rotors.any() or (slipping is not None and slipping.any())),
        "staged": int(staged),
        "capacity": rows,
        "row": ACCOUNT.size(head),
    }
    for name, value in alone.items():
        integers[getattr(PULL, name)] = value
    return memory
