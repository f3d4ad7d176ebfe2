"""A compiled model of MuJoCo with the names that its parts get here, and what of it nothing reads."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.io.report import ImportReport
from chasles.io.source import ModelFileError
from chasles.io.values import LARGEST_NUMBER, checked_name
from chasles.model.body import GROUND

# arrays that become numbers of the system
READ = (
    *("body_pos", "body_quat", "body_mass", "body_ipos", "body_iquat", "body_inertia"),
    *("jnt_pos", "jnt_axis", "jnt_stiffness", "qpos0", "qpos_spring"),
    *("dof_armature", "dof_damping", "dof_frictionloss", "eq_data", "geom_pos", "geom_size", "site_pos"),
)
NOT_READ = (
    ("tendons", "ntendon", "there are none here: their springs, dampers, limits and friction", True),
    ("soft bodies", "nflex", "not simulated here", True),
    ("plugins", "nplugin", "", True),
    ("cameras", "ncam", "", False),
    ("lights", "nlight", "", False),
    ("sensors", "nsensor", "", False),
    ("keyframes", "nkey", "a system has no state: give q and v to simulate", False),
    ("skins", "nskin", "", False),
    ("textures", "ntex", "", False),
)


class View:
    """A model with names: of bodies (the first is the ground), joints and what is made between them."""

    def __init__(self, model: Any, report: ImportReport, file: str):
        import mujoco

        self.model, self.report, self.file, self.mujoco = model, report, file, mujoco
        self._taken: dict[str, set[str]] = {"body": {GROUND}, "joint": set(), "actuator": set()}
        for key in READ:
            values = getattr(model, key)
            if not np.all(np.abs(values) <= LARGEST_NUMBER):
                where = np.argwhere(~(np.abs(values) <= LARGEST_NUMBER))[0]
                raise ModelFileError(file, None, "", f"{key}{where.tolist()} is {values[tuple(where)]}")
        names = mujoco.mjtObj
        self.bodies = [GROUND, *(self._named(names.mjOBJ_BODY, i, "body", "body") for i in range(1, model.nbody))]
        self.joints = [self._named(names.mjOBJ_JOINT, j, "joint", "joint") for j in range(model.njnt)]

    def _named(self, kind: Any, index: int, group: str, word: str) -> str:
        """The name of a part, or one made from its number; changed if it is taken."""
        name = self.name_of(kind, index) or f"{word} {index}"
        unique = self.unique(group, name)
        if unique != name:
            self.report.approximated("names", name, f"called {unique!r} here", moves=False)
        return unique

    def name_of(self, kind: Any, index: int) -> str:
        name = self.mujoco.mj_id2name(self.model, kind, index) or ""
        try:
            return checked_name(name) if name else ""
        except ValueError as error:
            raise ModelFileError(self.file, None, "name", str(error)) from None

    def unique(self, group: str, name: str) -> str:
        """The name, or one like it that no other part of the group has."""
        while name in self._taken[group]:
            name += "'"
        self._taken[group].add(name)
        return name

    def part(self, key: str, index: int, default: Any = ()) -> Any:
        """One row of an array that not every version of MuJoCo has."""
        values = getattr(self.model, key, None)
        return default if values is None else values[index]

    def disabled(self, *bits: str) -> bool:
        """Whether a flag of the model disables something; older versions have other flags."""
        flags = self.mujoco.mjtDisableBit
        found = [getattr(flags, f"mjDSBL_{bit}", None) for bit in bits]
        return any(bit is not None and self.model.opt.disableflags & int(bit) for bit in found)

    @property
    def passive(self) -> bool:
        """Whether there are passive forces at all: without springs and dampers there is no fluid either."""
        return not (self.disabled("PASSIVE") or (self.disabled("SPRING") and self.disabled("DAMPER")))

    def report_rest(self) -> None:
        """Lines for what nothing reads."""
        model, report = self.model, self.report
        for what, count, why, moves in NOT_READ:
            for _ in range(getattr(model, count, 0)):
                report.ignored(what, "", why, moves)
        geoms = self.mujoco.mjtObj.mjOBJ_GEOM
        if not self.disabled("CONTACT", "CONSTRAINT"):
            for _ in range(model.npair):
                report.ignored("contact", "", "NONE IS SIMULATED: pairs of geoms", moves=True)
            for g in range(model.ngeom):
                if model.geom_contype[g] or model.geom_conaffinity[g]:
                    why = "NONE IS SIMULATED: bodies pass through each other"
                    report.ignored("contact", self.name_of(geoms, g), why, moves=True)
        if (model.opt.density or model.opt.viscosity) and self.passive:
            report.ignored("fluid forces", "", "density, viscosity and wind of the medium", moves=True)
        report.ignored("solver settings", "", "time step, integrator and solver are options of simulate")
