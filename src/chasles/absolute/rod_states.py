"""Elements of rods at states: strains, stresses and energies for output, and stresses that Newton's method in statics
carries as iterates of their own."""

from __future__ import annotations

from chasles.absolute.forces import set_states
from chasles.absolute.tables import force_work_of, forces_of
from chasles.constraint.rows import IDENTITY
from chasles.force.bushing import four_motions, four_of, run_of_elements, wrenches_of
from chasles.force.rod import OWN_STRESS, bent, four_elements, pushed, refer, strain_map
from chasles.force.table import FORCE, FORCES, MOVING, ROD
from chasles.kernel.algebra import add, mul, neg
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel
from chasles.kernel.rows import store_rows
from chasles.kernel.tiles import symmetric_times
from chasles.kernel.workspace import layout

# of an element: X, X₀ and the rate of X, the stress of the element, stresses in the sections at its two ends, what the
# stress would be to first order if the element moved on by its rate for a unit of time, energy
STATE = layout("STATE", X=6, rest=6, rate=6, stress=6, first=6, second=6, ahead=6, energy=1)
ORIGIN = (IDENTITY, (0.0, 0.0, 0.0))


@kernel
def tiles_times(b, x):
    """Four tiles times a pair of vectors."""
    return add(mul(b[0], x[0]), mul(b[1], x[1])), add(mul(b[2], x[0]), mul(b[3], x[1]))


@kernel(entry=True, allocates=True)
def states_of_rods(integers, p, times, q, v, work, four, out):
    """`STATE` of all elements of rods, in their order, of a batch of states at times. four: workspace for four of
    them."""
    forces, space = forces_of(p), force_work_of(work, integers)
    table, values, states = forces.table, forces.values, space.states
    for row in range(q.shape[0]):
        set_states(forces.bodies, forces.n, q[row], v[row], states)
        k, done = 0, 0
        while k < table[FORCES.count]:
            line, count = FORCES.size + k * FORCE.size, 1
            if table[line + FORCE.kind] == ROD:
                count = run_of_elements(table, k)
                first = four_motions(four_of(table, k, count, FORCE.first), states, MOVING.size)
                second = four_motions(four_of(table, k, count, FORCE.second), states, MOVING.size)
                refer(times[row], table, k, count, values, space.scratch)
                element, given = four_elements(table, k, count, values), table[line + FORCE.fourth]
                at, law = bent(element, first, second, given)
                energy = pushed(element, at, law, OWN_STRESS)[3]
                on_first, on_second, _ = wrenches_of((ORIGIN, ORIGIN), at)
                ahead = symmetric_times(law.stiffness, tiles_times(strain_map(element, law), at.rate))
                ahead = add(ahead[0], law.elastic[0]), add(ahead[1], law.elastic[1])
                store_rows(four, 0, STATE.size, (
                    *at.X[0], *at.X[1], *element.rest[0], *element.rest[1], *at.rate[0], *at.rate[1],
                    *law.elastic[0], *law.elastic[1], *on_first[0], *on_first[1],
                    *neg(on_second[0]), *neg(on_second[1]), *ahead[0], *ahead[1], energy,
                ))  # fmt: skip
                for m in range(min(count, WIDTH) * STATE.size):
                    out[row, done * STATE.size + m] = four[m]
                done += count
            k += count
