"""The memory of `body_pull` and `projection_pull`, for a mechanism."""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals
from chasles.absolute.coloring import translates
from chasles.absolute.residual_tangent import residuals_address
from chasles.kernel.lanes import WIDTH, buffer
from chasles.simulation.adjoint.pull_state import ACCOUNT, PULL, PULL_DUALS, PULL_SPOT, ROOM, SPOTS


def pull_memory(residuals: BodyResiduals, staged: bool = False, rows: int = 0) -> np.ndarray:
    """staged: whether stages are projected. rows: of the account."""
    mechanism, colors = residuals.mechanism, residuals.colors
    head, chosen = mechanism.packed.view(np.int64), np.zeros(len(mechanism.tiles), dtype=np.int64)
    chosen[residuals.tile_of_rows] = 1
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
        "rotors": int(residuals.rotors.any()),
        "staged": int(staged),
        "capacity": rows,
        "row": ACCOUNT.size(head),
    }
    for name, value in alone.items():
        integers[getattr(PULL, name)] = value
    return memory
