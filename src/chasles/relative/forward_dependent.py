"""Forward dynamics of a tree some of whose joints follow others, O(n): articulated bodies that have accelerations in
common.

The equation of a link, with what hangs on it, is W = I A + b + Σ P_k a_k with the accelerations a_k of the groups that
are open there, and that of a group P_kᵀ A + Σ D_kl a_l + d_k = 0, summed over its links. A joint of the group with
ratio r moves its link by A = A' + S r a_k, which gives

    P_k += I S r,   D_kk += r² Sᵀ I S + 2 r Sᵀ P_k,   D_kl += r Sᵀ P_l,   d_k += r (Sᵀ b - tau)

Other joints are solved for at their links, a_j = (tau - Sᵀ b - Sᵀ I A' - Σ Sᵀ P_k a_k) / Sᵀ I S, and so is the group
where its links have met. `relative.elimination` says where. As the mass matrix is positive definite, so is every pivot.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, dot, mul, mul_t, scale, sub
from chasles.kernel.dense import complement, factor_symmetric, minus_symmetric, solve6_symmetric, solve_symmetric
from chasles.kernel.lanes import like, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3, store6, store9
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.articulated import H_AT, M_AT, articulated_mul, load_articulated, shift, store_symmetric, without
from chasles.relative.elimination import GROUP_STEP, HELD, INNER, LINK_PLAN, OPEN, ORDINARY, OTHER, PLAN
from chasles.relative.forward import (
    LIMB,
    accelerate,
    accelerate_turning,
    carried,
    hand_inertia,
    hand_wrench,
    load2,
    place_link,
    reduce,
    reduce_turning,
    set_ground,
)
from chasles.relative.joint import screw_weights
from chasles.relative.open_terms import GROUP_TERM, WORK, add6, add_to, rooms
from chasles.relative.segment import accelerate_segment, place_segment, reduce_segment
from chasles.relative.tables import (
    CONSTANT,
    FREE,
    GRAVITY,
    REVOLUTE,
    SPHERICAL,
    constants_of,
    link,
    links_of,
    vector_at,
)


@kernel
def drift_of(work, here, kind, z):
    """ad_V S v, of which a revolute joint's sweep leaves out the zeros."""
    if kind == REVOLUTE:
        zero = like(0.0, z)
        a, b = load2(work, here + LIMB.drift, z)
        u, v = load2(work, here + LIMB.drift + 3, z)
        return (a, b, zero), (u, v, zero)
    return load6(work, here + LIMB.drift, z)


@kernel
def position_of(numbers, c, work, here, kind, z):
    if kind == REVOLUTE:
        p = vector_at(numbers, c + CONSTANT.position)
        return like(p[0], z), like(p[1], z), like(p[2], z)
    return load3(work, here + LIMB.position, z)


@kernel
def felt(s, t, wrench):
    """Sᵀ W."""
    return s * wrench[0][2] + t * wrench[1][2]


@kernel
def solve_group(topology, plan, at, work, z):
    """Solve for a group: its terms in the equations of the other groups. Returns its P, 1/D and d, for the link's."""
    terms, pairs, rests, _ = rooms(topology, plan)
    own, m = plan[at + GROUP_STEP.pivot], plan[at + GROUP_STEP.others]
    pivot = 1.0 / load(work, pairs + own, z)
    store(work, pairs + own, pivot)
    term = load6(work, terms + GROUP_TERM.size * plan[at + GROUP_STEP.place], z)
    rest = load(work, rests + plan[at + GROUP_STEP.group], z)
    first = at + GROUP_STEP.size
    pair = first + OTHER.size * m
    for i in range(m):
        other = first + OTHER.size * i
        share = load(work, pairs + plan[other + OTHER.pair], z) * pivot
        add6(
            work,
            terms + GROUP_TERM.size * plan[other + OTHER.place],
            (scale(-share, term[0]), scale(-share, term[1])),
        )
        add_to(work, rests + plan[other + OTHER.group], -(share * rest), z)
        for j in range(i + 1):
            known = load(work, pairs + plan[first + OTHER.size * j + OTHER.pair], z)
            add_to(work, pairs + plan[pair], -(share * known), z)
            pair += 1
    return term, pivot, rest


@kernel
def rate_of_group(topology, plan, at, A, work, z):
    """The acceleration of a group from that of the link where it is solved for."""
    terms, pairs, rests, rates = rooms(topology, plan)
    term = load6(work, terms + GROUP_TERM.size * plan[at + GROUP_STEP.place], z)
    left = load(work, rests + plan[at + GROUP_STEP.group], z) + dot(term[0], A[0]) + dot(term[1], A[1])
    for i in range(plan[at + GROUP_STEP.others]):
        other = at + GROUP_STEP.size + OTHER.size * i
        known = load(work, rates + plan[other + OTHER.group], z)
        left = left + load(work, pairs + plan[other + OTHER.pair], z) * known
    store(work, rates + plan[at + GROUP_STEP.group], -(left * load(work, pairs + plan[at + GROUP_STEP.pivot], z)))


@kernel
def lose(topology, plan, at, J, H, M, bias, work, z):
    """A link's equation without a group that is solved for there."""
    term, pivot, rest = solve_group(topology, plan, at, work, z)
    J, H, M = without(J, H, M, term, pivot)
    share = rest * pivot
    bias = (sub(bias[0], scale(share, term[0])), sub(bias[1], scale(share, term[1])))
    return J, H, M, bias


@kernel
def meet(topology, plan, row, work, here, z):
    """Solve for the groups that have met at a link, in its equation."""
    at = plan[row + LINK_PLAN.before_at]
    for _ in range(plan[row + LINK_PLAN.before]):
        J, H, M = load_articulated(work, here + LIMB.inertia, z)
        bias = load6(work, here + LIMB.bias, z)
        J, H, M, bias = lose(topology, plan, at, J, H, M, bias, work, z)
        store_symmetric(work, here + LIMB.inertia, J)
        store9(work, here + LIMB.inertia + H_AT, H)
        store_symmetric(work, here + LIMB.inertia + M_AT, M)
        store6(work, here + LIMB.bias, bias)
        at += plan[at + GROUP_STEP.end]


@kernel
def keep_terms(topology, plan, row, work, z):
    """Note the open terms as they are before the joint is solved for."""
    terms, _, _, _ = rooms(topology, plan)
    for k in range(plan[row + LINK_PLAN.open]):
        at = terms + GROUP_TERM.size * plan[plan[row + LINK_PLAN.open_at] + OPEN.size * k]
        store6(work, at + GROUP_TERM.before, load6(work, at, z))


@kernel
def open_term(topology, plan, row, k, work, z):
    """The k-th open term of a link as it was before, where it is in the workspace, and its group."""
    terms, _, _, _ = rooms(topology, plan)
    entry = plan[row + LINK_PLAN.open_at] + OPEN.size * k
    at = terms + GROUP_TERM.size * plan[entry + OPEN.place]
    return load6(work, at + GROUP_TERM.before, z), at, plan[entry + OPEN.group]


@kernel
def open_one_axis(topology, plan, row, s, t, U, pivot, drive, work, z):
    """The open terms behind a joint with one freedom that is solved for."""
    _, pairs, rests, _ = rooms(topology, plan)
    m = plan[row + LINK_PLAN.open]
    pair = plan[row + LINK_PLAN.open_at] + OPEN.size * m
    for i in range(m):
        term, at, group = open_term(topology, plan, row, i, work, z)
        share = felt(s, t, term) * pivot
        add6(work, at, (scale(-share, U[0]), scale(-share, U[1])))
        add_to(work, rests + group, share * drive, z)
        for j in range(i + 1):
            other, _, _ = open_term(topology, plan, row, j, work, z)
            add_to(work, pairs + plan[pair], -(share * felt(s, t, other)), z)
            pair += 1


@kernel
def open_ball(topology, plan, row, factor, H, drive, work, z):
    """The open terms behind a spherical joint."""
    _, pairs, rests, _ = rooms(topology, plan)
    zero, m = like(0.0, z), plan[row + LINK_PLAN.open]
    pair = plan[row + LINK_PLAN.open_at] + OPEN.size * m
    for i in range(m):
        term, at, group = open_term(topology, plan, row, i, work, z)
        share = solve_symmetric(factor, term[0])
        store6(work, at, ((zero, zero, zero), sub(term[1], mul_t(H, share))))
        add_to(work, rests + group, dot(share, drive), z)
        for j in range(i + 1):
            other, _, _ = open_term(topology, plan, row, j, work, z)
            add_to(work, pairs + plan[pair], -dot(share, other[0]), z)
            pair += 1


@kernel
def open_free(topology, plan, row, J, H, M, drive, work, z):
    """The open terms behind a free joint, which reach nothing further in."""
    _, pairs, rests, _ = rooms(topology, plan)
    zero, m = like(0.0, z), plan[row + LINK_PLAN.open]
    pair = plan[row + LINK_PLAN.open_at] + OPEN.size * m
    for i in range(m):
        term, at, group = open_term(topology, plan, row, i, work, z)
        share = solve6_symmetric(J, H, M, term)
        store6(work, at, ((zero, zero, zero), (zero, zero, zero)))
        add_to(work, rests + group, dot(share[0], drive[0]) + dot(share[1], drive[1]), z)
        for j in range(i + 1):
            other, _, _ = open_term(topology, plan, row, j, work, z)
            add_to(work, pairs + plan[pair], -(dot(share[0], other[0]) + dot(share[1], other[1])), z)
            pair += 1


@kernel
def join(topology, plan, row, ratio, armature, s, t, U, drive, work, z):
    """A joint of a group: what it adds to the equations of the groups."""
    _, pairs, rests, _ = rooms(topology, plan)
    m = plan[row + LINK_PLAN.open]
    pair = plan[row + LINK_PLAN.open_at] + OPEN.size * m
    term, at, group = open_term(topology, plan, row, 0, work, z)
    inertia = s * U[0][2] + t * U[1][2] + armature
    add_to(work, pairs + plan[pair], ratio * (ratio * inertia + 2.0 * felt(s, t, term)), z)
    add_to(work, rests + group, -(ratio * drive), z)
    add6(work, at, (scale(ratio, U[0]), scale(ratio, U[1])))
    for k in range(1, m):
        other, _, _ = open_term(topology, plan, row, k, work, z)
        add_to(work, pairs + plan[pair + k], ratio * felt(s, t, other), z)


@kernel
def hand_terms(topology, plan, row, R, p, drift, work, z):
    """Give to the parent the terms that stay open; the drift of the joint goes to the groups' rests."""
    terms, _, rests, _ = rooms(topology, plan)
    for k in range(plan[row + LINK_PLAN.open]):
        entry = plan[row + LINK_PLAN.open_at] + OPEN.size * k
        if plan[entry + OPEN.up] >= 0:
            torque, force = load6(work, terms + GROUP_TERM.size * plan[entry + OPEN.place], z)
            add_to(work, rests + plan[entry + OPEN.group], dot(torque, drift[0]) + dot(force, drift[1]), z)
            force = mul(R, force)
            moved = (add(mul(R, torque), cross(p, force)), force)
            add6(work, terms + GROUP_TERM.size * plan[entry + OPEN.up], moved)


@kernel
def reduce_open(topology, numbers, plan, ratios, i, tau, work, here, base, z):
    """Any joint at a link with open terms, or of a group, or one that is held."""
    _, kind, _, iv = link(topology, i)
    c, row = constants_of(i), PLAN.size + i * LINK_PLAN.size
    meet(topology, plan, row, work, here, z)
    keep_terms(topology, plan, row, work, z)
    J, H, M = load_articulated(work, here + LIMB.inertia, z)
    bias, drift = load6(work, here + LIMB.bias, z), drift_of(work, here, kind, z)
    R, p = load9(work, here + LIMB.rotation, z), position_of(numbers, c, work, here, kind, z)
    zero, group = like(0.0, z), plan[row + LINK_PLAN.group]
    none, nothing = (zero, zero, zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero, zero, zero, zero)
    if kind == FREE:
        torque, push = load6(tau, iv, z)
        drive = (sub(torque, bias[0]), sub(push, bias[1]))
        open_free(topology, plan, row, J, H, M, drive, work, z)
        J, H, M = none, nothing, none
    elif kind == SPHERICAL:
        force = load3(tau, iv, z)
        turn, factor = sub(force, bias[0]), factor_symmetric(J)
        store3(work, here + LIMB.drive, turn)
        open_ball(topology, plan, row, factor, H, turn, work, z)
        M = minus_symmetric(M, complement(J, H, factor))
        push = add(bias[1], mul_t(H, solve_symmetric(factor, turn)))
        push = add(push, articulated_mul(none, nothing, M, drift)[1])
        torque, J, H = force, none, nothing
    else:
        s, t = screw_weights(numbers, c, kind)
        U = (
            (s * J[2] + t * H[2], s * J[4] + t * H[5], s * J[5] + t * H[8]),
            (s * H[6] + t * M[2], s * H[7] + t * M[4], s * H[8] + t * M[5]),
        )
        left = load(tau, iv, z) - s * bias[0][2] - t * bias[1][2]
        if group == ORDINARY:
            pivot = 1.0 / (felt(s, t, U) + numbers[c + CONSTANT.armature])
            store6(work, here + LIMB.coupling, U)
            store(work, here + LIMB.pivot, pivot)
            store(work, here + LIMB.drive, left)
            open_one_axis(topology, plan, row, s, t, U, pivot, left, work, z)
            J, H, M = without(J, H, M, U, pivot)
            bias = (add(bias[0], scale(left * pivot, U[0])), add(bias[1], scale(left * pivot, U[1])))
        elif group != HELD:
            join(topology, plan, row, ratios[iv], numbers[c + CONSTANT.armature], s, t, U, left, work, z)
            if plan[row + LINK_PLAN.after_at] > 0:
                J, H, M, bias = lose(topology, plan, plan[row + LINK_PLAN.after_at], J, H, M, bias, work, z)
        moved = articulated_mul(J, H, M, drift)
        torque, push = add(bias[0], moved[0]), add(bias[1], moved[1])
    hand_terms(topology, plan, row, R, p, drift, work, z)
    if base > 0:
        hand_wrench(work, base, R, p, torque, push)
        J, H, M = shift(R, p, J, H, M)
        hand_inertia(topology, numbers, i, work, J, H, M)


@kernel
def accelerate_open(topology, numbers, plan, ratios, i, tau, a, A, work, here, z):
    """The acceleration of such a joint and its link, from the parent's A; and of the groups solved for there."""
    _, kind, _, iv = link(topology, i)
    _, _, _, rates = rooms(topology, plan)
    c, row = constants_of(i), PLAN.size + i * LINK_PLAN.size
    R, p = load9(work, here + LIMB.rotation, z), position_of(numbers, c, work, here, kind, z)
    drift, group = drift_of(work, here, kind, z), plan[row + LINK_PLAN.group]
    w, u = carried(R, p, A)
    A = (add(w, drift[0]), add(u, drift[1]))
    zero = like(0.0, z)
    pull = ((zero, zero, zero), (zero, zero, zero))  # of what is open, on the link
    for k in range(plan[row + LINK_PLAN.open]):
        term, _, which = open_term(topology, plan, row, k, work, z)
        if group == ORDINARY:
            known = load(work, rates + which, z)
            pull = (add(pull[0], scale(known, term[0])), add(pull[1], scale(known, term[1])))
    if kind == FREE:
        J, H, M = load_articulated(work, here + LIMB.inertia, z)
        bias, force = load6(work, here + LIMB.bias, z), load6(tau, iv, z)
        left = (sub(sub(force[0], bias[0]), pull[0]), sub(sub(force[1], bias[1]), pull[1]))
        total = solve6_symmetric(J, H, M, left)
        store6(a, iv, (sub(total[0], A[0]), sub(total[1], A[1])))
        A = total
    elif kind == SPHERICAL:
        J, H, M = load_articulated(work, here + LIMB.inertia, z)
        turn = sub(load3(work, here + LIMB.drive, z), pull[0])
        angular = solve_symmetric(factor_symmetric(J), sub(turn, mul(H, A[1])))
        store3(a, iv, sub(angular, A[0]))
        A = (angular, A[1])
    else:
        s, t = screw_weights(numbers, c, kind)
        if plan[row + LINK_PLAN.after_at] > 0:
            rate_of_group(topology, plan, plan[row + LINK_PLAN.after_at], A, work, z)
        rate = zero
        if group == ORDINARY:
            U = load6(work, here + LIMB.coupling, z)
            left = load(work, here + LIMB.drive, z) - felt(s, t, pull) - dot(U[0], A[0]) - dot(U[1], A[1])
            rate = left * load(work, here + LIMB.pivot, z)
        elif group != HELD:
            rate = ratios[iv] * load(work, rates + group, z)
        store(a, iv, rate)
        A = ((A[0][0], A[0][1], A[0][2] + s * rate), (A[1][0], A[1][1], A[1][2] + t * rate))
    store6(work, here + LIMB.motion, A)
    step_back(topology, plan, plan[row + LINK_PLAN.before_at], plan[row + LINK_PLAN.before], A, work, z)


@kernel
def step_back(topology, plan, first, count, A, work, z):
    """The accelerations of groups that have met at a link, in the opposite order of `meet`."""
    at = first
    for _ in range(count - 1):
        at += plan[at + GROUP_STEP.end]
    for _ in range(count):
        rate_of_group(topology, plan, at, A, work, z)
        at -= plan[at + GROUP_STEP.back]


@kernel
def is_plain(plan, i):
    """Whether the ordinary algorithm does for a link."""
    row = PLAN.size + i * LINK_PLAN.size
    return plan[row + LINK_PLAN.open] + plan[row + LINK_PLAN.before] == 0 and plan[row + LINK_PLAN.group] == ORDINARY


@algorithm(
    work=WORK,
    q="nq",
    v="nv",
    tau="nv",
    wrenches="6*links",
    plan=fixed(whole=True),
    ratios=fixed(),
    a=out("nv"),
)
def forward_dynamics_dependent(topology, numbers, q, v, tau, wrenches, plan, ratios, a, work, z):
    """a of all joints, from q, v and forces of all joints, as `forward_dynamics` has them; joints follow others with
    `ratios`."""
    n, (terms, _, _, rates) = links_of(topology), rooms(topology, plan)
    for k in range(terms, rates):
        store(work, k, like(0.0, z))
    set_ground(work, (0.0, 0.0, 0.0), z)
    for i in range(n):
        segment = plan[PLAN.size + i * LINK_PLAN.size + LINK_PLAN.segment]
        if segment == 0:
            place_link(topology, numbers, i, q, v, work, z)
        elif segment != INNER:
            place_segment(topology, numbers, plan, ratios, i, q, v, wrenches, work, z)
        if wrenches.shape[0] and segment != INNER:
            for k in range(6):
                at = (i + 1) * LIMB.size + LIMB.bias + k
                store(work, at, load(work, at, z) - load(wrenches, 6 * i + k, z))
    for i in range(n - 1, -1, -1):
        parent, kind, _, iv = link(topology, i)
        here, base = (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        row = PLAN.size + i * LINK_PLAN.size
        if plan[row + LINK_PLAN.segment] > 0:
            meet(topology, plan, row, work, here, z)
            reduce_segment(topology, numbers, plan, ratios, i, tau, work, z)
        elif plan[row + LINK_PLAN.segment] == INNER:
            continue
        elif not is_plain(plan, i):
            reduce_open(topology, numbers, plan, ratios, i, tau, work, here, base, z)
        elif kind == REVOLUTE:
            reduce_turning(topology, numbers, i, load(tau, iv, z), work, here, base, z)
        else:
            reduce(topology, numbers, i, tau, work, here, base, z)
    at = plan[PLAN.ground]
    for _ in range(plan[PLAN.grounded]):
        solve_group(topology, plan, at, work, z)
        at += plan[at + GROUP_STEP.end]
    g = vector_at(numbers, GRAVITY.vector)
    set_ground(work, (-g[0], -g[1], -g[2]), z)
    step_back(topology, plan, plan[PLAN.ground], plan[PLAN.grounded], load6(work, LIMB.motion, z), work, z)
    for i in range(n):
        parent, kind, _, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * LIMB.size, (parent + 1) * LIMB.size
        row = PLAN.size + i * LINK_PLAN.size
        if plan[row + LINK_PLAN.segment] == INNER:
            continue
        if plan[row + LINK_PLAN.segment] > 0:
            A = accelerate_segment(topology, plan, ratios, i, a, work, z)
            step_back(topology, plan, plan[row + LINK_PLAN.before_at], plan[row + LINK_PLAN.before], A, work, z)
            continue
        A, R = load6(work, base + LIMB.motion, z), load9(work, here + LIMB.rotation, z)
        if not is_plain(plan, i):
            accelerate_open(topology, numbers, plan, ratios, i, tau, a, A, work, here, z)
        elif kind == REVOLUTE:
            accelerate_turning(numbers, c, iv, a, R, A, work, here, z)
        else:
            moved = carried(R, load3(work, here + LIMB.position, z), A)
            accelerate(numbers, c, kind, tau, iv, a, moved, work, here, z)
