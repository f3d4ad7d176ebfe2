"""Where forward dynamics with followers keeps what is open: terms of links, and coefficients of groups."""

from __future__ import annotations

from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout
from chasles.relative.elimination import PLAN
from chasles.relative.forward import LIMB
from chasles.relative.tables import links_of

GROUP_TERM = layout("GROUP_TERM", term=6, before=6)  # P of a group at a link, and as it was before the link's own joint
WORK = f"{LIMB.size}*slots+{GROUP_TERM.size}*places+pairs+2*groups"


@kernel
def rooms(topology, plan):
    """Where the terms P, the coefficients D, the rests d and the accelerations of the groups are in the workspace."""
    terms = LIMB.size * (links_of(topology) + 1)
    pairs = terms + GROUP_TERM.size * plan[PLAN.places]
    rests = pairs + plan[PLAN.pairs]
    return terms, pairs, rests, rests + plan[PLAN.groups]


@kernel
def add_to(work, at, x, z):
    store(work, at, load(work, at, z) + x)


@kernel
def add6(work, at, x):
    add3(work, at, x[0])
    add3(work, at + 3, x[1])
