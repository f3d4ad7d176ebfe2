"""chasles: the dynamics of mechanisms on Lie groups. "Every rigid-body motion is a screw."

Importing the package loads nothing heavy; modules are loaded, and their functions compiled, on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from chasles.registry import provide as _provide

if TYPE_CHECKING:
    from chasles import gallery as gallery
    from chasles import lie as lie
    from chasles import screw as screw
    from chasles.absolute.mechanism import AbsoluteMechanism as AbsoluteMechanism
    from chasles.certificate.judge import certify as certify
    from chasles.certificate.verdict import Certificate as Certificate
    from chasles.constraint.errors import AssemblyError as AssemblyError
    from chasles.constraint.errors import RedundantConstraintsError as RedundantConstraintsError
    from chasles.constraint.screws import SingularJointError as SingularJointError
    from chasles.integrate.batch import solve_batch as solve_batch
    from chasles.integrate.composition import Composition as Composition
    from chasles.integrate.constrained_method import BLieDF as BLieDF
    from chasles.integrate.constrained_method import EnergyMomentum as EnergyMomentum
    from chasles.integrate.constrained_method import GeneralizedAlpha as GeneralizedAlpha
    from chasles.integrate.constrained_method import HalfExplicit as HalfExplicit
    from chasles.integrate.constrained_method import Rattle as Rattle
    from chasles.integrate.cotangent import HamiltonianOnSO3 as HamiltonianOnSO3
    from chasles.integrate.cotangent import RigidBodyOnSO3 as RigidBodyOnSO3
    from chasles.integrate.event import Event as Event
    from chasles.integrate.explicit import ChartError as ChartError
    from chasles.integrate.field import field as field
    from chasles.integrate.fixed_step import StepError as StepError
    from chasles.integrate.gauss import Gauss as Gauss
    from chasles.integrate.gauss import LieMidpoint as LieMidpoint
    from chasles.integrate.generic import FrameSpace as FrameSpace
    from chasles.integrate.generic import MatrixGroup as MatrixGroup
    from chasles.integrate.lie_verlet import LieVerlet as LieVerlet
    from chasles.integrate.magnus import CommutatorFreeMagnus as CommutatorFreeMagnus
    from chasles.integrate.magnus import LinearODE as LinearODE
    from chasles.integrate.magnus import Magnus as Magnus
    from chasles.integrate.method import RKMK as RKMK
    from chasles.integrate.method import CommutatorFree as CommutatorFree
    from chasles.integrate.method import CrouchGrossman as CrouchGrossman
    from chasles.integrate.method import LowStorage as LowStorage
    from chasles.integrate.moser_veselov import MoserVeselov as MoserVeselov
    from chasles.integrate.poisson import LiePoisson as LiePoisson
    from chasles.integrate.poisson import LiePoissonMidpoint as LiePoissonMidpoint
    from chasles.integrate.problem import LieODE as LieODE
    from chasles.integrate.solution import Solution as Solution
    from chasles.integrate.solve import solve as solve
    from chasles.integrate.space import Space as Space
    from chasles.integrate.stepper import Interrupted as Interrupted
    from chasles.integrate.tableau import Tableau as Tableau
    from chasles.integrate.theta import SymplecticTheta as SymplecticTheta
    from chasles.io.load import load as load
    from chasles.io.model_file import Study as Study
    from chasles.io.report import Report as Report
    from chasles.io.result.export import export as export
    from chasles.io.result.layout import ResultFileError as ResultFileError
    from chasles.io.result.reader import open as open
    from chasles.io.result.resume import resume as resume
    from chasles.io.source import ModelFileError as ModelFileError
    from chasles.model.actuator import Actuator as Actuator
    from chasles.model.body import Body as Body
    from chasles.model.body import Frame as Frame
    from chasles.model.constraint import Coupling as Coupling
    from chasles.model.constraint import CustomConstraint as CustomConstraint
    from chasles.model.constraint import Distance as Distance
    from chasles.model.constraint import Drive as Drive
    from chasles.model.constraint import PointOnLine as PointOnLine
    from chasles.model.constraint import PointOnPlane as PointOnPlane
    from chasles.model.constraint import Rolling as Rolling
    from chasles.model.force import JointForce as JointForce
    from chasles.model.force import Spring as Spring
    from chasles.model.force import Wrench as Wrench
    from chasles.model.joint import Joint as Joint
    from chasles.model.joint import cylindrical as cylindrical
    from chasles.model.joint import denavit_hartenberg as denavit_hartenberg
    from chasles.model.joint import free as free
    from chasles.model.joint import general as general
    from chasles.model.joint import helical as helical
    from chasles.model.joint import planar as planar
    from chasles.model.joint import prismatic as prismatic
    from chasles.model.joint import revolute as revolute
    from chasles.model.joint import spherical as spherical
    from chasles.model.joint import universal as universal
    from chasles.model.joint import weld as weld
    from chasles.model.law import law as law
    from chasles.model.system import System as System
    from chasles.relative.loop.closed import ClosedMechanism as ClosedMechanism
    from chasles.relative.mechanism import Mechanism as Mechanism
    from chasles.relative.parameter.identifiability import Identifiability as Identifiability
    from chasles.relative.parameter.identifiability import identify as identify
    from chasles.screw.shape import Box as Box
    from chasles.screw.shape import Capsule as Capsule
    from chasles.screw.shape import Cylinder as Cylinder
    from chasles.screw.shape import Ellipsoid as Ellipsoid
    from chasles.screw.shape import Mesh as Mesh
    from chasles.screw.shape import Sphere as Sphere
    from chasles.simulation.equilibrium import equilibrium as equilibrium
    from chasles.simulation.linearize import Linearization as Linearization
    from chasles.simulation.linearize import linearize as linearize
    from chasles.simulation.mobility import mobility as mobility
    from chasles.simulation.run import Run as Run
    from chasles.simulation.sensitivities import Sensitivities as Sensitivities
    from chasles.simulation.sensitivities import sensitivities as sensitivities
    from chasles.simulation.simulate import simulate as simulate
    from chasles.simulation.start_values import StartChangedWarning as StartChangedWarning
    from chasles.simulation.stepping import Simulation as Simulation
    from chasles.study.compare import compare as compare
    from chasles.study.comparison import Comparison as Comparison
    from chasles.transition.descriptor import descriptor as descriptor
    from chasles.transition.local_model import LocalModel as LocalModel
    from chasles.transition.local_model import solve_locally as solve_locally
    from chasles.transition.mujoco_model import MujocoProblem as MujocoProblem
    from chasles.transition.pinocchio_model import PinocchioProblem as PinocchioProblem
    from chasles.transition.problem import LGTProblem as LGTProblem
    from chasles.transition.second_order import second_order as second_order
    from chasles.view.page import show as show
    from chasles.view.plot import plot as plot
    from chasles.view.plot_work import work_precision as work_precision

__version__ = "0.1.0"
_NAMES = {
    "absolute.mechanism": ("AbsoluteMechanism",),
    "constraint.errors": ("AssemblyError", "RedundantConstraintsError"),
    "constraint.screws": ("SingularJointError",),
    "integrate.batch": ("solve_batch",),
    "integrate.composition": ("Composition",),
    "integrate.constrained_method": ("BLieDF", "EnergyMomentum", "GeneralizedAlpha", "HalfExplicit", "Rattle"),
    "integrate.cotangent": ("HamiltonianOnSO3", "RigidBodyOnSO3"),
    "integrate.event": ("Event",),
    "integrate.explicit": ("ChartError",),
    "integrate.field": ("field",),
    "integrate.fixed_step": ("StepError",),
    "integrate.gauss": ("Gauss", "LieMidpoint"),
    "integrate.generic": ("FrameSpace", "MatrixGroup"),
    "integrate.lie_verlet": ("LieVerlet",),
    "integrate.magnus": ("CommutatorFreeMagnus", "LinearODE", "Magnus"),
    "integrate.method": ("RKMK", "CommutatorFree", "CrouchGrossman", "LowStorage"),
    "integrate.moser_veselov": ("MoserVeselov",),
    "integrate.poisson": ("LiePoisson", "LiePoissonMidpoint"),
    "integrate.problem": ("LieODE",),
    "integrate.stepper": ("Interrupted",),
    "integrate.solution": ("Solution",),
    "integrate.solve": ("solve",),
    "integrate.space": ("Space",),
    "integrate.tableau": ("Tableau",),
    "integrate.theta": ("SymplecticTheta",),
    "io.load": ("load",),
    "io.model_file": ("Study",),
    "io.report": ("Report",),
    "io.source": ("ModelFileError",),
    "io.result.export": ("export",),
    "io.result.layout": ("ResultFileError",),
    "io.result.reader": ("open",),
    "io.result.resume": ("resume",),
    "model.actuator": ("Actuator",),
    "model.body": ("Body", "Frame"),
    "model.constraint": (
        "Coupling",
        "CustomConstraint",
        "Distance",
        "Drive",
        "PointOnLine",
        "PointOnPlane",
        "Rolling",
    ),
    "model.force": ("JointForce", "Spring", "Wrench"),
    "model.joint": (
        "Joint",
        "cylindrical",
        "denavit_hartenberg",
        "free",
        "general",
        "helical",
        "planar",
        "prismatic",
        "revolute",
        "spherical",
        "universal",
        "weld",
    ),
    "model.law": ("law",),
    "model.system": ("System",),
    "relative.loop.closed": ("ClosedMechanism",),
    "relative.mechanism": ("Mechanism",),
    "relative.parameter.identifiability": ("Identifiability", "identify"),
    "screw.shape": ("Box", "Capsule", "Cylinder", "Ellipsoid", "Mesh", "Sphere"),
    "simulation.mobility": ("mobility",),
    "certificate.judge": ("certify",),
    "certificate.verdict": ("Certificate",),
    "simulation.equilibrium": ("equilibrium",),
    "simulation.linearize": ("Linearization", "linearize"),
    "simulation.run": ("Run",),
    "simulation.sensitivities": ("Sensitivities", "sensitivities"),
    "simulation.simulate": ("simulate",),
    "simulation.start_values": ("StartChangedWarning",),
    "simulation.stepping": ("Simulation",),
    "study.compare": ("compare",),
    "study.comparison": ("Comparison",),
    "transition.descriptor": ("descriptor",),
    "transition.local_model": ("LocalModel", "solve_locally"),
    "transition.mujoco_model": ("MujocoProblem",),
    "transition.pinocchio_model": ("PinocchioProblem",),
    "transition.problem": ("LGTProblem",),
    "transition.second_order": ("second_order",),
    "view.page": ("show",),
    "view.plot": ("plot",),
    "view.plot_work": ("work_precision",),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_MODULES = ("gallery", "lie", "screw")


_provide(  # what objects of a low layer ask of higher ones: see `chasles.registry`
    {
        "compile joints": "chasles.relative.loop.closed:compiled",
        "compile bodies": "chasles.absolute.mechanism:AbsoluteMechanism",
        "mobility": "chasles.simulation.mobility:mobility",
        "certificate": "chasles.certificate.judge:certificate_of",
        "recorder": "chasles.io.result.writer:ResultWriter.start",
        "save": "chasles.io.result.writer:save_run",
        "export": "chasles.io.result.export:export",
        "pandas": "chasles.io.result.export:to_pandas",
        "xarray": "chasles.io.result.export:to_xarray",
        "preview": "chasles.view.data:look_text",
        "hull": "chasles.view.data:hull_of",
        "plot": "chasles.view.plot:plot",
        "picture": "chasles.view.picture:picture",
        "animate": "chasles.view.animation:animate",
        "save page": "chasles.view.page:save_page",
        "show": "chasles.view.page:show",
        "report": "chasles.view.report:report",
    }
)


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"chasles.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"chasles.{_HOME[name]}"), name)
    raise AttributeError(f"module 'chasles' has no attribute {name!r}")


def __dir__():
    return ["__version__", *_MODULES, *_HOME]
