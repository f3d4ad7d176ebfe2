"""A mass matrix that is singular by structure is found and named before the run; small masses are not."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.cli.check import report
from chasles.relative.determined import Islands

AXIS = (1.0, 0.3, -0.2)
FULL = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.12, 0.15)}


def pair(first, second, middle=None, **tip):
    """Two joints, x and y, with a body m between that has nothing, or little."""
    return ch.System([middle or ch.Body("m"), ch.Body("b", **(tip or FULL))], [first, second])


def two(make, middle=None, more=None, **how):
    return pair(make("x", "ground", "m", **how), make("y", "m", "b", **how, **(more or {})), middle)


POINT = {"mass": 2.0, "com": (0.0, 0.0, 0.4)}
SINGULAR = {
    "coaxial hinges": (two(ch.revolute, axis=AXIS), {"x", "y"}),
    "parallel slides": (two(ch.prismatic, axis=AXIS), {"x", "y"}),
    "parallel slides, apart": (two(ch.prismatic, axis=AXIS, more={"at": (0.3, 0.1, 0.0)}), {"x", "y"}),
    "same screws": (two(ch.helical, axis=AXIS, pitch=0.1), {"x", "y"}),
    "cylindrical on a hinge": (
        pair(ch.revolute("x", "ground", "m", axis=AXIS), ch.cylindrical("y", "m", "b", axis=AXIS)), {"x", "y"}
    ),
    "planar on a slide in its plane": (
        pair(ch.prismatic("x", "ground", "m", axis=(1, 0, 0)), ch.planar("y", "m", "b", normal=(0, 0, 1))), {"x", "y"}
    ),
    "ball on a hinge": (
        pair(ch.revolute("x", "ground", "m", axis=AXIS), ch.spherical("y", "m", "b")), {"x", "y"}
    ),
    "point mass on a ball": (
        ch.System([ch.Body("b", **POINT)], [ch.spherical("x", "ground", "b")]), {"x"}
    ),
    "point mass on its hinge": (
        ch.System([ch.Body("b", 2.0)], [ch.revolute("x", "ground", "b", axis=AXIS)]), {"x"}
    ),
    "free point mass": (ch.System([ch.Body("b", **POINT)], []), {"free b"}),
    "rod that turns about itself": (
        ch.System([ch.Body("b", 1.0, (0, 0, 1), (0.2, 0.2, 0.0))], [ch.revolute("x", "ground", "b", axis=(0, 0, 1))]),
        {"x"},
    ),
    "two point masses on a ball, in line with it": (
        ch.System(
            [ch.Body("a", 1.0, (0, 0, 1)), ch.Body("b", 1.0, (0, 0, 1))],
            [ch.spherical("x", "ground", "a"), ch.weld("w", "a", "b")],
        ),
        {"x"},
    ),
}  # fmt: skip
TINY = ch.Body("m", 1e-9, inertia=(1e-10,) * 3)
REGULAR = {
    "tiny body between coaxial hinges": two(ch.revolute, TINY, axis=AXIS),
    "tiny body between parallel slides": two(ch.prismatic, TINY, axis=AXIS),
    "armature": two(ch.revolute, axis=AXIS, more={"armature": 1e-9}),
    "crossed hinges": pair(ch.revolute("x", "ground", "m", axis=(1, 0, 0)), ch.revolute("y", "m", "b", axis=(0, 1, 0))),
    "hinge and slide": pair(ch.revolute("x", "ground", "m", axis=AXIS), ch.prismatic("y", "m", "b", axis=AXIS)),
    "hinges apart": two(ch.revolute, axis=AXIS, more={"at": (0.0, 0.4, 0.1)}),
    "pendulum of a point mass": ch.System([ch.Body("b", **POINT)], [ch.revolute("x", "ground", "b", axis=(1, 0, 0))]),
    "two point masses on a ball": ch.System(
        [ch.Body("a", 1.0, (0, 0, 1)), ch.Body("b", 1.0, (0, 1, 0))],
        [ch.spherical("x", "ground", "a"), ch.weld("w", "a", "b")],
    ),
    "universal": ch.System([ch.Body("b", **FULL)], [ch.universal("x", "ground", "b")]),
    "planar": ch.System([ch.Body("b", **FULL)], [ch.planar("x", "ground", "b", normal=AXIS)]),
    "far from the origin": ch.System(
        [ch.Body("m", 1.0, (1e6, 0, 0), (0.1, 0.1, 0.1)), ch.Body("b", **FULL)],
        [ch.revolute("x", "ground", "m", axis=AXIS), ch.revolute("y", "m", "b", axis=AXIS, at=(1e6, 0, 0))],
    ),
}


def lowest(mechanism):
    """The smallest eigenvalue of the mass matrix scaled to ones on its diagonal, the largest of some configurations."""
    found = []
    for seed in range(3):
        M = mechanism.mass_matrix(mechanism.random(np.random.default_rng(seed)))
        size = np.sqrt(np.maximum(np.diag(M), 1e-300))
        found.append(np.linalg.eigvalsh(M / np.outer(size, size))[0] if np.diag(M).min() > 1e-14 else 0.0)
    return max(found)


@pytest.mark.parametrize("name", SINGULAR)
def test_singular_systems_are_named(name):
    system, joints = SINGULAR[name]
    mechanism = system.compile()
    assert lowest(mechanism) < 1e-13  # what the mass matrix says
    assert set(Islands(mechanism).idle(mechanism.random(np.random.default_rng(5))).joints) == joints
    with pytest.raises(ValueError, match=r"wherever the mechanism is, joint.* without moving any mass") as error:
        ch.simulate(system, (0.0, 1.0))
    assert all(repr(joint) in str(error.value) for joint in joints)
    assert ("armature" in str(error.value)) == any(system.joint(name).screws for name in joints if name != "free b")


@pytest.mark.parametrize("name", REGULAR)
def test_regular_systems_are_not(name):
    mechanism = REGULAR[name].compile()
    islands = Islands(mechanism)
    for seed in range(3):
        assert islands.idle(mechanism.random(np.random.default_rng(seed))) is None


def test_small_masses_run():
    for name in ("tiny body between coaxial hinges", "armature"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert ch.simulate(REGULAR[name], (0.0, 0.01), certificate=False).success


def test_a_singular_start_of_a_regular_system():
    """Two hinges with a massless elbow between, of which the second is turned onto the axis of the first."""
    system = ch.System(
        [ch.Body("m"), ch.Body("n"), ch.Body("b", **FULL)],
        [
            ch.revolute("x", "ground", "m", axis=(0, 0, 1)),
            ch.revolute("t", "m", "n", axis=(1, 0, 0)),
            ch.revolute("y", "n", "b", axis=(0, 0, 1)),
        ],
    )
    assert ch.simulate(system, (0.0, 0.01), [0.1, 0.9, 0.2], certificate=False).success
    with pytest.raises(ValueError, match=r"at the start, joints 'x', 'y' can move against each other"):
        ch.simulate(system, (0.0, 0.01), [0.1, 0.0, 0.2])


def test_a_loop_with_a_singular_tree():
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    z = (0, 0, 1)
    system = ch.System(
        [ch.Body("m"), *(ch.Body(name, **bar) for name in ("crank", "coupler", "rocker"))],
        [
            ch.revolute("A0", "ground", "m", axis=z),
            ch.revolute("A", "m", "crank", axis=z),
            ch.revolute("B", "crank", "coupler", axis=z, at=(1, 0, 0)),
            ch.revolute("C", "coupler", "rocker", axis=z, at=(1, 0, 0), child_at=(1, 0, 0)),
            ch.revolute("D", "ground", "rocker", axis=z, at=(1.3, 0, 0)),
        ],
    )
    with pytest.raises(
        ValueError, match=r"joints 'A0', 'A' can move against each other .* give 'm' a mass and moments"
    ):
        ch.simulate(system, (0.0, 1.0), assemble=True)
    with pytest.raises(ValueError, match=r"body 'm' has mass 0"):  # absolute coordinates need a mass of every body
        ch.simulate(system, (0.0, 1.0), assemble=True, coordinates="absolute")


def random_tree(rng):
    """Bodies with nothing, with a mass alone, as rods or whole, on joints along few axes, so that many depend."""
    bodies, joints = [], []
    for k in range(rng.integers(2, 6)):
        what = rng.choice(["nothing", "point", "rod", "whole"], p=[0.45, 0.15, 0.1, 0.3])
        mass, com = (0.0, (0, 0, 0)) if what == "nothing" else (10.0 ** rng.integers(-9, 3), rng.integers(-1, 2, 3))
        moments = {"rod": (0.1, 0.1, 0.0), "whole": (0.1, 0.12, 0.14)}.get(what, (0.0, 0.0, 0.0))
        bodies.append(ch.Body(f"b{k}", mass, com, inertia=mass * np.array(moments)))
        parent = "ground" if k == 0 else f"b{rng.integers(0, k)}"
        axis, at = np.eye(3)[rng.integers(0, 3)], 0.5 * rng.integers(0, 2, 3)
        names = {"at": at, "armature": 1e-6 * (rng.integers(0, 5) // 4)}
        made = [
            lambda *ends, axis=axis, names=names: ch.revolute(*ends, axis=axis, **names),
            lambda *ends, axis=axis, names=names: ch.prismatic(*ends, axis=axis, **names),
            lambda *ends, axis=axis, names=names: ch.cylindrical(*ends, axis=axis, **names),
            lambda *ends, at=at: ch.universal(*ends, at=at),
            lambda *ends, at=at: ch.spherical(*ends, at=at),
            lambda *ends, at=at: ch.weld(*ends, at=at),
            lambda *ends, axis=axis, at=at: ch.planar(*ends, normal=axis, at=at),
        ][rng.integers(0, 7)]
        joints.append(made(f"j{k}", parent, f"b{k}"))
    return ch.System(bodies, joints)


def test_random_trees_against_the_rank_of_the_mass_matrix():
    rng, found = np.random.default_rng(11), {True: 0, False: 0}
    for _ in range(100):
        system = random_tree(rng)
        try:
            mechanism = system.compile()
        except ValueError as error:
            assert "carries no mass" in str(error)  # noqa: PT017
            continue
        if not mechanism.nv:
            continue
        q = mechanism.random(rng)
        # with all masses of one size the rank shows; where there is something does not depend on how much
        heavy = [
            ch.Body(b.name, float(b.mass > 0), b.com, np.array(b.inertia) / (b.mass or 1.0)) for b in system.bodies
        ]
        M = ch.System(heavy, [replace(j, armature=np.sign(j.armature)) for j in system.joints]).compile().mass_matrix(q)
        size = np.sqrt(np.where(np.diag(M) > 1e-14, np.diag(M), 1.0))
        singular = bool(np.linalg.eigvalsh(M / np.outer(size, size))[0] < 1e-12)
        assert (Islands(mechanism).idle(q) is not None) == singular
        found[singular] += 1
    assert min(found.values()) > 5


def test_linearize_and_check_say_so_too():
    system, _ = SINGULAR["parallel slides"]
    with pytest.raises(ValueError, match=r"joints 'x', 'y' can move against each other"):
        ch.linearize(system)
    lines = report(ch.io.Study(system))["lines"]
    assert any(line.startswith("joint coordinates: not possible, because 'system': wherever") for line in lines)
    assert not any(line.startswith("joint") for line in report(ch.io.Study(REGULAR["armature"]))["lines"])
