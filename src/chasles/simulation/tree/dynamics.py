"""A system in joint coordinates as a problem for the integrators."""

from __future__ import annotations

from copy import copy
from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.space import SE3_NAME, SO3XR3_NAME, SPACE_NAMES
from chasles.cached import cached_property
from chasles.integrate.event import Shown
from chasles.integrate.solution import Solution
from chasles.integrate.space import Space
from chasles.kernel.undisturbed import Calling
from chasles.model.scale import energy_of, length_of
from chasles.model.system import System
from chasles.relative.determined import require_determined
from chasles.relative.free_velocity import FreeVelocities
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import FREE, HELICAL, LINK, SPHERICAL, link_table
from chasles.relative.tree import lock
from chasles.relative.velocity_scale import sizes_of_velocities
from chasles.simulation.actuation import Actuation
from chasles.simulation.nonsmooth.joint_view import JointView
from chasles.simulation.nonsmooth.loaded_friction import Loads
from chasles.simulation.nonsmooth.set_valued import Loading, refuse_sticking
from chasles.simulation.nonsmooth.transitions import Transitions
from chasles.simulation.problem import Motion
from chasles.simulation.start.held import Wanted
from chasles.simulation.start.values import StartChange, Values, by_name
from chasles.simulation.tree import dependent_motion
from chasles.simulation.tree.motion import PART, free_tree_motion, parameters, seen, tree_motion
from chasles.simulation.tree.quantities import TreeQuantities


class TreeDynamics(JointView):
    """The motion of a tree on its space: y = (q, w, work), velocities acting from the right (body velocities).

    space: that of free joints. On "SO3xR3" their positions move by themselves, and w has the velocities of these in
    place of those along the axes of the body (`relative.free_velocity`): however far and fast a body goes, its rotation
    does not notice. On "SE3", where poses move along screws, w is v. `state` makes y of q and v, `split` takes it
    apart.
    """

    quantities: type[TreeQuantities] = TreeQuantities  # what is shown of a motion
    mechanism: Mechanism | ClosedMechanism
    start_changes: tuple[StartChange, ...] = ()  # what assembly made of the values that were given

    loading: Loading | None = None  # friction that depends on loads, of a piece of a run

    corrected = False  # whether each step ends on constraints
    chooses_rows = False  # whether a projection chooses which of dependent rows the next step solves
    numbers_at = PART.numbers  # where the parameters say where the numbers of the tree are
    input_between = PART.control, PART.work  # and where the input begins and ends
    seen = staticmethod(seen)

    def __init__(self, system: System | Mechanism, space: str = SO3XR3_NAME):
        self.mechanism = mechanism = system if isinstance(system, Mechanism) else Mechanism(system)
        self.nq, self.nv = mechanism.nq, mechanism.nv
        self.choose(space)
        self.pack()

    def pack(self) -> None:
        """Make the parameters, and find where in them the input is."""
        self.parameters = self.packed()
        integers = self.parameters.view(np.int64)
        first, end = self.input_between
        self.control = slice(int(integers[first]), int(integers[end]))

    def choose(self, space: str) -> None:
        """Take a space for the free joints."""
        if space not in SPACE_NAMES:
            raise ValueError(f'space {space!r} of free joints; expected "SO3xR3" or "SE3"')
        self.space_of_free = space
        velocities = FreeVelocities(self.mechanism.tree.independent)
        self.free = velocities if velocities.count and space == SO3XR3_NAME else None
        self.space = tree_space(self.mechanism.tree.independent, self.nv, on_se3=space == SE3_NAME)

    def packed(self) -> np.ndarray:
        """The parameters of the problem, without an input."""
        assert isinstance(self.mechanism, Mechanism)
        make = parameters if self.mechanism.tree.dependence is None else dependent_motion.parameters
        return make(self.mechanism, self.free is not None)

    def with_springs(self) -> Self:
        """The same motion, of a mechanism whose joints have places for springs and dampers even if none has any."""
        own, found = self.mechanism, object.__new__(type(self))
        cut = own.cut if isinstance(own, ClosedMechanism) else ()
        found.__dict__.update(vars(self))
        found.mechanism = compiled(own.system, cut, threads=own.tables.threads, sprung=True)
        found.pack()
        return found

    def __getstate__(self) -> dict[str, Any]:
        # the parameters hold addresses of this process
        return {name: value for name, value in vars(self).items() if name != "parameters"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.parameters = self.packed()

    @cached_property
    def set_valued(self) -> Transitions | None:
        """Friction that sticks and rigid limits, if there are any."""
        known = {joint.name for joint in self.mechanism.tree.all_joints}
        for joint in self.mechanism.system.joints:
            if (joint.may_lock or joint.is_loaded) and joint.name not in known:
                what, smooth = "rigid limits (restitution)", "stop_stiffness instead"
                if joint.is_loaded:
                    what, smooth = "a friction_coefficient", "friction [N or N m] instead"
                elif joint.sticks:
                    what, smooth = "stick-slip friction", "a positive friction_speed for a smooth law"
                raise ValueError(
                    f"simulate: joint {joint.name!r}, which is cut to open a loop, has {what}; cut another one, "
                    f"system.compile(cut=[...]), or set {smooth}"
                )
        system, tree = self.mechanism.system, self.mechanism.tree
        if tree.dependence is not None and (loaded := [j.name for j in tree.all_joints if j.is_loaded]):
            raise ValueError(
                f"simulate: joint {loaded[0]!r} has a friction_coefficient, which is not supported where joints "
                "mimic others; set friction [N or N m] instead"
            )
        weight = sum(body.mass for body in system.bodies) * float(np.linalg.norm(system.gravity))
        energy, length = energy_of(system) + weight * length_of(system), length_of(system)
        pace = np.sqrt(energy / (sum(body.mass for body in system.bodies) or 1.0)) / (length or 1.0)
        return Transitions.of(tree.joints, tree, self.velocity_sizes, energy, float(pace))

    @cached_property
    def loads(self) -> Loads | None:
        """What joints carry whose friction depends on it, if there are any."""
        own = self.set_valued
        loaded = own is not None and any(joint.is_loaded for joint in self.mechanism.tree.joints)
        return Loads(self.mechanism, own.names) if own is not None and loaded else None

    def impulse_response(self, q: np.ndarray, t: float, columns: np.ndarray) -> np.ndarray:
        """What unit impulses along velocities change all velocities by, (nv, columns)."""
        return np.linalg.solve(self.mechanism.mass_matrix(q), np.eye(self.nv)[:, columns])

    def locked(self, columns: tuple[int, ...], q: np.ndarray, t: float) -> TreeDynamics:
        """The same with some velocities locked where they are: rotors of infinite inertia on them."""
        found = copy(self)
        found.set_valued, found.parameters = None, self.parameters.copy()
        first, tree = int(found.parameters.view(np.int64)[self.numbers_at]), self.mechanism.tree
        lock(tree.topology, found.parameters[first : first + len(tree.numbers)], tree.rotors(columns))
        return found

    def _sticks_not(self) -> None:
        """What sticks is known to `simulate` alone."""
        if self.set_valued is not None:
            refuse_sticking("Simulation", self.mechanism.system)

    def problem(self, u: ArrayLike | None = None) -> Motion:
        """The problem under constant generalized forces u (nv)."""
        self._sticks_not()
        p = self.parameters.copy()
        if u is not None:
            p[self.control] = u
        motion = free_tree_motion if self.free else tree_motion
        if self.mechanism.tree.dependence is not None:
            motion = dependent_motion.free_dependent_motion if self.free else dependent_motion.dependent_motion
        return self._with_loads(Motion(self.space, motion, p, dynamics=self, u=u, shown=self.shown), u)

    def _with_loads(self, problem: Motion, u: ArrayLike | None) -> Motion:
        if self.loading is None:
            return problem
        found: Motion = self.loading.added_to(
            problem, self.control, np.zeros(self.nv) if u is None else np.asarray(u, dtype=float)
        )
        return found

    def state(self, q: Values | None = None, v: Values | None = None, work: float = 0.0) -> np.ndarray:
        """The state y of q and v; by default neutral and at rest."""
        mechanism = self.mechanism
        q, v = by_name("simulate: q", mechanism, "q", q), by_name("simulate: v", mechanism, "v", v)
        q = mechanism.neutral() if q is None else mechanism.tables.check_q("simulate", q)
        v = np.zeros(self.nv) if v is None else mechanism.tables.check_v("simulate", "v", v)
        if q.ndim != 1 or v.ndim != 1:
            raise ValueError(f"simulate: q and v have shapes {q.shape} and {v.shape}; expected one state")
        return np.concatenate([q, self.free.from_body(q, v) if self.free else v, [work]])

    def start(
        self,
        t: float,
        q: Values | None,
        v: Values | None,
        assemble: bool | None = False,
        held: Any = None,
        mode: int | None = None,
    ) -> np.ndarray:
        """The state at the start; a tree has nothing to assemble, and holds all that is given."""
        wanted = Wanted((), q, v, assemble, held, mode)  # whose names are checked
        if (wanted.mode or 1) > 1:
            raise ValueError(f"simulate: mode is {mode}; a tree has one assembly mode, that of its coordinates")
        state = self.state(q, v)
        assert isinstance(self.mechanism, Mechanism)
        require_determined(self.mechanism, self.split(state)[0])
        return state

    def explained(self, solution: Solution) -> Solution:
        """A solution, with more to say on how it ended; of a tree there is nothing more."""
        return solution

    def nearly_dependent(self, t: float, y: np.ndarray) -> tuple[int, tuple[str, ...]]:
        """How many constraint equations are well independent at a state, and whose are not; a tree has none."""
        return 0, ()

    def configured(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """The state moved onto the constraints at a time, near where it is; None if it cannot be. A tree has none."""
        return y

    def explain_start(self, state: np.ndarray, u: np.ndarray | None) -> None:
        """Raise what the equations of motion say of a state at which accelerations are not finite, if they do."""
        if isinstance(self.mechanism, Mechanism):
            q, v, _ = self.split(state)
            self.mechanism.forward_dynamics(q, v, np.zeros(self.nv) if u is None else u)

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and work of states (..., nq + nv + 1)."""
        q, w = y[..., : self.nq], y[..., self.nq : self.nq + self.nv]
        return q, self.free.to_body(q, w) if self.free else w, y[..., -1]

    @property
    def shown(self) -> Shown | None:
        """What makes (q, v, work), which events see, of a state; None if that is the state."""
        seen = self.seen if self.mechanism.tree.dependence is None else dependent_motion.seen
        return Shown(self._shown, seen) if self.free else None

    def _shown(self, y: np.ndarray) -> np.ndarray:
        q, v, work = self.split(y)
        return np.concatenate([q, v, [work]])

    def accelerations(self, y: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """Derivatives of v, of values of the field at states."""
        q, v, _ = self.split(y)
        change = rates[..., self.nv : 2 * self.nv]
        return self.free.change_to_body(q, v, v, change) if self.free else change

    def coordinates(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and velocities of the joints at states."""
        return self.split(y)[:2]

    def actuation(self) -> Actuation:
        return Actuation.of_tree(self.mechanism)

    def energy_scale(self, y: np.ndarray, mass: float | None = None) -> float:
        """The kinetic energy of the whole system at the speed of its fastest free joint; none if there is no such.
        mass: of all bodies, if it is not that of this system."""
        if not self._free_at:
            return 0.0
        v = self.split(y)[1]
        fastest = max(float(np.sum(v[at + 3 : at + 6] ** 2)) for at in self._free_at)
        return 0.5 * fastest * (self.mechanism.system.mass if mass is None else mass)

    @cached_property
    def _free_at(self) -> tuple[int, ...]:
        """Where the velocities of free joints begin."""
        kinds = link_table(self.mechanism.tree.independent)[:, LINK.kind].tolist()
        sizes = [{FREE: 6, SPHERICAL: 3}.get(kind, 1) for kind in kinds]
        begins = np.cumsum([0, *sizes]).tolist()
        return tuple(at for at, kind in zip(begins, kinds, strict=False) if kind == FREE)

    @cached_property
    def units(self) -> np.ndarray:
        """What is large for each number of the algebra: 1 rad or a length of the joint, these per second, and work."""
        sizes = self.velocity_sizes
        return np.concatenate([sizes, sizes, [energy_of(self.mechanism.system)]])

    @property
    def velocity_sizes(self) -> np.ndarray:
        """1 rad, or a length of the joint, for each velocity."""
        return sizes_of_velocities(self.mechanism)

    def calling(self, tangents: bool = False) -> Calling:
        assert isinstance(self.mechanism, Mechanism)
        return Calling(self.mechanism.tables.acting.laws, tangents)


def tree_space(topology: np.ndarray, nv: int, on_se3: bool = False) -> Space:
    """The space of (q, w, work): a quaternion and a position, or a pose on SE(3), for each free joint, a quaternion for
    each spherical one, and vectors. With positions, numbers that follow each other are one block, which is faster.

    Errors of positions, and of angular and linear velocities, of a free joint are measured by the sizes of these
    vectors: their numbers go through zero as the body moves. The work is compared with `energy_scale` at least: where a
    force is nearly across the velocity it stays near zero, however much energy there is."""
    blocks: list[str] = []
    places: list[int] = []
    speeds: list[int] = []
    for kind, following in groupby(link_table(topology)[:, LINK.kind].tolist(), lambda kind: max(kind, HELICAL)):
        count = len(list(following))
        if kind == FREE:
            blocks += ["pose" if on_se3 else "s3", *([] if on_se3 else ["r3"])] * count
            places += [] if on_se3 else [3] * count
            speeds += [3, 3] * count
        elif kind == SPHERICAL:
            blocks += ["s3"] * count
            speeds += [3] * count
        else:
            blocks.append(f"r{count}")
            places += [1] * count
            speeds += [1] * count
    blocks, positions = [*blocks, f"r{nv + 1}"], places.count(3)
    if positions:
        runs = [(plain, list(run)) for plain, run in groupby(blocks, lambda name: name.startswith("r"))]
        blocks = [
            name for plain, run in runs for name in ([f"r{sum(int(part[1:]) for part in run)}"] if plain else run)
        ]
    return Space(*blocks, side="right", last=(*places, *speeds, -1), positions=positions)
