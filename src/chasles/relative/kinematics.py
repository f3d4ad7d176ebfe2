"""Poses, twists and accelerations of frames on the links: mueller2018 eqs. (65), (68), (72), one recursion for all.

The recursion runs in body representation; the frames asked for are converted at the end. A frame is a link and a
constant pose on it (twelve numbers: rotation by rows, position).
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mat_mul, motion_cross, mul, mul_t
from chasles.kernel.lanes import WIDTH, like, store
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, load_rows_at, store_rows
from chasles.kernel.workspace import layout, load3, load6, load9, store3, store6, store9
from chasles.lie import quaternion
from chasles.relative.algorithm import algorithm, fixed, out
from chasles.relative.joint import along_screws, placement
from chasles.relative.tables import constants_of, link, links_of, vector_at
from chasles.screw.representation import REPRESENTATIONS as REPRESENTATIONS  # by number, as below

BODY, SPATIAL, HYBRID, MIXED = range(4)

PLACE = layout("PLACE", rotation=9, position=3)
# of each link, and first of the ground: pose in space, body twist and its derivative
STATE = layout("STATE", rotation=9, position=3, twist=6, acceleration=6)


@kernel
def carried(R, p, motion):
    """Ad⁻¹ of the pose (R, p) on a twist or an acceleration."""
    return mul_t(R, motion[0]), mul_t(R, add(motion[1], cross(motion[0], p)))


@kernel
def composed(R, p, R_next, p_next):
    """Product of two poses."""
    return mat_mul(R, R_next), add(p, mul(R, p_next))


@kernel
def set_ground(work, z):
    """The ground is the inertial frame."""
    one, zero = like(1.0, z), like(0.0, z)
    store9(work, STATE.rotation, (one, zero, zero, zero, one, zero, zero, zero, one))
    store3(work, STATE.position, (zero, zero, zero))
    store6(work, STATE.twist, ((zero, zero, zero), (zero, zero, zero)))
    store6(work, STATE.acceleration, ((zero, zero, zero), (zero, zero, zero)))


@kernel
def move_links(topology, numbers, q, v, a, work, z):
    """Pose of every link and, unless v (and a) are empty, its body twist (and the derivative)."""
    set_ground(work, z)
    for i in range(links_of(topology)):
        parent, kind, iq, iv = link(topology, i)
        c, here, base = constants_of(i), (i + 1) * STATE.size, (parent + 1) * STATE.size
        R, p = placement(numbers, c, kind, q, iq, z)
        pose = composed(load9(work, base + STATE.rotation, z), load3(work, base + STATE.position, z), R, p)
        store9(work, here + STATE.rotation, pose[0])
        store3(work, here + STATE.position, pose[1])
        if v.shape[0] > 0:
            joint = along_screws(numbers, c, kind, v, iv, z)
            twist = carried(R, p, load6(work, base + STATE.twist, z))
            twist = (add(twist[0], joint[0]), add(twist[1], joint[1]))
            store6(work, here + STATE.twist, twist)
            if a.shape[0] > 0:
                rate, drift = along_screws(numbers, c, kind, a, iv, z), motion_cross(twist, joint)
                A = carried(R, p, load6(work, base + STATE.acceleration, z))
                A = (add(add(A[0], rate[0]), drift[0]), add(add(A[1], rate[1]), drift[1]))
                store6(work, here + STATE.acceleration, A)


@kernel
def place_of(offset, k, z):
    """Rotation and position of frame k on its link."""
    at = k * PLACE.size
    rotation = (
        *(like(offset[at], z), like(offset[at + 1], z), like(offset[at + 2], z)),
        *(like(offset[at + 3], z), like(offset[at + 4], z), like(offset[at + 5], z)),
        *(like(offset[at + 6], z), like(offset[at + 7], z), like(offset[at + 8], z)),
    )
    return rotation, vector_at(offset, at + PLACE.position)


@kernel
def twist_in(representation, R, p, twist):
    """mueller2018 eqs. (98)-(100): a body twist in another representation."""
    w, u = twist
    if representation == SPATIAL:
        w = mul(R, w)
        u = add(mul(R, u), cross(p, w))
    elif representation == HYBRID:
        w, u = mul(R, w), mul(R, u)
    elif representation == MIXED:
        u = mul(R, u)
    return w, u


@kernel
def acceleration_in(representation, R, p, twist, A):
    """Time derivative of the twist in a representation: spatial Ad A; hybrid and mixed have R(v' + w x v) below."""
    if representation == HYBRID or representation == MIXED:
        A = (A[0], add(A[1], cross(twist[0], twist[1])))
    return twist_in(representation, R, p, A)


@algorithm(
    work=f"{STATE.size}*slots",
    q="nq",
    v="nv",
    a="nv",
    where=fixed(whole=True),
    offset=fixed(),
    pose=out("7*places"),
    twist=out("6*places"),
    acceleration=out("6*places"),
)
def motion_of_frames(topology, numbers, q, v, a, where, offset, pose, twist, acceleration, work, z):
    """Poses, twists and accelerations of frames. `where` is the representation, then the link of each frame.

    v and a may be empty, with the results that need them.
    """
    representation = where[0]
    move_links(topology, numbers, q, v, a, work, z)
    for k in range(where.shape[0] - 1):
        at = (where[k + 1] + 1) * STATE.size
        X, x = place_of(offset, k, z)
        R, p = composed(load9(work, at + STATE.rotation, z), load3(work, at + STATE.position, z), X, x)
        unit = quaternion.from_matrix(R)
        store(pose, 7 * k, unit[0])
        store3(pose, 7 * k + 1, (unit[1], unit[2], unit[3]))
        store3(pose, 7 * k + 4, p)
        if v.shape[0] > 0:
            V = carried(X, x, load6(work, at + STATE.twist, z))
            store6(twist, 6 * k, twist_in(representation, R, p, V))
            if a.shape[0] > 0:
                A = carried(X, x, load6(work, at + STATE.acceleration, z))
                store6(acceleration, 6 * k, acceleration_in(representation, R, p, V, A))


@algorithm(
    work=f"{STATE.size}*slots",
    fours=False,
    q="nq",
    where=fixed(whole=True),
    offset=fixed(),
    pose=out("7*places"),
)
def poses_of_four_frames(topology, numbers, q, where, offset, pose, work, z):
    """Poses of at least four frames, as `motion_of_frames` has them to the bit: one state, and four frames on lanes.

    Half of the time for one state goes into quaternions of matrices. The last four overlap those before them.
    """
    move_links(topology, numbers, q, pose[:0], pose[:0], work, z)
    count, k = where.shape[0] - 1, 0
    while True:
        firsts = (
            (where[k + 1] + 1) * STATE.size,
            (where[k + 2] + 1) * STATE.size,
            (where[k + 3] + 1) * STATE.size,
            (where[k + 4] + 1) * STATE.size,
        )
        link = load_rows_at(work, firsts, 12)
        on = load_rows(offset, k * PLACE.size, PLACE.size, 12)
        R, p = composed(link[:9], link[9:], on[:9], on[9:])
        unit = quaternion.from_matrix(R)
        store_rows(pose, 7 * k, 7, (unit[0], unit[1], unit[2], unit[3], p[0], p[1], p[2]))
        if k >= count - WIDTH:
            return
        k = min(k + WIDTH, count - WIDTH)
