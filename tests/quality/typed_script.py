"""What a user writes, for mypy at its strictest: public calls have types of their own. Only checked, not run."""

from pathlib import Path
from typing import assert_type

import numpy as np

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.certificate.verdict import Certificate, Finding
from chasles.integrate.event import Occurrence
from chasles.integrate.solution import Solution
from chasles.io.model_file import Study
from chasles.model.joint import Joint
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.joint_motion import JointMotion
from chasles.simulation.states import Energies, States

hinge = ch.revolute("hinge", "ground", "arm", axis=(0, 1, 0), damping=0.1)
assert_type(hinge, Joint)
system = ch.System([ch.Body("arm", 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))], [hinge])
assert_type(system.with_gravity((0, 0, -1.6)), ch.System)
assert_type(system.compile(), Mechanism | ClosedMechanism)
assert_type(system.compile("absolute", space="SE3"), AbsoluteMechanism)
assert_type(system.body("arm"), ch.Body)
assert_type(system.joint("hinge"), Joint)

mechanism = system.compile()
assert_type(mechanism.poses([0.1]), np.ndarray)
assert_type(mechanism.accelerations_under([0.1], [0.0]), np.ndarray)

run = ch.simulate(system, (0.0, 1.0), q=[0.3], rtol=1e-9)
assert_type(run, ch.Run)
assert_type(run.t, np.ndarray)
assert_type(run.q, np.ndarray)
assert_type(run.poses, np.ndarray)
assert_type(run.energies, Energies)
assert_type(run.joint("hinge"), JointMotion)
assert_type(run.reactions("hinge"), np.ndarray)
assert_type(run(0.5), States)
assert_type(run.success, bool)
assert_type(run.mechanism, Mechanism | ClosedMechanism | AbsoluteMechanism)
assert_type(run.message, str)
assert_type(run.events, list[Occurrence])
assert_type(run.certificate, Certificate)
assert_type(run.certificate["energy balance"], Finding)
assert_type(ch.certify(run, {"error estimate": 1e-6}).passed, bool)
run.save(Path("run.h5"))
assert_type(ch.open("run.h5"), ch.Run)

study = ch.load("model.toml")
assert_type(study, Study)
assert_type(study.system, ch.System)
assert_type(study.run(), ch.Run)

circle = ch.integrate.LieODE(ch.integrate.Space("r2"), lambda t, y: np.array([-y[1], y[0]]))
solution = ch.integrate.solve(circle, ch.integrate.RKMK("dopri5"), (0.0, 1.0), [1.0, 0.0], step_control="pi")
assert_type(solution, Solution)
assert_type(solution.y, np.ndarray)
