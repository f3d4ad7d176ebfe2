"""What is small: the size of corrections of each body, angles and lengths apart.

A body's angles are compared with how far it turns in a step, its displacements with how far it moves against the
others. So nothing depends on the units, on a velocity that all bodies share, or on bodies that no joint connects with
it. An island is a set of bodies that joints and constraints connect.
"""

from __future__ import annotations

from chasles.absolute.kkt import POSE, size_of_row
from chasles.absolute.tables import BODY, FIELD, MASS, SE3
from chasles.constraint.rows import TILE
from chasles.kernel.algebra import add, cross, dot, scale, sub
from chasles.kernel.functions import larger, smaller
from chasles.kernel.lanes import all_true, load, sqrt, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6, store3
from chasles.lie import quaternion

# of a body: its squared length and the inverse of that, from the model; 1/goal² of angles and displacements in a step;
# the square of how far it is from the origin; of adaptive runs the absolute tolerance of displacements
GOAL = layout("GOAL", length=1, inverse=1, turn=1, move=1, far=1, atol=1)
# of an island: mass, velocity of its center, the largest |r|² and |ω|², and velocity² against its center
ISLAND = layout("ISLAND", mass=1, velocity=3, reach=1, spin=1, speed=1)
# its center, squares of distances against it, and of velocities
EXTENT = layout("EXTENT", center=3, spread=1, fastest=1)
TINY, UNKNOWN = 1e-300, 1e300
UNSURE = 1e-12  # [rad²] where rounding of positions spoils angles by more, nothing can be said about them


@kernel
def velocity_in_space(bodies, q, v, i):
    """Velocity of the center of body i."""
    linear = load3(v, 6 * i + 3, 0.0)
    if bodies[i * BODY.size + BODY.space] == SE3:
        at = POSE * i
        return quaternion.rotate((q[at], q[at + 1], q[at + 2], q[at + 3]), linear)
    return linear


@kernel
def raise_to(sizes, at, value):
    """Let a number be at least so large."""
    store(sizes, at, larger(load(sizes, at, 0.0), value))


@kernel
def measure_islands(workspace, q, v):
    """Numbers of all islands at a state."""
    tables, islands, sizes = workspace.tables, workspace.plan.islands, workspace.island_sizes
    for k in range(ISLAND.size * tables.n):
        sizes[k] = 0.0
    for i in range(tables.n):
        at, mass = ISLAND.size * islands[i], tables.masses[i * MASS.size + MASS.mass]
        place, spin = load3(q, POSE * i + 4, 0.0), load3(v, 6 * i, 0.0)
        store(sizes, at + ISLAND.mass, load(sizes, at + ISLAND.mass, 0.0) + mass)
        add3(sizes, at + ISLAND.velocity, scale(mass, velocity_in_space(tables.bodies, q, v, i)))
        raise_to(sizes, at + ISLAND.reach, dot(place, place))
        raise_to(sizes, at + ISLAND.spin, dot(spin, spin))
    for i in range(tables.n):
        at = ISLAND.size * i
        if all_true(sizes[at + ISLAND.mass] > 0.0):
            light = 1.0 / sizes[at + ISLAND.mass]
            store3(sizes, at + ISLAND.velocity, scale(light, load3(sizes, at + ISLAND.velocity, 0.0)))


@kernel
def squared_speed(workspace, q, v, i):
    """Square of a body's velocity against the center of its island, and of what its rotation adds."""
    at, spin = ISLAND.size * workspace.plan.islands[i], load3(v, 6 * i, 0.0)
    away = sub(
        velocity_in_space(workspace.tables.bodies, q, v, i), load3(workspace.island_sizes, at + ISLAND.velocity, 0.0)
    )
    return dot(away, away) + workspace.goals[GOAL.size * i + GOAL.length] * dot(spin, spin)


@kernel
def set_goals(workspace, h, tolerance, rounding, rates):
    """What corrections of a step must be below: the tolerance times what the velocities v and h v' move a body by, but
    not below rounding. rates: v', six numbers a body, or nothing.

    A body that rests among others that move need not be known better than they are: it counts as if it turned like the
    fastest of its island, but not for more than the displacements of the island.
    """
    bodies, goals, sizes = workspace.tables.bodies, workspace.goals, workspace.island_sizes
    measure_islands(workspace, workspace.q, workspace.v)
    known, share, least = rates.shape[0] > 0, tolerance * tolerance * h * h, rounding * rounding
    for i in range(workspace.tables.n):
        island, speed = ISLAND.size * workspace.plan.islands[i], squared_speed(workspace, workspace.q, workspace.v, i)
        goals[GOAL.size * i + GOAL.move] = speed
        raise_to(sizes, island + ISLAND.speed, speed)
    for i in range(workspace.tables.n):
        at, island = GOAL.size * i, ISLAND.size * workspace.plan.islands[i]
        spin, inverse = load3(workspace.v, 6 * i, 0.0), goals[at + GOAL.inverse]
        fastest, speed = load(sizes, island + ISLAND.spin, 0.0), load(sizes, island + ISLAND.speed, 0.0)
        move = larger(goals[at + GOAL.move], smaller(speed, goals[at + GOAL.length] * fastest))
        turn = dot(spin, spin)
        if known:
            angular, linear = load6(rates, 6 * i, 0.0)
            if bodies[i * BODY.size + BODY.space] == SE3:
                linear = add(linear, cross(spin, load3(workspace.v, 6 * i + 3, 0.0)))
            turn += h * h * dot(angular, angular)
            move += h * h * dot(linear, linear)
        turn = larger(turn, smaller(fastest, move * inverse))
        far = goals[at + GOAL.length] + load(sizes, island + ISLAND.reach, 0.0)
        noise = least  # of angles: joints make them of positions
        if bodies[i * BODY.size + BODY.count] > 0:
            noise = smaller(least * far * inverse, UNSURE)
        goals[at + GOAL.turn] = 1.0 / larger(share * turn, noise)
        goals[at + GOAL.move] = 1.0 / larger(share * move, least * far)
        goals[at + GOAL.far] = far


@kernel
def size_of_correction(workspace):
    """The largest correction in d relative to its goal, and the sum of all numbers: if one of them is not finite, it is
    not either."""
    goals, d, largest, total = workspace.goals, workspace.d, 0.0, 0.0
    for i in range(workspace.tables.n):
        at, angular, linear = GOAL.size * i, load3(d, 6 * i, 0.0), load3(d, 6 * i + 3, 0.0)
        turn, move = goals[at + GOAL.turn] * dot(angular, angular), goals[at + GOAL.move] * dot(linear, linear)
        largest = larger(largest, larger(turn, move))
        total += angular[0] + angular[1] + angular[2] + linear[0] + linear[1] + linear[2]
    return sqrt(largest), total


@kernel
def size_of_noise(workspace, iteration):
    """The largest correction in d relative to how far bodies are from the origin: what rounding is relative to. Only
    from the second iteration on, as no other asks."""
    goals, d, largest = workspace.goals, workspace.d, 0.0
    if iteration < 2:
        return UNKNOWN
    for i in range(workspace.tables.n):
        at, angular, linear = GOAL.size * i, load3(d, 6 * i, 0.0), load3(d, 6 * i + 3, 0.0)
        turned = goals[at + GOAL.length] * dot(angular, angular)
        largest = larger(largest, larger(turned, dot(linear, linear)) / goals[at + GOAL.far])
    return sqrt(largest)


@kernel
def size_of_change(workspace, before, now):
    """The largest change of velocities relative to what rounding is relative to.

    Joints make angular velocities of velocities. Of a free body only the part that forces change counts.
    """
    bodies, islands, sizes, largest = workspace.tables.bodies, workspace.plan.islands, workspace.island_sizes, 0.0
    for i in range(workspace.tables.n):
        sizes[i] = 0.0
    for i in range(workspace.tables.n):
        spin, velocity = load6(now, 6 * i, 0.0)
        lever = workspace.goals[GOAL.size * i + GOAL.length]
        sizes[islands[i]] = larger(sizes[islands[i]], dot(velocity, velocity) + lever * dot(spin, spin))
    for i in range(workspace.tables.n):
        spin, velocity = load6(now, 6 * i, 0.0)
        was, fell = load6(before, 6 * i, 0.0)
        turn, move, gained = sub(spin, was), sub(velocity, fell), sub(velocity, load3(workspace.v, 6 * i + 3, 0.0))
        held = sizes[islands[i]] if bodies[i * BODY.size + BODY.count] > 0 else dot(gained, gained)
        fast = dot(spin, spin) + held * workspace.goals[GOAL.size * i + GOAL.inverse]
        largest = larger(largest, dot(turn, turn) / larger(fast, TINY))
        largest = larger(largest, dot(move, move) / larger(sizes[islands[i]], TINY))
    return sqrt(largest)


@kernel
def row_size(workspace, t, side, k):
    """What the residual of row k of a tile is the difference of, as far as one of its bodies goes."""
    i = workspace.tables.tiles[t * TILE.size + TILE.first + side]
    if i < 0:
        return 0.0
    far = workspace.goals[GOAL.size * i + GOAL.far]
    turn = sqrt(far * workspace.goals[GOAL.size * i + GOAL.inverse])
    return size_of_row(workspace.tables.tiles, workspace.rows, t, side, k, turn, sqrt(far))


@kernel
def size_of_residual(workspace):
    """The largest number of g and, where rows depend on others, the largest relative to what it is the difference of;
    zero elsewhere."""
    off, uneven = 0.0, 0.0
    for k in range(3 * workspace.plan.n_nodes):
        off = larger(off, abs(workspace.g[k]))
    if workspace.tables.gravity[FIELD.regularization] > 0.0:
        for t in range(workspace.tables.nt):
            for k in range(3):
                total = row_size(workspace, t, 0, k) + row_size(workspace, t, 1, k)
                if total > 0.0:
                    uneven = larger(uneven, abs(workspace.g[3 * workspace.plan.nodes[t] + k]) / total)
    return off, uneven
