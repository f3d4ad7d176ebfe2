"""Whatever a user can hold is pickled and copied: every public class of the package."""

import copy
import inspect
import pickle
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.constrained_method import CONSTRAINED_METHODS
from chasles.integrate.space import CHARTS, KINDS
from chasles.integrate.tableau import TABLEAUX
from chasles.integrate.vector_field import Field
from chasles.model.law import Law, PythonLaw
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from tests.io import result_models as models
from tests.simulation import systems, work


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@ch.integrate.field
def turning(t, y, p, out):
    out[0], out[1], out[2] = p[0], y[0], 0.0


@ch.integrate.field(lanes=True)
def model(t, y, p, out):
    for k in range(6):
        out[k] = -p[0] * y[7 + k]


def plain(t, y, p):
    return np.array([0.0, 0.0, p[0]])


def other_name(t, pose, twist, parameters, out):
    out[0] = parameters[0]


RENAMED = ch.law(other_name)


def rhs(t, z):
    return np.concatenate([z[7:], np.zeros(7)])


def flow(x, y):
    return y + x


def alike(one, two):
    """Whether two objects hold the same: numbers to the bit, functions by identity."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == two.dtype and np.array_equal(one, two, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Law | Field) or inspect.isroutine(one) or isinstance(one, type):
        return one is two or (isinstance(one, Law | Field) and alike(one.function, two.function))
    if isinstance(one, dict):
        return list(one) == list(two) and all(alike(one[k], two[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(two) and all(map(alike, one, two))
    if isinstance(one, Mechanism | ClosedMechanism | AbsoluteMechanism):  # they are built again
        return alike(one.system, two.system)
    if is_dataclass(one):
        return all(alike(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    if isinstance(one, ch.System | ch.integrate.Space | int | float | str | bytes | None | slice):
        return one == two or repr(one) == repr(two)
    return alike(vars(one), vars(two))


def objects():
    """One or more of every public class."""
    system, arm = models.arm(models.AIR), work.arm()
    run = ch.simulate(system, (0, 0.01), v=models.V, step=1e-3, events=models.EVENTS, progress=False)
    problem, both, top = ch.transition.LGTProblem(model, parameters=[0.5]), ("upper", "lower"), ch.integrate.Space("s3")
    _ = problem.ode  # which is kept, with an address
    return [
        *(RENAMED, models.drag, turning, model),
        *(system, *system.bodies, *system.joints, *system.frames, *system.forces, *arm.forces, *arm.actuators),
        *(
            ch.Spring("s", both, stiffness=3.0),
            ch.Bushing("m", both, stiffness=np.eye(6)),
            ch.TwoPointForce("p", both, "-3 * speed"),
            ch.Coupling("c", ("a", "b"), (2.0, 1.0)),
            ch.Cam("cam", ("a", "b"), [(0.1, 0.0), (0.0, 0.1), (-0.1, 0.0), (0.0, -0.1)]),
            ch.Drive("d", "elbow", 0.5),
        ),
        *(ch.Distance("e", both), ch.PointOnLine("f", both), ch.PointOnPlane("g", both), ch.Rolling("h", both, 0.3)),
        *(
            ch.CustomConstraint("i", both, other_name),
            ch.shapes.Mesh("part.stl"),
            ch.shapes.Sphere(1.0),
            ch.shapes.Ellipsoid((1, 2, 3)),
        ),
        *(ch.shapes.Box((1, 1, 1)), ch.shapes.Capsule(0.1, 1), ch.shapes.Cylinder(0.1, 1), *models.EVENTS),
        *(run, run.solution, run.certificate, run.mechanism, run["hand"], run.joint("elbow"), run.energies),
        *(
            ch.Simulation(system, 1e-3),
            ch.BatchSimulation(systems.arm(), 1e-3, 2),
            ch.Rod(
                "rod", ch.rods.Line((0, 0, 0), (1, 0, 0)), ch.rods.Circle(0.01), ch.rods.Material(2e11, 0.3, 7800.0)
            ),
            ch.results.Comparison("x", (0, 1), ("a",), (), 0.0),
            ch.io.ImportReport("a.urdf", "URDF"),
        ),
        *(ch.integrate.RKMK(name) for name in TABLEAUX),
        *(
            ch.integrate.CommutatorFree("cf4"),
            ch.integrate.CrouchGrossman("cg3"),
            *(kind() for kind in CONSTRAINED_METHODS),
        ),
        *(
            ch.integrate.Gauss(2),
            ch.integrate.LieMidpoint(),
            ch.integrate.SymplecticTheta(0.5),
            ch.integrate.LieVerlet(),
            ch.integrate.Magnus(4),
            ch.integrate.Composition(),
        ),
        *(
            ch.integrate.LiePoissonMidpoint(),
            ch.integrate.MoserVeselov(),
            ch.integrate.CommutatorFreeMagnus(),
            TABLEAUX["rk4"],
        ),
        *(ch.integrate.Space(name) for name in (*KINDS, *CHARTS)),
        *(
            ch.integrate.Space("pose", 2, "r3", side="right"),
            ch.integrate.MatrixGroup([[[0, 1], [-1, 0]]]),
            ch.integrate.FrameSpace(flow, 2),
        ),
        *(ch.integrate.LieODE(top, turning, [1.0]), ch.integrate.LieODE(top, plain, [1.0]), problem, problem.ode),
        *(
            ch.transition.second_order(rhs)[0],
            ch.transition.LGTProblem(work.slows),
            ch.integrate.RigidBodyOnSO3((1.0, 2.0, 3.0), plain),
        ),
        *(
            ch.integrate.HamiltonianOnSO3(plain),
            ch.integrate.LiePoisson(ch.integrate.Space("so3*"), plain),
            ch.integrate.LinearODE(np.sin),
        ),
        *(ch.transition.LocalModel(problem, [1.0, *[0.0] * 12]), ch.load(ch.gallery.model_files()["heavy_top"])),
        *(arm.compile(), arm.compile("absolute"), work.linkage().compile(cut="C")),
    ]


@pytest.fixture(scope="module")
def every():
    return objects()


# which need other packages, and dataclasses of numbers that take long to compute
ELSEWHERE = {"MujocoProblem", "PinocchioProblem", "Identifiability", "Linearization", "Sensitivities"}
# which are built again, so that their parts are others: `test_processes` computes with them
BUILT = (
    "Mechanism",
    "ClosedMechanism",
    "AbsoluteMechanism",
    "Run",
    "FrameMotion",
    "JointMotion",
    "Simulation",
    "BatchSimulation",
)


def test_objects_are_pickled_and_copied(every):
    for one in every:
        for way in (pickled, copy.deepcopy, copy.copy):
            again = way(one)
            assert type(again) is type(one)
            if type(one).__name__ == "LGTField":
                assert alike(again.parameters, one.parameters)  # here the address is the same
            elif type(one).__name__ not in BUILT:
                assert alike(again, one), one


def test_no_public_class_is_forgotten(every):
    public = {name for name in dir(ch) if isinstance(getattr(ch, name), type)}
    errors = {name for name in public if issubclass(getattr(ch, name), BaseException)}  # tests/quality/test_errors.py
    assert public - errors - ELSEWHERE == {type(one).__name__ for one in every} & public


@pytest.mark.parametrize("decorate", [ch.law, ch.integrate.field, PythonLaw])
def test_a_function_that_is_not_found_again_is_refused(decorate):
    def law(t, x, y, p, out):
        out[0] = 0.0

    def field(t, y, p, out):
        out[0] = 0.0

    short, long = (field, lambda t, y, p, out: None), (law, lambda t, x, y, p, out: None)
    for function in short if decorate is ch.integrate.field else long:
        made = decorate(function)
        what = "field" if isinstance(made, Field) else "law"
        with pytest.raises(
            pickle.PicklingError, match=rf"the {what} '.*' cannot be pickled.*Define it with `def` at the"
        ):
            pickle.dumps(made)
        assert copy.deepcopy(made) is copy.copy(made) is made  # within a process it is found


def test_laws_are_found_by_name_or_made_again():
    assert pickled(models.drag) is models.drag  # the decorator put it in the place of the function
    again = pickled(RENAMED)
    assert type(again) is Law
    assert again.function is other_name
    own = ch.JointForce("a", "elbow", work.slows).value
    assert type(pickled(own)) is PythonLaw
    assert pickled(own).function is work.slows
    own.__name__ = "renamed"  # by which files know it
    assert pickled(own).__name__ == "renamed"


def test_solution_is_a_curve_elsewhere():
    solution = ch.integrate.solve(
        ch.integrate.LieODE(ch.integrate.Space("s2"), plain, [1.0]),
        ch.integrate.RKMK("rk4"),
        (0, 1),
        [1.0, 0, 0],
        step=0.1,
    )
    np.testing.assert_array_equal(pickled(solution)([0.33, 0.77]), solution([0.33, 0.77]))
