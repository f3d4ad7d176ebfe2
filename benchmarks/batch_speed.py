"""Batches: many runs of a 7-joint arm with other masses in each, beside MuJoCo's `rollout` and one run at a time.

Then linkages with three loops, and a chain of 100 bodies in absolute coordinates with generalized alpha.
Run: python -m benchmarks.batch_speed, or with the word loops or chain for one of the parts. Prints a table and lines.

All in one process, in turn, on the same model and starts; the ends are compared first. Figures are processor time a
member and step, of all threads, with the making of all variants, the best of several repetitions.
"""

from __future__ import annotations

import copy
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import chasles as ch
from benchmarks import page
from chasles.io.load import load
from chasles.simulation.batch.schedule import carried_out

MEMBERS, STEPS, STEP = 1000, 500, 1e-3
ALONE = 20  # members that are run one at a time
CHAIN, CHAINS = 100, 8  # bodies, members
LOOPS, LINKAGES = 3, 32  # four-bars of a linkage, members
REPETITIONS, THREADS = 5, 2
AGREEMENT = 1e-8
BARS = {"MuJoCo, RK4": 5.0, "MuJoCo, Euler": 2.0, "chasles, one run at a time": 2.0}
AXES = ("0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1")


def arm() -> str:
    """The model: seven links on hinges, no contacts."""
    text = ""
    for k, axis in enumerate(AXES):
        text += (
            f'<body name="link{k}" pos="0 {0.02 * (k % 2)} {0.15 if k else 0.1}"><joint name="j{k}" axis="{axis}"/>'
            f'<inertial pos="0.01 0 0.07" mass="{3 - 0.3 * k}" diaginertia="0.02 0.018 0.006"/>'
        )
    flags = '<flag contact="disable" constraint="disable"/>'
    options = f'<option timestep="{STEP}" gravity="0 0 -9.81">{flags}</option>'
    return f"<mujoco>{options}<worldbody>{text}{'</body>' * len(AXES)}</worldbody></mujoco>"


def least(function: Callable[[], Any]) -> float:
    """Processor time [s], of all threads, the least of several."""
    found = []
    for _ in range(REPETITIONS):
        begin = time.process_time()
        function()
        found.append(time.process_time() - begin)
    return min(found)


class Peer:
    """MuJoCo's rollout of the same members."""

    def __init__(self, text: str, masses: np.ndarray, q: np.ndarray):
        import mujoco

        self.mujoco, self.masses = mujoco, masses
        self.model = mujoco.MjModel.from_xml_string(text)
        self.states = np.concatenate([np.zeros((len(q), 1)), q, np.zeros_like(q)], axis=1)

    def run(self, integrator: str) -> np.ndarray:
        """Coordinates at the end."""
        from mujoco import rollout

        self.model.opt.integrator = getattr(self.mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
        models, data = [], [self.mujoco.MjData(self.model) for _ in range(THREADS)]
        for masses in self.masses:
            model = copy.copy(self.model)
            model.body_mass[1:] = masses
            self.mujoco.mj_setConst(model, data[0])
            models.append(model)
        states, _ = rollout.rollout(models, data, self.states, nstep=STEPS)
        end: np.ndarray = states[:, -1, 1 : 1 + len(AXES)]
        return end


def chain(size: int, length: float = 0.1) -> ch.System:
    """Rods on hinges that hang from each other."""
    bodies = [ch.Body(f"b{k}", 1.0, (0, 0, -0.05), (0.001, 0.001, 0.0005)) for k in range(size)]
    joints = [
        ch.revolute(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", axis=(0, 1, 0), at=(0, 0, -length if k else 0))
        for k in range(size)
    ]
    return ch.System(bodies, joints)


def linkage(count: int, crank: float = 0.2) -> ch.System:
    """Planar four-bars of hinges, side by side."""
    bodies, joints = [], []
    for k in range(count):
        for name, mass, size in ((f"crank{k}", 1.0, crank), (f"coupler{k}", 2.0, 0.6), (f"rocker{k}", 1.5, 0.4)):
            moment = mass * size**2 / 12
            bodies.append(ch.Body(name, mass, (size / 2, 0, 0), (0.01 * moment, moment, moment)))
        ends: list[tuple[str, str, tuple[float, ...], float]] = [
            ("ground", f"crank{k}", (0, k, 0), 0.0),
            (f"crank{k}", f"coupler{k}", (crank, 0, 0), 0.0),
            ("ground", f"rocker{k}", (0.6, k, 0), 0.0),
            (f"coupler{k}", f"rocker{k}", (0.6, 0, 0), 0.4),
        ]
        joints += [
            ch.revolute(f"{name}{k}", parent, child, axis=(0, 0, 1), at=at, child_at=(far, 0, 0))
            for name, (parent, child, at, far) in zip("abdc", ends, strict=True)
        ]
    return ch.System(bodies, joints, gravity=(0, -9.81, 0))


def loops(rng: np.random.Generator) -> None:
    """The linkages on lanes and one run after the other, without and with what it takes to prepare them."""
    system = linkage(LOOPS)
    masses = {f"bodies.{body.name}.mass": body.mass * rng.uniform(0.5, 2.0, LINKAGES) for body in system.bodies}
    q = {f"a{k}": rng.uniform(0.8, 1.4, LINKAGES) for k in range(LOOPS)}
    for method, how in (("rk4", {"step": STEP}), ("dopri5", {"rtol": 1e-6})):
        _compare(system, q, dict[str, Any](method=method, parameters=masses, threads=1, **how))


def _compare(system: ch.System, q: Any, how: dict[str, Any], what: str = f"linkages of {LOOPS} loops") -> None:
    span = (0.0, STEPS * STEP)

    def whole() -> Any:
        return ch.simulate_batch(system, span, q, **how)

    batch = whole()
    assert not batch.reason, batch.reason
    tasks, steps, count = [run.task for run in batch], float(batch.steps.mean()), len(batch)

    def alone() -> list[Any]:
        return [task.carry_out(progress=False) for task in tasks]

    assert all(np.array_equal(run.q[-1], end) for run, end in zip(alone(), batch.ends.q, strict=True))
    one, lanes, prepared = (least(f) / count for f in (alone, lambda: carried_out(tasks), whole))
    print(
        f"\n{count} {what}, {steps:.0f} steps of {how['method']}, other masses and starts in "
        f"each: {1e6 * one / steps:.1f} µs a step one at a time, {1e6 * lanes / steps:.1f} on lanes: "
        f"{one / lanes:.2f} times; {1e3 * (prepared - lanes):.1f} ms to prepare a member"
    )


def implicit(rng: np.random.Generator) -> None:
    """The chain on both groups, one run after the other and on lanes (bar: 1.5 times)."""
    system = chain(CHAIN)
    masses = rng.uniform(0.8, 1.2, (CHAINS, CHAIN))
    q = np.linspace(0.03, 0, CHAIN) + 0.01 * rng.normal(size=(CHAINS, 1))
    parameters = {f"bodies.b{k}.mass": masses[:, k] for k in range(CHAIN)}
    for space in ("SO3xR3", "SE3"):
        how = dict[str, Any](coordinates="absolute", space=space, method="generalized_alpha", step=STEP)
        _compare(system, q, how | {"parameters": parameters, "threads": 1}, f"chains of {CHAIN} bodies on {space}")


def preparations() -> dict[str, float]:
    """Processor time [s] to prepare a member, by what varies: of a batch of two steps."""
    four, bodies = {f"a{k}": np.full(LINKAGES, 1.0) for k in range(LOOPS)}, {"coordinates": "absolute"}
    cases: dict[str, tuple[Any, str, float, Any, dict[str, Any]]] = {
        "arm, masses": (chain(len(AXES)), "bodies.b0.mass", 1.0, None, {}),
        "arm, lengths": (lambda length: chain(len(AXES), length), "length", 0.1, None, {}),
        "loops, masses": (linkage(LOOPS), "bodies.crank0.mass", 1.0, four, {}),
        "loops, lengths": (lambda crank: linkage(LOOPS, crank), "crank", 0.2, four, {}),
        "bodies, masses": (chain(CHAIN), "bodies.b0.mass", 1.0, None, bodies),
    }
    found = {}
    for name, (system, what, value, q, more) in cases.items():
        varied = {what: value * np.linspace(0.95, 1.05, LINKAGES)}
        how = {"method": "rk4", "step": STEP, "parameters": varied, "threads": 1, **more}
        work = partial(ch.simulate_batch, system, (0.0, 2 * STEP), q, **how)
        assert len(work()) == LINKAGES
        found[name] = least(work) / LINKAGES
    return found


def main() -> None:
    rng = np.random.default_rng(1)
    parts = {"loops": loops, "chain": implicit}
    for word in sys.argv[1:]:
        parts[word](rng)
    if not sys.argv[1:]:
        arms(rng)
        loops(rng)
        implicit(rng)


def arms(rng: np.random.Generator) -> None:
    """The arm on lanes, one run at a time, and by MuJoCo."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(arm(), encoding="utf-8")
        system = load(file).system
    q = rng.normal(size=(MEMBERS, len(AXES))) * 0.5
    masses = np.array([body.mass for body in system.bodies]) * rng.uniform(0.5, 2.0, (MEMBERS, len(AXES)))
    parameters = {f"bodies.{body.name}.mass": masses[:, k] for k, body in enumerate(system.bodies)}
    span, how = (0.0, STEPS * STEP), dict[str, Any](method="rk4", step=STEP)

    def lanes(threads: int = THREADS) -> np.ndarray:
        return ch.simulate_batch(system, span, q, parameters=parameters, threads=threads, **how).ends.q

    peer = Peer(arm(), masses, q)
    ends = lanes()
    off = float(np.abs(ends - peer.run("rk4")).max())
    assert off < AGREEMENT, f"ends differ by {off:.3g}"
    members = ch.simulate_batch(
        system, span, q[:ALONE], parameters={name: x[:ALONE] for name, x in parameters.items()}, **how
    )
    tasks = [run.task for run in members]

    def alone() -> None:
        for task in tasks:
            task.carry_out(progress=False)

    each = MEMBERS * STEPS * 1e-6
    found = {
        f"chasles, lanes, {THREADS} threads": least(lanes) / each,
        "chasles, lanes, one thread": least(lambda: lanes(1)) / each,
        "chasles, one run at a time": least(alone) / (ALONE * STEPS * 1e-6),
        "MuJoCo, RK4": least(lambda: peer.run("rk4")) / each,
        "MuJoCo, Euler": least(lambda: peer.run("euler")) / each,
    }
    mine = found["chasles, lanes, one thread"]
    rows = [
        [name, f"{value:.2f}", f"{value / mine:.1f}", f"{BARS[name]:g}" if name in BARS else ""]
        for name, value in found.items()
    ]
    print(f"{MEMBERS} members, {STEPS} steps of RK4, other masses in each; ends agree to {off:.1e}; {page.machine()}\n")
    print(page.table(["µs a member and step", "", "over lanes", "bar"], rows))


if __name__ == "__main__":
    main()
