"""The parts of all computations on a closed mechanism, each compiled alone and called through its address.

integers and p are the packed mechanism (`tables`), which has the addresses: one array in two views or, on dual numbers
(`duals`), two arrays. work is the workspace, in which the parts leave what those after them need.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mul, mul_t, scale, sub
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import add3, load3, load6, load9, store3
from chasles.lie import quaternion
from chasles.relative.forward import forward_dynamics
from chasles.relative.joint import load_quaternion, store_felt
from chasles.relative.kinematics import STATE, move_links
from chasles.relative.loop.response import respond_to, row_of_factor
from chasles.relative.loop.rows import evaluate_tiles, push, set_clock, set_motion, share_reach
from chasles.relative.loop.tables import GROUP, HEAD, ROW, loop_work_of, loop_work_size, part
from chasles.relative.loop.triangle import EXTENT, scale_rows, triangle
from chasles.relative.tables import FREE, SPHERICAL, constants_of, link, links_of, velocities_of
from chasles.relative.tables import HEAD as TREE

tree_accelerations = forward_dynamics.kernel


@native
def articulate(integers_at, p_at, p_size, q_at, v_at, tau_at, wrenches_at, work_at, a_at):
    """Accelerations of the tree without its constraints; the articulated-body inertias stay in the workspace."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    nq, nv, links = integers[HEAD.n_q], integers[HEAD.n_v], integers[HEAD.n_links]
    limbs = loop_work_of(carray(work_at, (loop_work_size(integers),)), integers).limbs
    z = limbs[0]  # the kind of number
    q, v, tau = carray(q_at, (nq,)), carray(v_at, (nv,)), carray(tau_at, (nv,))
    wrenches, a = carray(wrenches_at, (6 * links,)), carray(a_at, (nv,))
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    tree_accelerations(topology, numbers, q, v, tau, wrenches, a, limbs, z)


@native
def evaluate(integers_at, p_at, p_size, t, q_at, v_at, work_at):
    """Motion of the links, residuals and Jacobians of all tiles."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (integers[HEAD.n_v],))
    _, states, motion, rows, _, _, _, _, _, _, _, _, _, _, _ = loop_work_of(
        carray(work_at, (loop_work_size(integers),)), integers
    )
    move_links(part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers), q, v, q[0:0], states, q[0])
    set_motion(part(integers, integers, HEAD.touched), integers[HEAD.n_touched], states, motion)
    set_clock(t, part(integers, integers, HEAD.counted), integers[HEAD.n_counted], q, rows)
    tiles, constants = part(integers, integers, HEAD.tiles), part(p, integers, HEAD.constants)
    evaluate_tiles(tiles, constants, integers[HEAD.n_tiles], motion, rows)


@kernel(allocates=True)  # views count as arrays that are made
def fill_rows(integers, p, space):
    """F with its rows divided by their reach, and their squared lengths, where x has room for them."""
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, visits = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.visits)
    touched, levers = part(integers, integers, HEAD.touched), part(p, integers, HEAD.levers)
    motion, rows, F, scales, wrenches = space.motion, space.rows, space.matrix, space.scales, space.wrenches
    m, nv = integers[HEAD.n_rows], integers[HEAD.n_v]
    for k in range(6 * integers[HEAD.n_links]):
        wrenches[k] = 0.0
    for k in range(m * nv):
        F[k] = 0.0
    for r in range(m):
        group = equations[r * ROW.size + ROW.group] * GROUP.size
        first, count = groups[group + GROUP.visit], groups[group + GROUP.visits]
        push(tiles, groups, equations, touched, rows, r, motion, 1.0, wrenches)
        lever = levers[equations[r * ROW.size + ROW.group]]
        scales[r] = row_of_factor(topology, numbers, visits, first, count, space.limbs, wrenches, lever, F, r * nv)
    share_reach(equations, scales, m)
    scale_rows(F, scales, space.x[m:], m, nv)


@kernel(allocates=True)
def set_places(integers, order):
    """Where rows of F have numbers: at the velocities of the links that their wrenches reach. No row has met them."""
    topology, visits = part(integers, integers, HEAD.topology), part(integers, integers, HEAD.visits)
    groups, equations = part(integers, integers, HEAD.groups), part(integers, integers, HEAD.rows)
    m = integers[HEAD.n_rows]
    for r in range(m):
        group = equations[r * ROW.size + ROW.group] * GROUP.size
        first, count = groups[group + GROUP.visit], groups[group + GROUP.visits]
        at, begin, end = 2 * m + EXTENT.size * r, topology[TREE.velocities], 0
        for k in range(first, first + count):
            _, kind, _, iv = link(topology, visits[k])
            begin, end = min(begin, iv), max(end, iv + velocities_of(kind))
        order[at + EXTENT.begin], order[at + EXTENT.end], order[at + EXTENT.met] = float(begin), float(end), float(m)


@native
def factor(integers_at, p_at, p_size, wanted, free, work_at):
    """The triangle of the rows, after `articulate` and `evaluate`; its rank, or -1, is left in the report."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    space = loop_work_of(carray(work_at, (loop_work_size(integers),)), integers)
    m, nv = integers[HEAD.n_rows], integers[HEAD.n_v]
    attempt = m if wanted < 0 and m <= nv else wanted  # mostly all rows are independent, which is found out quickly
    while True:
        fill_rows(integers, p, space)
        set_places(integers, space.order)
        rank = triangle(space.matrix, space.scales, space.order, space.x[m:], m, nv, attempt, free)
        if rank >= 0 or attempt == wanted:
            break
        attempt = wanted
    space.report[0] = float(rank)


@native
def respond(integers_at, p_at, p_size, weight, work_at):
    """change = M⁻¹ Jᵀ x weight."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    limbs, _, motion, rows, _, _, _, x, wrenches, _, change, _, still, _, _ = loop_work_of(
        carray(work_at, (loop_work_size(integers),)), integers
    )
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, touched = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.touched)
    for k in range(6 * integers[HEAD.n_links]):
        wrenches[k] = 0.0
    for k in range(integers[HEAD.n_v]):
        still[k] = 0.0
    for r in range(integers[HEAD.n_rows]):
        push(tiles, groups, equations, touched, rows, r, motion, weight * x[r], wrenches)
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    respond_to(topology, numbers, limbs, wrenches, still, change)


@kernel
def retract(topology, q, v, change):
    """q exp(change), with Cayley's map for rotations: as good as exp for an iteration. The velocities of the positions
    of free joints stay as they are, in v too: a body that is turned back moves no other way."""
    for i in range(links_of(topology)):
        _, kind, iq, iv = link(topology, i)
        if kind == SPHERICAL or kind == FREE:
            old = load_quaternion(q, iq, 0.0)
            half = scale(0.5, load3(change, iv, 0.0))
            unit = quaternion.normalize(quaternion.product(old, (1.0, half[0], half[1], half[2])))
            q[iq], q[iq + 1], q[iq + 2], q[iq + 3] = unit
            if kind == FREE:
                R = quaternion.to_matrix(old)
                store3(q, iq + 4, add(load3(q, iq + 4, 0.0), mul(R, load3(change, iv + 3, 0.0))))
                store3(v, iv + 3, mul_t(quaternion.to_matrix(unit), mul(R, load3(v, iv + 3, 0.0))))
        else:
            q[iq] += change[iv]


@kernel
def row_of_jacobian(topology, numbers, visits, first, count, states, wrenches, J, at):
    """A row of J: the generalized forces of wrenches on some links, handed to the ground; these become zero."""
    for k in range(first, first + count):
        i = visits[k]
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * STATE.size, (parent + 1) * STATE.size
        torque, force = load6(wrenches, 6 * i, 0.0)
        store3(wrenches, 6 * i, (0.0, 0.0, 0.0))
        store3(wrenches, 6 * i + 3, (0.0, 0.0, 0.0))
        store_felt(numbers, constants_of(i), kind, (torque, force), J, at + iv, 0.0)
        if parent >= 0:
            R, S = load9(states, here + STATE.rotation, 0.0), load9(states, base + STATE.rotation, 0.0)
            arm = sub(load3(states, here + STATE.position, 0.0), load3(states, base + STATE.position, 0.0))
            push_in_space = mul(R, force)
            turn = add(mul(R, torque), cross(arm, push_in_space))
            add3(wrenches, 6 * parent, mul_t(S, turn))
            add3(wrenches, 6 * parent + 3, mul_t(S, push_in_space))
