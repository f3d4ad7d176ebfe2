"""What special tiles share: where their numbers, their laws and the angles of a simulation are.

An array of rows has `ROWS` of all tiles, then the counted angles, the last one first, then `TILE_WORK`. So kernels find
the angles and the workspace from its end, whatever the number of tiles.
"""

from __future__ import annotations

from typing import Any

from chasles.constraint.rows import NUMBERS, ROWS, pose_of, vector
from chasles.constraint.screws import SCREW_WORK
from chasles.kernel.address import invoke
from chasles.kernel.algebra import add, mul, sub
from chasles.kernel.lanes import primal
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3
from chasles.lie import quaternion

# how a coordinate is used: alone, or as one of a sum whose tiles share their row: the first, one between, the last
ALONE, FIRST, BETWEEN, LAST = range(4)
# numbers of a special tile that take the place of w_1 and w_2: the law's address (exact as a float: it is below 2^53)
# or 0, where its parameters begin among the numbers of all tiles and how many, which counted angle is that of its
# coordinate or -1, its use, and the address of `special`
EXTRA = layout("EXTRA", law=1, parameters=1, count=1, angle=1, use=1, function=1)
EXTRA_AT = NUMBERS.w + 3
# arguments and result of a law: poses and twists of two bodies; residual, rows of both, rate, target (`Custom`); and of
# a joint given by screws its coordinates, velocities, and what `screws` needs; what J V of a tile must be; the time
OUT = layout("OUT", residual=3, first=18, second=18, rate=3, target=3)
TILE_WORK = layout("TILE_WORK", poses=14, twists=12, out=OUT.size, q=6, v=6, screws=SCREW_WORK.size, target=3, time=1)


def rows_size(n_tiles: Any, n_angles: Any) -> Any:
    """Numbers in an array of rows, from sizes or declared sizes (`kernel.memory`)."""
    return ROWS.size * n_tiles + n_angles + TILE_WORK.size


@kernel
def tile_work_at(work):
    """Where `TILE_WORK` begins in an array of rows."""
    return work.shape[0] - TILE_WORK.size


@kernel
def set_time(work, t):
    work[tile_work_at(work) + TILE_WORK.time] = t


@kernel
def time_of(work):
    return primal(work[tile_work_at(work) + TILE_WORK.time])


@kernel
def angle_at(work, k):
    """Where the k-th angle is that is counted over full turns."""
    return tile_work_at(work) - 1 - k


@kernel
def tile_target(work):
    """What J V of a tile must be, as `special` left it."""
    return load3(work, tile_work_at(work) + TILE_WORK.target, 0.0)


@kernel
def angle_of(work, k):
    """The k-th angle that is counted over full turns."""
    return work[angle_at(work, k)]


@kernel
def call_law(numbers, n, work):
    """Evaluate the law of a tile; where its result is in `work`."""
    at = tile_work_at(work)
    for k in range(OUT.size):
        work[at + TILE_WORK.out + k] = 0.0
    law, first = int(numbers[n + EXTRA_AT + EXTRA.law]), int(numbers[n + EXTRA_AT + EXTRA.parameters])
    count = int(numbers[n + EXTRA_AT + EXTRA.count])
    poses, twists = work[at + TILE_WORK.poses : at + TILE_WORK.twists], work[at + TILE_WORK.twists : at + TILE_WORK.out]
    out = work[at + TILE_WORK.out : at + TILE_WORK.q]
    invoke(law, time_of(work), poses, twists, numbers[first : first + count], out, 14, 12, count, OUT.size)
    return at + TILE_WORK.out


@kernel
def between(numbers, n, motion, A, B):
    """Rotations of both bodies, d from the point on A to that on B, and both levers in space."""
    RA, rA = pose_of(motion, A)
    RB, rB = pose_of(motion, B)
    alpha, beta = mul(RA, vector(numbers, n + NUMBERS.a)), mul(RB, vector(numbers, n + NUMBERS.b))
    return RA, RB, sub(add(rB, beta), add(rA, alpha)), alpha, beta


@kernel
def frame_turn(numbers, n, side):
    """Rotation of the frame that the user gave a body in its central one; its quaternion takes the place of u."""
    at = n + NUMBERS.u + 4 * side
    return quaternion.to_matrix((numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]))
