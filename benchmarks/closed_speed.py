"""Closed loops by every installed peer: 40 four-bars in a row (IFToMM A02) and a Stewart platform.

    python -m benchmarks.closed_speed

Against Pinocchio's constrained dynamics and MuJoCo, whose constraints are soft: accelerations of one state, one call
from Python, in joint coordinates.
Against Exudyn: steps of generalized alpha in absolute coordinates; the four-bars have planar bodies there, its best.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import exudyn_settings
from benchmarks.implicit_speed import DEFAULT
from benchmarks.long_chain_speed import spent
from chasles.constrained.run import ConstrainedStepper
from chasles.integrate.options import Options
from chasles.lie import rotation, so3
from chasles.simulation.bodies.dynamics import BodyDynamics

LOOPS, TILT, STEP, STEPS, GRAVITY = 40, np.pi / 3, 1e-3, 200, 9.81
LINK = (1e-3, 1 / 12, 1 / 12)
Z = (0.0, 0.0, 1.0)
LEG, TOP = (0.5, (0.02, 0.02, 1e-3)), (5.0, (0.2, 0.2, 0.4))
LENGTH = 0.4  # of the lower half of a leg, and of the upper one
AGREEMENT = 1e-6  # of accelerations; positions after steps of order 2: 1e-3 m

Call = Callable[[], np.ndarray]
Pair = tuple[Callable[[], float], Callable[[], float]]


# ---------------------------------------------------------------- systems


def four_bars(loops: int = LOOPS) -> ch.System:
    """Posts and rails of 1 m and 1 kg; closed by points on lines, so that no equation is redundant."""
    names = [f"post {k}" for k in range(loops + 1)] + [f"rail {k}" for k in range(loops)]
    joints = [ch.revolute(f"post {k}", "ground", f"post {k}", axis=Z, at=(float(k), 0, 0)) for k in range(loops + 1)]
    joints += [ch.revolute(f"rail {k}", f"post {k}", f"rail {k}", axis=Z, at=(1.0, 0, 0)) for k in range(loops)]
    tip = (1.0, 0.0, 0.0)
    closed = [ch.PointOnLine(f"end {k}", (f"rail {k}", f"post {k + 1}"), (tip, tip), Z) for k in range(loops)]
    bodies = [ch.Body(name, 1.0, (0.5, 0.0, 0.0), LINK) for name in names]
    return ch.System(bodies, joints, constraints=closed, gravity=(0.0, -GRAVITY, 0.0))


def four_bar_angles(mechanism: Any) -> np.ndarray:
    q = np.zeros(mechanism.nq)
    for name, at in mechanism.tree.coordinates.items():
        q[at] = TILT if name.startswith("post") else -TILT
    return q


def corners(radius: float, turn: float) -> np.ndarray:
    angles = np.repeat(np.arange(3) * 2 * np.pi / 3, 2) + np.tile([-turn, turn], 3)
    return radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)


BASE, RIM = corners(0.6, 0.2), corners(0.4, 0.85)
CENTER = np.array([0.03, -0.02, 0.75])  # of the platform, which is level


def legs() -> np.ndarray:
    """Of each leg the two angles at its foot and its extension: Rx(a) Ry(b) (0, 0, length) reaches the rim."""
    d = CENTER + RIM - BASE
    size = np.linalg.norm(d, axis=1)
    return np.stack([np.arctan2(-d[:, 1], d[:, 2]), np.arcsin(d[:, 0] / size), size - LENGTH], axis=1)


def stewart() -> ch.System:
    """Six legs of universal, prismatic and spherical joints under a platform."""
    middle = (0.0, 0.0, LENGTH / 2)
    bodies = [ch.Body("platform", *_with_center(TOP, (0.0, 0.0, 0.0)))]
    joints = []
    for k in range(6):
        bodies += [ch.Body(f"lower {k}", *_with_center(LEG, middle)), ch.Body(f"upper {k}", *_with_center(LEG, middle))]
        joints += [
            ch.universal(f"foot {k}", "ground", f"lower {k}", at=tuple(BASE[k])),
            ch.prismatic(f"slide {k}", f"lower {k}", f"upper {k}", axis=Z),
        ]
    joints += [
        ch.spherical(f"ball {k}", f"upper {k}", "platform", at=(0.0, 0.0, LENGTH), child_at=tuple(RIM[k]))
        for k in range(6)
    ]
    return ch.System(bodies, joints, gravity=(0.0, 0.0, -GRAVITY))


def _with_center(body: tuple[float, tuple[float, float, float]], center: tuple[float, ...]) -> tuple[Any, Any, Any]:
    return body[0], center, body[1]


def stewart_coordinates(mechanism: Any) -> np.ndarray:
    """The legs as they are, and the ball that the platform hangs on so that the platform is level."""
    q, values = mechanism.neutral(), legs()
    for k in range(6):
        q[mechanism.tree.coordinates[f"foot {k}"]] = values[k, :2]
        q[mechanism.tree.coordinates[f"slide {k}"]] = values[k, 2]
    return mechanism.assemble(q, held=[f"{what} {k}" for what in ("foot", "slide") for k in range(6)])


# ---------------------------------------------------------------- accelerations of one state, against Pinocchio


def _pin_body(pin: Any, body: tuple[float, Any], center: Any) -> Any:
    return pin.Inertia(body[0], np.array(center), np.diag(body[1]))


def _pin_call(pin: Any, model: Any, closures: list[Any], q: np.ndarray) -> Call:
    """Joints must be added branch by branch: Pinocchio takes a subtree for consecutive columns."""
    models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for one in closures:
        models.append(one)
        datas.append(one.createData())
    data, rest = model.createData(), np.zeros(model.nv)
    pin.initConstraintDynamics(model, data, models, datas)
    how = pin.ProximalSettings(1e-12, 1e-10, 10)
    return lambda: pin.constraintDynamics(model, data, q, rest, rest, models, datas, how)


def pinocchio_four_bars() -> tuple[Call, list[str]]:
    import pinocchio as pin

    model, tip = pin.Model(), pin.SE3(np.eye(3), np.array([1.0, 0.0, 0.0]))
    model.gravity.linear = np.array([0.0, -GRAVITY, 0.0])
    numbers = {}
    for k in range(LOOPS + 1):
        at = pin.SE3(np.eye(3), np.array([float(k), 0.0, 0.0]))
        numbers["post", k] = model.addJoint(0, pin.JointModelRZ(), at, f"post {k}")
        if k < LOOPS:
            numbers["rail", k] = model.addJoint(numbers["post", k], pin.JointModelRZ(), tip, f"rail {k}")
    for number in numbers.values():
        model.appendBodyToJoint(number, _pin_body(pin, (1.0, LINK), [0.5, 0.0, 0.0]), pin.SE3.Identity())
    point, local = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
    closures = [
        pin.RigidConstraintModel(point, model, numbers["rail", k], tip, numbers["post", k + 1], tip, local)
        for k in range(LOOPS)
    ]
    names = list(model.names)[1:]
    q = np.array([TILT if name.startswith("post") else -TILT for name in names])
    return _pin_call(pin, model, closures, q), names


def pinocchio_stewart() -> tuple[Call, list[str]]:
    """The platform hangs on the first leg; five points close the loops."""
    import pinocchio as pin

    def shift(p: Any) -> Any:
        return pin.SE3(np.eye(3), np.array(p, dtype=float))

    model, middle, end = pin.Model(), [0.0, 0.0, LENGTH / 2], shift([0.0, 0.0, LENGTH])
    model.gravity.linear = np.array([0.0, 0.0, -GRAVITY])
    uppers, names, platform = [], [], 0
    q: list[float] = []
    for k, (a, b, out) in enumerate(legs()):
        first = model.addJoint(0, pin.JointModelRX(), shift(BASE[k]), f"x {k}")
        lower = model.addJoint(first, pin.JointModelRY(), pin.SE3.Identity(), f"y {k}")
        upper = model.addJoint(lower, pin.JointModelPZ(), pin.SE3.Identity(), f"slide {k}")
        for number in (lower, upper):
            model.appendBodyToJoint(number, _pin_body(pin, LEG, middle), pin.SE3.Identity())
        uppers.append(upper)
        q += [a, b, out]
        names += [f"x {k}", f"y {k}", f"slide {k}"]
        if k == 0:
            platform = model.addJoint(upper, pin.JointModelSpherical(), end, "ball 0")
            model.appendBodyToJoint(platform, _pin_body(pin, TOP, -RIM[0]), pin.SE3.Identity())
            back = pin.rpy.rpyToMatrix(0.0, -b, 0.0) @ pin.rpy.rpyToMatrix(-a, 0.0, 0.0)
            q += list(pin.Quaternion(back).coeffs())
            names += ["ball"] * 3
    point, local = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
    closures = [
        pin.RigidConstraintModel(point, model, uppers[k], end, platform, shift(RIM[k] - RIM[0]), local)
        for k in range(1, 6)
    ]
    return _pin_call(pin, model, closures, np.array(q)), names


def against_pinocchio() -> dict[str, Pair]:
    return against(pinocchio_four_bars, pinocchio_stewart, AGREEMENT)


def against(linkage: Callable[[], Any], platform: Callable[[], Any], agreement: float) -> dict[str, Pair]:
    """Calls of one state by us and by a peer whose accelerations agree: of hinges and slides."""
    found: dict[str, Pair] = {}
    for name, system, coordinates, other in (
        (f"{LOOPS} four-bars", four_bars(), four_bar_angles, linkage),
        ("Stewart platform", stewart(), stewart_coordinates, platform),
    ):
        mechanism = system.compile()
        q, rest = coordinates(mechanism), np.zeros(mechanism.nv)
        call, names = other()
        ours, theirs = mechanism.forward_dynamics(q, rest, rest), call()
        kept = [k for k, one in enumerate(names) if one.split()[0] in ("post", "rail", "slide")]
        expected = np.array([ours[mechanism.tree.velocities[names[k]]][0] for k in kept])
        off = np.abs(theirs[kept] - expected).max() / np.abs(expected).max()
        assert off < agreement, f"{name}: accelerations differ by {off:.1e}"

        def own(mechanism: Any = mechanism, q: np.ndarray = q, rest: np.ndarray = rest) -> np.ndarray:
            return mechanism.forward_dynamics(q, rest, rest)

        found[name] = partial(spent, own), partial(spent, call)
    return found


# ---------------------------------------------------------------- accelerations of one state, against MuJoCo

SOFT = 1e-2  # of accelerations: MuJoCo's constraints give way by a ten-thousandth of the force, its hardest
HARD = 'solimp="0.9999 0.9999 0.001 0.5 2" solref="0.002 1"'


def _mujoco_call(text: str, q: np.ndarray) -> tuple[Call, list[str]]:
    import mujoco as mj

    model = mj.MjModel.from_xml_string(text)
    data = mj.MjData(model)
    data.qpos[:] = q
    names = [model.joint(k).name for k in range(model.njnt) for _ in range(3 if model.jnt_type[k] == 1 else 1)]

    def call() -> np.ndarray:
        mj.mj_forward(model, data)
        return np.array(data.qacc)

    return call, names


def _mujoco_text(gravity: str, bodies: str, pairs: list[tuple[str, str]]) -> str:
    held = "".join(f'<connect site1="{a}" site2="{b}" {HARD}/>' for a, b in pairs)
    options = f'<option gravity="{gravity}" jacobian="auto"><flag contact="disable"/></option>'
    angles = '<compiler angle="radian" inertiafromgeom="false"/>'
    return f"<mujoco>{angles}{options}<worldbody>{bodies}</worldbody><equality>{held}</equality></mujoco>"


def _inertial(body: tuple[float, Any], center: Any) -> str:
    place, moments = (" ".join(map(repr, map(float, x))) for x in (center, body[1]))
    return f'<inertial pos="{place}" mass="{body[0]}" diaginertia="{moments}"/>'


def mujoco_four_bars() -> tuple[Call, list[str]]:
    link, text = _inertial((1.0, LINK), (0.5, 0.0, 0.0)), ""
    for k in range(LOOPS + 1):
        rail = (
            f'<body pos="1 0 0"><joint name="rail {k}" axis="0 0 1"/>{link}<site name="rail {k}" pos="1 0 0"/></body>'
        )
        post = f'<joint name="post {k}" axis="0 0 1"/>{link}<site name="post {k}" pos="1 0 0"/>'
        text += f'<body pos="{k} 0 0">{post}{rail if k < LOOPS else ""}</body>'
    pairs = [(f"rail {k}", f"post {k + 1}") for k in range(LOOPS)]
    q = [sign * TILT for k in range(LOOPS + 1) for sign in ((1, -1) if k < LOOPS else (1,))]
    return _mujoco_call(_mujoco_text(f"0 {-GRAVITY} 0", text, pairs), np.array(q))


def mujoco_stewart() -> tuple[Call, list[str]]:
    """The platform hangs on the first leg; five points close the loops."""
    leg, text, q = _inertial(LEG, (0.0, 0.0, LENGTH / 2)), "", []
    sites = "".join(_site(f"rim {k}", RIM[k] - RIM[0]) for k in range(1, 6))
    for k, (a, b, out) in enumerate(legs()):
        inner = _site(f"top {k}", (0.0, 0.0, LENGTH))
        q += [a, b, out]
        if k == 0:
            ball = f'<joint name="ball" type="ball"/>{_inertial(TOP, -RIM[0])}{sites}'
            inner += f'<body pos="0 0 {LENGTH}">{ball}</body>'
            q += list(rotation.matrix_to_quaternion(so3.exp(np.array([0.0, -b, 0.0])) @ so3.exp(np.array([-a, 0, 0]))))
        upper = f'<body><joint name="slide {k}" type="slide" axis="0 0 1"/>{leg}{inner}</body>'
        foot = f'<joint name="x {k}" axis="1 0 0"/><joint name="y {k}" axis="0 1 0"/>'
        text += f'<body pos="{" ".join(map(repr, map(float, BASE[k])))}">{foot}{leg}{upper}</body>'
    pairs = [(f"top {k}", f"rim {k}") for k in range(1, 6)]
    return _mujoco_call(_mujoco_text(f"0 0 {-GRAVITY}", text, pairs), np.array(q))


def _site(name: str, place: Any) -> str:
    return f'<site name="{name}" pos="{" ".join(map(repr, map(float, place)))}"/>'


def against_mujoco() -> dict[str, Pair]:
    return against(mujoco_four_bars, mujoco_stewart, SOFT)


# ---------------------------------------------------------------- steps, against Exudyn


def stepper(system: ch.System, coordinates: Callable[[Any], np.ndarray]) -> ConstrainedStepper:
    mechanism = system.compile()
    q = coordinates(mechanism)
    dynamics = BodyDynamics(system, "SO3xR3", projected=True)
    state = dynamics.start(0.0, None, None, mechanism.poses(q), np.zeros((len(system.bodies), 6)), False)
    return ConstrainedStepper(dynamics, DEFAULT, (0.0, 1e3), state, Options(step=STEP, save="final"))


def center(run: ConstrainedStepper, body: str) -> np.ndarray:
    """Where the center of mass of a body is: runs have the bodies' poses there."""
    return run.problem.split(run.point())[0][run.problem.mechanism.bodies.index(body), 4:7]


def exudyn_four_bars(steps: int = STEPS) -> tuple[float, np.ndarray]:
    """Time of a step and the center of the last post."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
    c, s = np.cos(TILT), np.sin(TILT)

    def link(x: float, y: float, angle: float) -> tuple[int, int]:
        node = system.AddNode(items.NodeRigidBody2D(referenceCoordinates=[x, y, angle]))
        body = system.AddObject(items.ObjectRigidBody2D(mass=1.0, inertia=1 / 12, nodeNumber=node))
        marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -GRAVITY, 0]))
        return node, body

    def pin(a: int, at: list[float], b: int, there: list[float]) -> None:
        markers = [
            system.AddMarker(items.MarkerBodyPosition(bodyNumber=n, localPosition=p)) for n, p in ((a, at), (b, there))
        ]
        system.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))

    posts = [link(k + c / 2, s / 2, TILT) for k in range(LOOPS + 1)]
    for k, (_, body) in enumerate(posts):
        pin(ground, [float(k), 0.0, 0.0], body, [-0.5, 0.0, 0.0])
    for k in range(LOOPS):
        _, rail = link(k + c + 0.5, s, 0.0)
        pin(posts[k][1], [0.5, 0.0, 0.0], rail, [-0.5, 0.0, 0.0])
        pin(rail, [0.5, 0.0, 0.0], posts[k + 1][1], [0.5, 0.0, 0.0])
    system.Assemble()
    settings = exudyn_settings(steps, steps * STEP, 0.8)
    settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    spent_time = (time.process_time() - began) / steps
    place = system.GetNodeOutput(posts[-1][0], exu.OutputVariableType.Position)
    return spent_time, np.array(place)


def exudyn_stewart(steps: int = STEPS) -> tuple[float, np.ndarray]:
    """Time of a step and the platform's place."""
    import exudyn as exu
    from exudyn import itemInterface as items  # noqa: N813

    container = exu.SystemContainer()
    system = container.AddSystem()
    ground = system.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))

    def rigid(body: tuple[float, Any], center: np.ndarray, turn: np.ndarray) -> tuple[int, int]:
        node = system.AddNode(
            items.NodeRigidBodyRotVecLG(referenceCoordinates=[*center, *turn], initialVelocities=[0.0] * 6)
        )
        number = system.AddObject(
            items.ObjectRigidBody(nodeNumber=node, mass=body[0], inertia=[*body[1], 0, 0, 0], centerOfMass=[0, 0, 0])
        )
        marker = system.AddMarker(items.MarkerBodyMass(bodyNumber=number))
        system.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, 0, -GRAVITY]))
        return node, number

    def joint(a: int, at: Any, b: int, there: Any, held: list[int]) -> None:
        markers = [
            system.AddMarker(items.MarkerBodyRigid(bodyNumber=n, localPosition=list(p)))
            for n, p in ((a, at), (b, there))
        ]
        system.AddObject(items.ObjectJointGeneric(markerNumbers=markers, constrainedAxes=held))

    node, platform = rigid(TOP, CENTER, np.zeros(3))
    half = [0.0, 0.0, LENGTH / 2]
    for k, (a, b, out) in enumerate(legs()):
        R = so3.exp(np.array([a, 0.0, 0.0])) @ so3.exp(np.array([0.0, b, 0.0]))
        turn = so3.log(R)
        lower = rigid(LEG, BASE[k] + R @ np.array(half), turn)[1]
        upper = rigid(LEG, BASE[k] + R @ np.array([0.0, 0.0, LENGTH / 2 + out]), turn)[1]
        joint(ground, BASE[k], lower, [0.0, 0.0, -LENGTH / 2], [1, 1, 1, 0, 0, 1])
        joint(lower, [0.0, 0.0, 0.0], upper, [0.0, 0.0, 0.0], [1, 1, 0, 1, 1, 1])
        joint(upper, half, platform, RIM[k], [1, 1, 1, 0, 0, 0])
    system.Assemble()
    settings = exudyn_settings(steps, steps * STEP, 0.8)
    began = time.process_time()
    if not system.SolveDynamic(settings):
        raise RuntimeError("Exudyn did not finish")
    spent_time = (time.process_time() - began) / steps
    return spent_time, np.array(system.GetNodeOutput(node, exu.OutputVariableType.Position))


def time_of(run: Callable[[], tuple[float, np.ndarray]]) -> float:
    return run()[0]


def against_exudyn() -> dict[str, Pair]:
    sys.exudynFast = True  # type: ignore[attr-defined]
    found: dict[str, Pair] = {}
    for name, system, coordinates, body, other in (
        (f"{LOOPS} four-bars", four_bars(), four_bar_angles, f"post {LOOPS}", exudyn_four_bars),
        ("Stewart platform", stewart(), stewart_coordinates, "platform", exudyn_stewart),
    ):
        run = stepper(system, coordinates)
        run.advance(STEPS)
        ours, theirs = center(run, body), other()[1]
        off = float(np.abs(ours - theirs).max())
        assert off < 1e-3, f"{name}: {ours}, Exudyn {theirs}"

        def own(system: ch.System = system, coordinates: Any = coordinates) -> float:
            """The same steps as theirs: a little later all rods are on one line, a singular configuration."""
            times = []
            for _ in range(3):
                run = stepper(system, coordinates)
                began = time.process_time()
                run.advance(STEPS)
                times.append(time.process_time() - began)
            return min(times) / STEPS

        found[name] = own, partial(time_of, other)
    return found


def rows() -> Iterator[tuple[str, str, float, float]]:
    """Work, peer, our time and theirs [s]."""
    for peer, pairs in (("Pinocchio", against_pinocchio()), ("Exudyn", against_exudyn())):
        what = "accelerations, one call" if peer == "Pinocchio" else "a step of generalized alpha"
        for name, (ours, theirs) in pairs.items():
            yield f"{name}: {what}", peer, ours(), theirs()


def main() -> None:
    for name, peer, ours, theirs in rows():
        print(f"{name}: {1e6 * ours:.1f} µs, {peer} {1e6 * theirs:.1f} µs, ratio {theirs / ours:.1f}", flush=True)


if __name__ == "__main__":
    main()
