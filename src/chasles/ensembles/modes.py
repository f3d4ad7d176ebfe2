"""Whether members of an ensemble start in the assembly mode of the model file: each searches its own start, and beside
a value at which another guess is the first to close the loops, it may find another mode."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from chasles.constraint.errors import AssemblyError
from chasles.io.model_file import Study
from chasles.io.source import ModelFileError
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.scale import length_of
from chasles.relative.loop.closed import ClosedMechanism

SAME = 1e-6  # of rotation matrices, and of positions relative to the size of the model
Start = tuple[ClosedMechanism, np.ndarray]


def start_of(study: Any, options: dict[str, Any]) -> Start | None:
    """Mechanism and coordinates at the start of a study with loops; None if it has no choice of a mode."""
    if not isinstance(study, Study) or len(study.system.joints) <= len(study.system.bodies):
        return None
    if not isinstance(study.initial.get("q", {}), dict) or study.initial.keys() & {"mode", "poses"}:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            task = study.plan(**options)
    except (ModelFileError, AssemblyError, ValueError):  # which its member says
        return None
    mechanism = task.dynamics.mechanism
    if not isinstance(mechanism, ClosedMechanism):
        return None
    return mechanism, task.dynamics.split(task.state[None])[0][0]


def in_another_mode(nominal: Start, start: Start, study: Study, t: float) -> bool:
    """Whether a start is another one than that which follows from the nominal one, as the given values and the lengths
    change to those of this study."""
    mechanism, q = start
    places = mechanism.tree.coordinates
    if places != nominal[0].tree.coordinates:
        return False
    given = study.initial.get("held", study.initial.get("q", {}))
    names = given.get("q", ()) if isinstance(given, dict) and "held" in study.initial else given
    held = [name for name in names if name in places]
    guess = nominal[1].copy()
    for name in held:
        guess[places[name]] = q[places[name]]
    try:
        followed = mechanism.assemble(guess, t, held=held)
    except AssemblyError:  # the mode of the file ends on the way there
        return True
    here, there = (mechanism.poses(one) for one in (q, followed))
    turned = np.abs(quaternion_to_matrix(here[..., :4]) - quaternion_to_matrix(there[..., :4])).max()
    moved = np.abs(here[..., 4:] - there[..., 4:]).max() / length_of(study.system)
    return bool(max(turned, moved) > SAME)
