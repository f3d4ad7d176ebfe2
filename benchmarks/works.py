"""The works of the speed board: each checks agreement with its peers and returns a function that times one round."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

# what a work yields in each round: the part of the work, the peer, our time and theirs [s]
Timed = tuple[str, str, float, float]

WORKS: dict[str, tuple[str, Callable[[], Callable[[], Iterator[Timed]]]]] = {}


def work(name: str, *needs: str) -> Callable[[Any], Any]:
    """Register a work: a function that checks agreement and returns a function that times one round."""

    def add(prepare: Any) -> Any:
        WORKS[name] = needs[0], prepare
        return prepare

    return add


# ---------------------------------------------------------------- trees, against Pinocchio

STATES = 128  # whose derivatives are one batch


@work("trees", "pinocchio")
def trees() -> Callable[[], Iterator[Timed]]:
    from benchmarks import derivative_speed, tree_speed
    from chasles.relative.mechanism import Mechanism

    pairs, slopes = {}, {}
    for title in ("arm, 7 joints", "humanoid, 36 velocities"):
        mechanism = Mechanism(tree_speed.MECHANISMS[title]())
        pairs[title] = tree_speed.Pair(mechanism, 1024, tree_speed.CACHED_NUMBERS)
        slopes[title] = derivative_speed.Pair(mechanism, STATES * 3 * mechanism.nv**2)
        pairs[title].deviations()
        slopes[title].deviations()

    def once() -> Iterator[Timed]:
        for title, pair in pairs.items():
            short = title.split(",")[0]
            for name, (raw, ours, theirs) in tree_speed.versus_calls(pair).items():
                yield f"{short}: {name}, one checked call", "Pinocchio", ours, theirs
                if name == "mass matrix":
                    yield f"{short}: {name}, one raw call", "Pinocchio", raw, theirs
            for name, (ours, theirs) in tree_speed.versus_batch(pair, pair.raw()).items():
                yield f"{short}: {name}, batch", "Pinocchio", ours, theirs
            for name, ours in tree_speed.packed_batch(pair).items():  # Pinocchio's time is that of the whole matrix
                yield f"{short}: {name}", "Pinocchio", ours, theirs
            for name, (ours, theirs) in tree_speed.versus_batch(pair, pair.checked()).items():
                yield f"{short}: {name}, batch, checked, new array", "Pinocchio", ours, theirs
            for name, times in derivative_speed.versus(slopes[title], slopes[title].raw()).items():
                yield f"{short}: derivatives of {name}, batch", "Pinocchio", *times

    return once


# ---------------------------------------------------------------- absolute coordinates, against Exudyn


@work("absolute", "exudyn")
def absolute() -> Callable[[], Iterator[Timed]]:
    from benchmarks import constrained_speed as explicit
    from benchmarks import implicit_speed as implicit

    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    runs = {n: implicit.prepared(implicit.chain(n), implicit.DEFAULT, implicit.STEP) for n in (10, 100)}

    def once() -> Iterator[Timed]:
        for n, run in runs.items():
            theirs = implicit.exudyn_chain(n, max(40, 4000 // n))
            ours = implicit.time_of_steps(run, 4000 // n) / n
            yield f"chain of {n}, generalized alpha, a body and step", "Exudyn", ours, theirs
        theirs = explicit.exudyn_chain(100, 100)
        ours = explicit.per_body_and_step(explicit.chain(100), 200)
        yield "chain of 100, RK4 with projection, a body and step", "Exudyn", ours, theirs

    return once


@work("bushings", "exudyn")
def bushings() -> Callable[[], Iterator[Timed]]:
    from benchmarks import bushing_speed as mounts

    sys.exudynFast = True  # type: ignore[attr-defined]
    n, steps = 100, 40
    run = mounts.prepared(mounts.mounted(n), mounts.DEFAULT, mounts.STEP)
    run.advance(steps)
    ours, theirs = run.problem.split(run.point())[0][-1, 6], mounts.exudyn_mounted(n, steps)[1]
    assert abs(ours - theirs) < 1e-3 * abs(theirs), f"the last rod is at {ours}, Exudyn's at {theirs}"

    def once() -> Iterator[Timed]:
        spent = mounts.exudyn_mounted(n, steps)[0]
        yield "100 rods on bushings, a body and step", "Exudyn", mounts.time_of_steps(run, steps) / n, spent

    return once


@work("rods", "exudyn")
def rods() -> Callable[[], Iterator[Timed]]:
    from benchmarks import rod_speed

    sys.exudynFast = True  # type: ignore[attr-defined]
    ours, theirs = rod_speed.own_steps(16)[1], rod_speed.exudyn_steps(16)[1]
    assert np.abs(ours - theirs).max() < 0.5, "the free rods are not in the same place"
    assert rod_speed.own_bend(8)[1] < 2e-3

    def once() -> Iterator[Timed]:
        own, other = rod_speed.own_steps(16)[0], rod_speed.exudyn_steps(16)[0]
        yield "free rod of 16 elements, an element and step", "Exudyn", own, other
        own, other = rod_speed.own_bend(8)[0], rod_speed.exudyn_bend(95, 20)[0]
        yield "45 degree bend to 1.3e-3", "Exudyn", own, other

    return once


# ---------------------------------------------------------------- a heavy top, groups, start


@work("top", "exudyn")
def top() -> Callable[[], Iterator[Timed]]:
    """To errors of the center of mass after 1 s, each program with the fastest of its methods tried."""
    import chasles as ch
    from benchmarks import integrator_speed as heavy

    goals = (1e-3, 1e-6, 1e-9)
    own = [(ch.integrate.RKMK(name), n) for name, counts in (("rk4", (500, 1000, 4000)), ("dop853", (90, 180, 450)))
           for n in counts]  # fmt: skip
    others = [("RK44", 700), ("RK44", 4000), ("RK67", 300), ("RK67", 800), ("RK67", 2500)]

    def fastest(runs: list[tuple[float, float, Any]], goal: float) -> Any:
        good = [run for run in runs if run[0] <= goal]
        assert good, f"heavy top: nothing reaches {goal:g}: {[run[0] for run in runs]}"
        return min(good, key=lambda run: run[1])[2]

    def ours(choice: Any) -> tuple[float, float, int]:
        return heavy.chasles_run(choice[0], step=1 / choice[1])

    def theirs(choice: Any) -> tuple[float, float, int]:
        return heavy.exudyn_run(*choice)

    for choice in own:
        ours(choice)  # compiles
    mine = [(*ours(choice)[:2], choice) for choice in own]
    yours = [(*theirs(choice)[:2], choice) for choice in others]
    loose = [(*heavy.scipy_run(tolerance)[:2], tolerance) for tolerance in (1e-5, 1e-8, 1e-11)]

    def once() -> Iterator[Timed]:
        for goal in goals:
            spent = min(ours(fastest(mine, goal))[1] for _ in range(3))
            slow = min(theirs(fastest(yours, goal))[1] for _ in range(3))
            yield f"heavy top, 1 s to {goal:g} m", "Exudyn", spent, slow
            yield f"heavy top, 1 s to {goal:g} m", "SciPy", spent, heavy.scipy_run(fastest(loose, goal))[1]

    return once


@work("groups", "scipy")
def groups() -> Callable[[], Iterator[Timed]]:
    """Functions of Lie groups on 100 000 elements. Pinocchio has no functions of arrays: it runs in a loop."""
    from benchmarks import lie_speed

    data = lie_speed.make_data(100_000)
    new, peers = lie_speed.chasles_calls(data)[0], lie_speed.installed(data)[0]
    names = ("so3.exp", "so3.log", "se3.exp", "se3.log")
    for peer in peers:
        for name in names:
            theirs = lie_speed.as_arrays(name, peer.calls[name]())
            off = np.abs(new[name]()[: peer.count] - theirs).max()
            assert off < 1e-10, f"{peer.label}: {name} is another one, or off by {off:.1e}"

    def once() -> Iterator[Timed]:
        for name in names:
            own = lie_speed.seconds(new[name]) / len(data["x"])
            for peer in peers:
                label = peer.label.split()[0]
                yield f"lie.{name}, an element of a batch", label, own, lie_speed.seconds(peer.calls[name]) / peer.count

    return once


@work("start", "mujoco")
def start() -> Callable[[], Iterator[Timed]]:
    """A new process that reads an arm and computes its accelerations; compiled code is in the cache."""
    from benchmarks import start_time

    programs = {
        peer: text for peer, (module, text) in start_time.FIRST_STATE.items() if importlib.util.find_spec(module)
    }
    found = {peer: start_time.first_state(text) for peer, text in programs.items()}
    for peer, (_, value) in found.items():
        assert abs(value - found["chasles"][1]) < 1e-6 * abs(value), f"{peer}: {value}, chasles: {found['chasles'][1]}"

    def once() -> Iterator[Timed]:
        for peer, text in programs.items():
            if peer != "chasles":
                own = start_time.first_state(programs["chasles"])[0]
                yield "start: read an arm, first acceleration", peer, own, start_time.first_state(text)[0]

    return once


# ---------------------------------------------------------------- closed loops and long chains


@work("loops", "pinocchio")
def loops() -> Callable[[], Iterator[Timed]]:
    from benchmarks import closed_speed

    pairs = {("Pinocchio", "accelerations, one call"): closed_speed.against_pinocchio()}
    if importlib.util.find_spec("mujoco") is not None:
        pairs["MuJoCo", "accelerations, one call"] = closed_speed.against_mujoco()
    if importlib.util.find_spec("exudyn") is not None:
        pairs["Exudyn", "a step of generalized alpha"] = closed_speed.against_exudyn()

    def once() -> Iterator[Timed]:
        for (peer, what), systems in pairs.items():
            for name, (ours, theirs) in systems.items():
                yield f"{name}: {what}", peer, ours(), theirs()

    return once


@work("chains", "mujoco")
def chains() -> Callable[[], Iterator[Timed]]:
    from benchmarks import long_chain_speed as long

    pairs = {n: long.pairs(n) for n in (100, 1000, 10_000)}

    def once() -> Iterator[Timed]:
        for n, (ours, others) in pairs.items():
            for peer, call in others.items():
                yield f"chain of {n}: accelerations, one call", peer, long.spent(ours), long.spent(call)

    return once


# ---------------------------------------------------------------- ensembles and trees, against MuJoCo


@work("ensembles", "mujoco")
def ensembles() -> Callable[[], Iterator[Timed]]:
    import chasles as ch
    from benchmarks import batch_speed as many
    from chasles.io.load import load

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(many.arm(), encoding="utf-8")
        system = load(file).system
    q = rng.normal(size=(many.MEMBERS, len(many.AXES))) * 0.5
    masses = np.array([body.mass for body in system.bodies]) * rng.uniform(0.5, 2.0, (len(q), len(many.AXES)))
    parameters = {f"bodies.{body.name}.mass": masses[:, k] for k, body in enumerate(system.bodies)}
    how: dict[str, Any] = {"method": "rk4", "step": many.STEP, "parameters": parameters, "threads": many.THREADS}
    peer = many.Peer(many.arm(), masses, q)

    def ours() -> np.ndarray:
        return ch.simulate_batch(system, (0.0, many.STEPS * many.STEP), q, **how).ends.q

    assert np.abs(ours() - peer.run("rk4")).max() < many.AGREEMENT

    def spent(call: Callable[..., Any], *given: Any) -> float:
        began = time.process_time()
        call(*given)
        return (time.process_time() - began) / (many.MEMBERS * many.STEPS)

    def once() -> Iterator[Timed]:
        own = spent(ours)
        for name in ("rk4", "euler"):
            other = spent(peer.run, name)
            yield f"ensemble of {many.MEMBERS} arms, a step of RK4", f"MuJoCo, {name}", own, other

    return once
