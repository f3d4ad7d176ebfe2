"""All that assembly asks of the rows at one configuration, found in one call: for starts, of which ensembles have many.

Rows that align axes are dot products, which a half turn satisfies as well; to assemble with, rotation vectors stand in
their place. `constraint.alignment` says how, and has the same for absolute coordinates.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from chasles.constraint.alignment import Alignment
from chasles.kernel.address import invoke
from chasles.kernel.algebra import mat_mul, neg, transpose
from chasles.kernel.dense import cholesky_factor
from chasles.kernel.functions import atan2_upper
from chasles.kernel.lanes import maximum, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.undisturbed import Calling
from chasles.kernel.workspace import add3, layout, load9
from chasles.lie import so3
from chasles.relative.algorithm import evaluate
from chasles.relative.kinematics import STATE
from chasles.relative.loop.steps import row_of_jacobian
from chasles.relative.loop.tables import GROUP, HEAD, ROW, loop_work_of, part
from chasles.relative.mass import mass_matrix

if TYPE_CHECKING:
    from chasles.relative.loop.build import Closing
    from chasles.relative.loop.closed import ClosedMechanism

all_of_masses = mass_matrix.kernel
RIGHT_ANGLE = 0.5 * np.pi
# a tile that aligns axes: its links (-1: ground), whether all three axes, its constraint, its rows (-1: none)
ALIGNED = layout("ALIGNED", first=1, second=1, three=1, owner=1, rows=3)


class Survey(NamedTuple):
    """Of all rows at a configuration: residual, g' = J v - target, J (rows, nv), the first and the last as they are
    assembled with, and the reach (`response`). The root R = L⁻ᵀ of the mass matrix M = L Lᵀ of what may move,
    (nv, free), is zero for what is held and NaN if M is not positive definite. Of each constraint, how far it is off in
    position and velocity, in units of its rows."""

    residual: np.ndarray
    speed: np.ndarray
    jacobian: np.ndarray
    group_residual: np.ndarray
    group_jacobian: np.ndarray
    reach: np.ndarray
    root: np.ndarray
    position: np.ndarray
    velocity: np.ndarray


@kernel
def axes_of(axes, j, side, states, link):
    """The axes of a joint, columns, on its link and in space."""
    on_link = load9(axes, 18 * j + 9 * side, 0.0)
    return on_link, mat_mul(load9(states, (link + 1) * STATE.size + STATE.rotation, 0.0), on_link)


@kernel
def rotation_vector(S, three):
    """The rotation vector that is to be zero, and its angle: of the whole rotation S, or of that of its axis z."""
    if three != 0:
        r = so3.log(S)
        return r, sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    across = sqrt(S[2] * S[2] + S[5] * S[5])
    tilt = atan2_upper(across, S[8])
    if across > 0.0:
        return (-S[5] / across * tilt, S[2] / across * tilt, 0.0), tilt
    return (tilt, 0.0, 0.0), tilt  # at a half turn all axes serve


@kernel
def row_of(matrix, k):
    """Row k of the three that align axes, of a matrix that acts on angular velocities: its rows are (r_y, -r_x, -r_z)
    of r."""
    if k == 0:
        return (matrix[3], matrix[4], matrix[5])
    if k == 1:
        return (-matrix[0], -matrix[1], -matrix[2])
    return (-matrix[6], -matrix[7], -matrix[8])


@kernel(allocates=True)
def align(integers, p, states, wrenches, aligned, axes, residual, J, position):
    """Put rotation vectors in the place of dot products, with their Jacobians; joints that are the wrong way round
    are off by their angle."""
    nv, visits = integers[HEAD.n_v], part(integers, integers, HEAD.visits)
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    groups, equations = part(integers, integers, HEAD.groups), part(integers, integers, HEAD.rows)
    for j in range(aligned.shape[0] // ALIGNED.size):
        at = j * ALIGNED.size
        first, second = aligned[at + ALIGNED.first], aligned[at + ALIGNED.second]
        A, in_space = axes_of(axes, j, 0, states, first)
        B, other = axes_of(axes, j, 1, states, second)
        S = mat_mul(transpose(in_space), other)
        r, angle = rotation_vector(S, aligned[at + ALIGNED.three])
        if angle > RIGHT_ANGLE:
            owner = aligned[at + ALIGNED.owner]
            position[owner] = maximum(position[owner], angle)
        from_first, from_second = transpose(A), mat_mul(S, transpose(B))
        for k in range(3):
            row = aligned[at + ALIGNED.rows + k]
            if row >= 0:
                residual[row] = r[1] if k == 0 else -r[0] if k == 1 else -r[2]
                for c in range(nv):
                    J[row * nv + c] = 0.0
                if first >= 0:
                    add3(wrenches, 6 * first, neg(row_of(from_first, k)))
                if second >= 0:
                    add3(wrenches, 6 * second, row_of(from_second, k))
                group = equations[row * ROW.size + ROW.group] * GROUP.size
                begin, count = groups[group + GROUP.visit], groups[group + GROUP.visits]
                row_of_jacobian(topology, numbers, visits, begin, count, states, wrenches, J, row * nv)


@kernel(allocates=True)
def root_of_masses(integers, p, q, free, M, work, root):
    """R = L⁻ᵀ of the mass matrix M = L Lᵀ of the velocities that are `free`; M: room for it and for its part."""
    nv, count = integers[HEAD.n_v], free.shape[0]
    whole, own = M[: nv * nv], M[nv * nv :]
    for k in range(nv * nv):
        whole[k] = 0.0
    all_of_masses(part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers), q, whole, work, 0.0)
    for i in range(count):
        for j in range(i + 1):
            own[i * count + j] = whole[free[i] * nv + free[j]]
    cholesky_factor(own, count)
    for k in range(nv * count):
        root[k] = 0.0
    for c in range(count):  # column c of L⁻¹ is row c of R
        at = free[c] * count
        root[at + c] = 1.0 / own[c * count + c]
        for i in range(c + 1, count):
            total = 0.0
            for k in range(c, i):
                total += own[i * count + k] * root[at + k]
            root[at + i] = -total / own[i * count + i]


@kernel(entry=True, allocates=True)
def survey_state(integers, p, t, q, v, still, work, spare, masses, aligned, axes, units, owner, free, found):
    """A `Survey` into `found`, one part after the other; still: zeros, at least for each velocity and six for each
    link; spare: room for accelerations and a number for each row; masses: room for `root_of_masses`."""
    nv, m = integers[HEAD.n_v], integers[HEAD.n_rows]
    _, states, _, _, _, scales, _, _, wrenches, _, _, _, _, _, _ = loop_work_of(work, integers)
    residual, speed = found[:m], found[m : 2 * m]
    at = 2 * m + m * nv
    J, on_group, rates = found[2 * m : at], found[at : at + m], found[at + m : at + m + m * nv]
    at += m + m * nv
    reach = found[at : at + m]
    root = found[at + m : at + m + nv * free.shape[0]]
    at += m + nv * free.shape[0]
    count = (found.shape[0] - at) // 2
    position, velocity = found[at : at + count], found[at + count :]
    a, right = spare[:nv], spare[nv : nv + m]
    size = p.shape[0]
    invoke(
        *(integers[HEAD.accelerations], integers, p, size, t, q, still[:nv], still[:nv]),
        *(still[: 6 * integers[HEAD.n_links]], work, a),
    )
    root_of_masses(integers, p, q, free, masses[: 2 * nv * nv], masses[2 * nv * nv :], root)
    for r in range(m):
        reach[r] = 1.0 / scales[r] if scales[r] > 0.0 else 1.0
    invoke(integers[HEAD.linearize], integers, p, size, t, q, v, work, residual, speed, right, J)
    for k in range(count):
        position[k] = velocity[k] = 0.0
    for r in range(m):
        k = owner[r]
        off, fast = abs(residual[r] / units[r]), abs(speed[r] / units[r])
        if not off <= position[k]:  # NaN stays NaN
            position[k] = off
        if not fast <= velocity[k]:
            velocity[k] = fast
        on_group[r] = residual[r]
    for k in range(m * nv):
        rates[k] = J[k]
    align(integers, p, states, wrenches, aligned, axes, on_group, rates, position)


class SurveyTables(NamedTuple):
    """What surveys of a mechanism need besides its packed array: tiles that align axes (`ALIGNED`) and these axes."""

    aligned: np.ndarray
    axes: np.ndarray

    @classmethod
    def of(cls, closing: Closing) -> SurveyTables:
        """Those of what closes a tree."""
        links = Alignment.of(closing.tiles)
        place = {(closing.groups[g][0], k): r for r, (g, k) in enumerate(closing.rows)}
        names = {name: k for k, name in enumerate(closing.names)}
        table = np.full((len(links.tiles), ALIGNED.size), -1, dtype=np.int64)
        for j, (tile, joint) in enumerate(zip(links.tiles.tolist(), links.joints, strict=True)):
            three = int(links.three_axes[j])
            table[j, : ALIGNED.rows] = *links.bodies[j], three, names[joint]
            table[j, ALIGNED.rows : ALIGNED.rows + 2 + three] = [place[tile, k] for k in range(2 + three)]
        return cls(table.ravel(), np.ascontiguousarray(links.axes).ravel())


class Surveyor:
    """Surveys of one closed mechanism, with their workspace."""

    def __init__(self, mechanism: ClosedMechanism, free: np.ndarray):
        """free: the velocities that may move."""
        rows, nv, count = mechanism.rows, mechanism.nv, len(mechanism.constraint_names)
        packed, self.laws = mechanism.packed, mechanism.laws
        self.tables = packed.parameters.view(np.int64), packed.parameters
        self.still = np.zeros(nv + 6 * mechanism.tables.links)
        self.rest = self.still[:nv]
        masses = np.empty(2 * nv * nv + evaluate(mass_matrix.work, mechanism.tables.sizes))
        room = self.still, np.empty(packed.work), np.empty(nv + rows), masses
        self.fixed = *room, *mechanism.survey_tables, mechanism.row_units, mechanism.constraint_of_row, free
        sizes = rows, rows, rows * nv, rows, rows * nv, rows, nv * len(free), count, count
        edges = np.cumsum([0, *sizes]).tolist()
        self.size, self.matrix, self.root = edges[-1], (rows, nv), (nv, len(free))
        self.parts = [slice(a, b) for a, b in pairwise(edges)]

    def __call__(self, q: np.ndarray, v: np.ndarray | None, t: float) -> Survey:
        """All rows at a state; without velocities at rest."""
        found = np.empty(self.size)
        given = q, self.rest if v is None else v
        at, speed = (np.require(x, np.float64, ("C", "W")) for x in given)  # states may be views of others
        with Calling(self.laws):
            survey_state(*self.tables, float(t), at, speed, *self.fixed, found)
        parts = [found[place] for place in self.parts]
        parts[2], parts[4] = parts[2].reshape(self.matrix), parts[4].reshape(self.matrix)
        parts[6] = parts[6].reshape(self.root)
        return Survey(*parts)
