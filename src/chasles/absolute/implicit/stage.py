"""The equations of a stage of half-explicit methods: forces and inertia of this stage, rows of the next one."""

from __future__ import annotations

from chasles.absolute.implicit.saddle import BLOCK
from chasles.absolute.implicit.structure import PLACE, SEPARATE
from chasles.absolute.kkt import each
from chasles.absolute.tables import BODY, MASS, SE3
from chasles.constraint.rows import IDENTITY, MOTION, ROTOR, ROWS, TILE
from chasles.kernel.algebra import add_scaled, cross, mat_mul_t, mat_scale, mul_t, scale, sub
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3, store9


@kernel
def forces_on(desk):
    """Applied and gyroscopic forces: torque in the body, force in space (less what turns with the body)."""
    masses, gravity, motion, wrenches, f = desk.tables.masses, desk.tables.gravity, desk.motion, desk.wrenches, desk.f
    for i in range(desk.tables.n):
        at, m = i * MOTION.size, i * MASS.size
        spin = load3(motion, at + MOTION.spin, 0.0)
        turn = cross(spin, each(load3(masses, m + MASS.moments, 0.0), spin))
        fall = sub((gravity[0], gravity[1], gravity[2]), load3(motion, at + MOTION.transport, 0.0))
        store3(f, 6 * i, sub(load3(wrenches, 6 * i, 0.0), turn))
        store3(f, 6 * i + 3, add_scaled(load3(wrenches, 6 * i + 3, 0.0), masses[m + MASS.mass], fall))


@kernel
def keep_rotations(desk):
    """Rotations of this stage, for the blocks of bodies on SE(3)."""
    for i in range(desk.tables.n):
        if desk.tables.bodies[i * BODY.size + BODY.space] == SE3:
            R = load9(desk.motion, i * MOTION.size + MOTION.rotation, 0.0)
            store9(desk.blocks, i * BLOCK.size + BLOCK.ll, R)


@kernel
def inertia_blocks(desk):
    """M; on SE(3) the unknown V' has its linear part in axes that turned from this stage to the next."""
    masses, motion, blocks = desk.tables.masses, desk.motion, desk.blocks
    for i in range(desk.tables.n):
        at = i * BLOCK.size
        theta, mass = load3(masses, i * MASS.size + MASS.moments, 0.0), masses[i * MASS.size + MASS.mass]
        store9(blocks, at + BLOCK.aa, (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2]))
        if desk.plan.places[i * PLACE.size + PLACE.kind] == SEPARATE:
            blocks[at + BLOCK.ll] = mass
        else:
            turned = IDENTITY
            if desk.tables.bodies[i * BODY.size + BODY.space] == SE3:
                R = load9(motion, i * MOTION.size + MOTION.rotation, 0.0)
                turned = mat_mul_t(load9(blocks, at + BLOCK.ll, 0.0), R)
            store9(blocks, at + BLOCK.ll, mat_scale(mass, turned))
            store9(blocks, at + BLOCK.la, mat_scale(0.0, IDENTITY))
            store9(blocks, at + BLOCK.al, mat_scale(0.0, IDENTITY))


@kernel
def rotor_equations(desk):
    """Rotors: J V' - λ = rate, all of this stage; what turned to the next is in the blocks."""
    bodies, tiles, masses, blocks = desk.tables.bodies, desk.tables.tiles, desk.tables.masses, desk.blocks
    old, rows, g, nodes = desk.old, desk.rows, desk.g, desk.plan.nodes
    for j in range(desk.tables.nt):
        if tiles[j * TILE.size + TILE.kinds] == ROTOR:
            at = j * ROWS.size
            for side in range(2):
                i, place = tiles[j * TILE.size + TILE.first + side], at + ROWS.first_angular + 18 * side
                store3(rows, place, load3(old, place, 0.0))
                linear = load3(old, place + 9, 0.0)
                if i >= 0 and bodies[i * BODY.size + BODY.space] == SE3:
                    turned = load9(blocks, i * BLOCK.size + BLOCK.ll, 0.0)
                    linear = scale(1.0 / masses[i * MASS.size + MASS.mass], mul_t(turned, linear))
                store3(rows, place + 9, linear)
            g[3 * nodes[j]] = old[at + ROWS.rate]
