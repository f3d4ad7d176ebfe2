"""Dynamics of trees: speed compared with Pinocchio.

Run: python -m benchmarks.tree_speed. It prints a page; with `calls`, prints the table of single calls.

Both libraries run in one process and one thread, in turn, on the same states of the same mechanism; the results are
compared first. Figures are processor time, the best of several repetitions, so that other work on the machine counts
little.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from benchmarks import page, start_time
from chasles.model import joint as make
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative import forward, inverse, mass
from chasles.relative.algorithm import Algorithm
from chasles.relative.mechanism import Mechanism
from chasles.validation.pinocchio_tree import PinocchioTree

COMMAND = "python -m benchmarks.tree_speed"
REPETITIONS = 9
LOOP = 400  # states in the compiled loop on one state at a time
BATCH = 10_000
MATRIX_NUMBERS = 15_000_000  # of a batch of mass matrices: what fits into memory well
CACHED_NUMBERS = 30_000  # of the mass matrices in the loop: Pinocchio fills one matrix again and again
AGREEMENT = 1e-10
LARGE = 10_000
NAMES = ("inverse dynamics", "forward dynamics", "mass matrix")
CALLS = (*NAMES, "poses of all bodies", "Jacobian of a frame", "pose of a frame")  # one call from Python
BARS = {"loop": (3, 3, 2), "batch": (8, 8, 8), "raw": (1, 1, 1)}
CHECKED_BARS = {"arm, 7 joints": 1.0, "humanoid, 36 velocities": 1 / 0.7}  # how many times faster than Pinocchio
STRETCHES = 100  # of a measurement of single calls
CALL_HEADS = ["µs a call", "chasles, raw", "chasles, checked", "Pinocchio", "ratio, raw", "ratio, checked"]
Call = Callable[[], Any]


# ---------------------------------------------------------------- mechanisms


def _body(name: str, rng: np.random.Generator) -> Body:
    return Body(name, rng.uniform(1, 2), rng.normal(size=3) * 0.1, rng.uniform(0.8, 1.0, 3) * 0.1)


def _joint(kind: str, name: str, parent: str, child: str, rng: np.random.Generator) -> Joint:
    turn = rng.normal(size=4)
    at = (*turn / np.linalg.norm(turn), *rng.normal(size=3) * 0.3)
    if kind in ("spherical", "free"):
        return getattr(make, kind)(name, parent, child, at=at)
    more = {"pitch": 0.1} if kind == "helical" else {}
    return getattr(make, kind)(name, parent, child, axis=rng.normal(size=3), at=at, **more)


def tree(parents: list[int], kinds: list[str], seed: int = 1) -> System:
    """Bodies on their parents (-1: the ground), all with generic axes, frames and inertias."""
    rng = np.random.default_rng(seed)
    bodies = [_body(f"b{k}", rng) for k in range(len(parents))]
    joints = [
        _joint(kinds[k], f"j{k}", GROUND if parent < 0 else f"b{parent}", f"b{k}", rng)
        for k, parent in enumerate(parents)
    ]
    return System(bodies, joints)


def chain(size: int, kind: str = "revolute") -> System:
    return tree(list(range(-1, size - 1)), [kind] * size)


def humanoid(kind: str = "revolute") -> System:
    """A pelvis that floats, two legs of six joints, a trunk of three, two arms of seven and a head: 36 velocities."""
    parents: list[int] = [-1]

    def limb(root: int, count: int) -> int:
        for _ in range(count):
            parents.append(root)
            root = len(parents) - 1
        return root

    limb(0, 6)
    limb(0, 6)
    chest = limb(0, 3)
    limb(chest, 7)
    limb(chest, 7)
    limb(chest, 1)
    return tree(parents, ["free"] + [kind] * (len(parents) - 1))


MECHANISMS: dict[str, Callable[[], System]] = {
    "arm, 7 joints": partial(chain, 7),
    "humanoid, 36 velocities": humanoid,
    "chain of 100": partial(chain, 100),
}
KINDS: dict[str, Callable[[], System]] = {
    "humanoid, prismatic": partial(humanoid, "prismatic"),
    "humanoid, helical": partial(humanoid, "helical"),
    "humanoid, spherical": partial(humanoid, "spherical"),
    "chain of 30, spherical": partial(chain, 30, "spherical"),
}


# ---------------------------------------------------------------- both libraries on the same states


@dataclass
class Pair:
    """A mechanism in both libraries, with states of it."""

    mechanism: Mechanism
    count: int
    numbers: int = MATRIX_NUMBERS  # in the mass matrices
    peer: PinocchioTree = field(init=False)

    def __post_init__(self):
        self.peer = PinocchioTree(self.mechanism, bodies=True)
        rng, nv = np.random.default_rng(2), self.mechanism.nv
        self.q = self.mechanism.random(rng, (self.count,))
        self.v, self.a = rng.normal(size=(self.count, nv)), rng.normal(size=(self.count, nv))
        self.tau, self.acceleration = np.empty((self.count, nv)), np.empty((self.count, nv))
        self.matrices = min(self.count, self.numbers // nv**2)
        self.matrix = np.zeros((self.matrices, nv, nv))
        # Pinocchio takes a state a column, in memory one after the other
        self.q_peer, self.v_peer, self.a_peer = (
            np.asfortranarray(array[:, order].T)
            for array, order in ((self.q, self.peer.rows), (self.v, self.peer.columns), (self.a, self.peer.columns))
        )
        self.result_peer = np.zeros_like(self.v_peer)
        self.pool = self.peer.pin.ModelPool(self.peer.model, 1)

    # ---- chasles

    def loop(self) -> dict[str, Call]:
        """The compiled loop in scalar arithmetic."""
        algorithms: tuple[tuple[Algorithm, int, tuple[np.ndarray, ...]], ...] = (
            (inverse.inverse_dynamics, self.count, (self.q, self.v, self.a, np.empty(0), self.tau)),
            (forward.forward_dynamics, self.count, (self.q, self.v, self.a, np.empty(0), self.acceleration)),
            (mass.mass_matrix, self.matrices, (self.q[: self.matrices], self.matrix)),
        )
        calls: dict[str, Call] = {}
        for name, (algorithm, count, arrays) in zip(NAMES, algorithms, strict=True):
            flat = (array.reshape(-1) for array in arrays)
            space = algorithm.space(self.mechanism.tables.sizes)
            calls[name] = partial(
                algorithm.scalar, self.mechanism.tree.topology, self.mechanism.tree.numbers, count, *flat, space
            )
        return calls

    def raw(self, one: bool = False) -> dict[str, Call]:
        """The unchecked tier, on all states or on one."""
        raw, k = self.mechanism.raw, 0 if one else slice(None)
        q = self.q[0] if one else self.q[: self.matrices]
        return {
            NAMES[0]: partial(raw.inverse_dynamics, self.q[k], self.v[k], self.a[k], self.tau[k]),
            NAMES[1]: partial(raw.forward_dynamics, self.q[k], self.v[k], self.a[k], self.acceleration[k]),
            NAMES[2]: partial(raw.mass_matrix, q, self.matrix[0] if one else self.matrix),
        }

    def checked(self, one: bool = False) -> dict[str, Call]:
        """The public functions, which check their arguments and return new arrays."""
        m, k = self.mechanism, 0 if one else slice(None)
        return {
            NAMES[0]: partial(m.inverse_dynamics, self.q[k], self.v[k], self.a[k]),
            NAMES[1]: partial(m.forward_dynamics, self.q[k], self.v[k], self.a[k]),
            NAMES[2]: partial(m.mass_matrix, self.q[0] if one else self.q[: self.matrices]),
            CALLS[3]: partial(m.poses, self.q[k]),
            CALLS[4]: partial(m.jacobian, self.q[k], m.bodies[-1]),
            CALLS[5]: partial(m.poses, self.q[k], m.bodies[-1]),
        }

    # ---- Pinocchio

    def peer_batch(self) -> dict[str, Call]:
        """Its functions for batches, with one thread; it has none for the mass matrix."""
        pin, arrays = self.peer.pin, (self.q_peer, self.v_peer, self.a_peer, self.result_peer)
        return {
            NAMES[0]: partial(pin.rneaInParallel, 1, self.pool, *arrays),
            NAMES[1]: partial(pin.abaInParallel, 1, self.pool, *arrays),
        }

    def peer_calls(self) -> dict[str, dict[str, Call]]:
        """Its functions of one state; in LOCAL and in WORLD convention where there is a choice."""
        pin, model, data = self.peer.pin, self.peer.model, self.peer.data
        q, v, a = (np.ascontiguousarray(array[:, 0]) for array in (self.q_peer, self.v_peer, self.a_peer))
        ways = {"LOCAL": pin.Convention.LOCAL, "WORLD": pin.Convention.WORLD}
        return {
            NAMES[0]: {"": partial(pin.rnea, model, data, q, v, a)},
            NAMES[1]: {name: partial(pin.aba, model, data, q, v, a, way) for name, way in ways.items()},
            NAMES[2]: {name: partial(pin.crba, model, data, q, way) for name, way in ways.items()},
            CALLS[3]: {"": partial(pin.framesForwardKinematics, model, data, q)},
            CALLS[5]: {"": self._peer_pose(q)},
            CALLS[4]: {"": partial(pin.computeFrameJacobian, model, data, q, model.nframes - 1, pin.LOCAL)},
        }

    def _peer_pose(self, q: np.ndarray) -> Call:
        """The pose of a frame, brought to Python; of all bodies they stay in Pinocchio's data."""
        forward, model, data = self.peer.pin.framesForwardKinematics, self.peer.model, self.peer.data

        def call() -> Any:
            forward(model, data, q)
            return data.oMf[model.nframes - 1]

        return call

    # ---- agreement

    def deviations(self) -> dict[str, float]:
        """Largest deviations of the results of all ways of chasles, relative to the largest number of each state.

        Forward dynamics twice: compared with Pinocchio's, and by the forces that Pinocchio's inverse dynamics has for
        the accelerations, relative to the largest force of the state.
        """
        pin, model, data = self.peer.pin, self.peer.model, self.peer.data
        checked, loop, raw = self.checked(), self.loop(), self.raw()
        worst: dict[str, float] = {}
        for name, results in zip(NAMES, (self.tau, self.acceleration, self.matrix), strict=True):
            ways = [checked[name]()]
            for call in (loop[name], raw[name]):
                call()
                ways.append(results.copy())
            for k in range(0, len(results), max(1, len(results) // 50)):
                q, v, a = self.peer.q(self.q[k]), self.peer.v(self.v[k]), self.peer.v(self.a[k])
                for found in (way[k] for way in ways):
                    if name == "inverse dynamics":
                        pairs = {name: (found, self.peer.back(pin.rnea(model, data, q, v, a)))}
                    elif name == "mass matrix":
                        pairs = {name: (found, self.peer.back(self.peer.back(pin.crba(model, data, q)).T))}
                    else:
                        forces = pin.rnea(model, data, q, v, self.peer.v(found)).copy()
                        size = np.abs(pin.rnea(model, data, q, v, 0.0 * a)).max()
                        pairs = {
                            "aba": (found, self.peer.back(pin.aba(model, data, q, v, a))),
                            name: (np.array([*(forces - a), size]), np.array([*(0.0 * a), size])),
                        }
                    for what, (ours, theirs) in pairs.items():
                        off = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
                        worst[what] = max(worst.get(what, 0.0), off)
        for name in NAMES:
            if not worst[name] <= AGREEMENT:
                raise RuntimeError(f"{name} of chasles and Pinocchio differ by {worst[name]:.1e}, relative")
        return worst


# ---------------------------------------------------------------- time


def best(calls: dict[str, Call], inner: int | dict[str, int] = 1, repetitions: int = REPETITIONS) -> dict[str, float]:
    """Least processor time of a call [s]; the calls in turn, each after one that is not timed."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(repetitions):
        for name, call in calls.items():
            count = inner if isinstance(inner, int) else inner[name]
            call()
            start = time.process_time()
            for _ in range(count):
                call()
            found[name] = min(found[name], (time.process_time() - start) / count)
    return found


def inner_calls(call: Call) -> int:
    """So many calls that they take some ten milliseconds."""
    call()
    start = time.perf_counter()
    call()
    return max(1, min(10_000, int(0.01 / max(time.perf_counter() - start, 1e-7))))


def versus_batch(pair: Pair, ours: dict[str, Call]) -> dict[str, tuple[float, float]]:
    """Time a state [s] of chasles and of Pinocchio, by function."""
    result, theirs = {}, pair.peer_batch()
    for name in NAMES[:2]:
        times = best({"ours": ours[name], "theirs": theirs[name]}, inner_calls(ours[name]))
        result[name] = times["ours"] / pair.count, times["theirs"] / pair.count
    calls = {"ours": ours["mass matrix"], **pair.peer_calls()["mass matrix"]}
    times = best(calls, {name: inner_calls(call) for name, call in calls.items()})
    result["mass matrix"] = times.pop("ours") / pair.matrices, min(times.values())
    return result


def packed_batch(pair: Pair) -> dict[str, float]:
    """Time a state [s] of lower triangles of mass matrices."""
    m, q, x = pair.mechanism, pair.q[: pair.matrices], pair.v[: pair.matrices]
    out = np.empty((pair.matrices, m.nv * (m.nv + 1) // 2))
    whole = m.mass_matrix(q)
    assert np.abs(m.raw.packed_mass_matrix(q, out) - whole[:, *np.tril_indices(m.nv)]).max() < 1e-12
    assert np.abs(m.terms.mass_product(q, x) - (whole @ x[..., None])[..., 0]).max() < 1e-10
    calls: dict[str, Call] = {"mass matrix, lower triangle, batch": partial(m.raw.packed_mass_matrix, q, out)}
    return {name: spent / pair.matrices for name, spent in best(calls, 3).items()}


def versus_calls(pair: Pair) -> dict[str, tuple[float, float, float]]:
    """Time of one call [s]: raw (NaN where there is none), checked and of Pinocchio, by function."""
    result, raw, checked, peer = {}, pair.raw(one=True), pair.checked(one=True), pair.peer_calls()
    for name in CALLS:
        calls = {**({"raw": raw[name]} if name in raw else {}), "checked": checked[name], **peer[name]}
        for _ in range(20):  # after some calls there is a builtin
            checked[name]()
        # many short stretches: beside other programs some of them are not disturbed
        times = best(calls, max(1, inner_calls(checked[name]) // STRETCHES), STRETCHES * REPETITIONS)
        result[name] = times.pop("raw", np.nan), times.pop("checked"), min(times.values())
    return result


def call_rows(title: str, calls: dict[str, tuple[float, float, float]]) -> list[list[str]]:
    """One call from Python: times [µs], and how many times faster than Pinocchio."""
    rows = []
    for name, (raw, full, theirs) in calls.items():
        numbers = ["" if np.isnan(x) else f"{x * 1e6:.2f}" for x in (raw, full, theirs)]
        ratio = "" if np.isnan(raw) else f"{theirs / raw:.2f}"
        rows.append([f"{title}: {name}", *numbers, ratio, f"**{theirs / full:.2f}**"])
    return rows


def calls_table() -> str:
    """One call from Python alone, of the mechanisms with a bar."""
    rows = []
    for title, bar in CHECKED_BARS.items():
        calls = versus_calls(Pair(Mechanism(MECHANISMS[title]()), 1, CACHED_NUMBERS))
        rows += [
            [*row, "met" if calls[name][2] / calls[name][1] >= bar else "**not met**"]
            for row, name in zip(call_rows(title, calls), CALLS, strict=True)
        ]
    return page.table([*CALL_HEADS, "bar"], rows)


def cell(ours: float, theirs: float) -> str:
    """Both times [ns], and how many times faster."""
    return f"{ours * 1e9:.0f} / {theirs * 1e9:.0f} = **{theirs / ours:.1f}**"


def speed_tables(makers: dict[str, Callable[[], System]], batch: int) -> tuple[dict[str, str], dict[str, Any], Any]:
    """Tables, the ratios for the bars, and the largest deviations by mechanism."""
    rows: dict[str, list[list[str]]] = {"loop": [], "batch": [], "checked batch": [], "calls": []}
    ratios: dict[str, Any] = {}
    deviations: dict[str, dict[str, float]] = {}
    for title, maker in makers.items():
        mechanism = Mechanism(maker())
        small = Pair(mechanism, LOOP, CACHED_NUMBERS)
        deviations[title] = small.deviations()
        loop = versus_batch(small, small.loop())
        calls = versus_calls(small)
        large = Pair(mechanism, batch)
        lanes = versus_batch(large, large.raw())
        checked = versus_batch(large, large.checked())
        rows["loop"].append([title, *(cell(*loop[name]) for name in NAMES)])
        rows["batch"].append([title, *(cell(*lanes[name]) for name in NAMES)])
        rows["checked batch"].append([title, *(cell(*checked[name]) for name in NAMES)])
        rows["calls"] += call_rows(title, calls)
        ratios[title] = {
            "loop": [loop[name][1] / loop[name][0] for name in NAMES],
            "batch": [lanes[name][1] / lanes[name][0] for name in NAMES],
            "raw": [calls[name][2] / calls[name][0] for name in NAMES],
            "checked": [calls[name][2] / calls[name][1] for name in CALLS],
        }
        print(title, {k: [f"{x:.2f}" for x in v] for k, v in ratios[title].items()}, file=sys.stderr, flush=True)
        del small, large
    header = ["ns a state, chasles / Pinocchio = ratio", *NAMES]
    tables = {name: page.table(header, rows[name]) for name in ("loop", "batch", "checked batch")}
    tables["calls"] = page.table(CALL_HEADS, rows["calls"])
    return tables, ratios, deviations


def verdict(ratios: dict[str, Any]) -> str:
    """Each bar, and the least that was measured."""
    texts = {
        "loop": "In a compiled loop, one state at a time",
        "batch": f"Batches of {BATCH} states",
        "raw": "One raw call from Python",
    }
    lines = []
    for what, text in texts.items():
        parts = []
        for k, name in enumerate(NAMES):
            least = min(found[what][k] for found in ratios.values())
            met = "met" if least >= BARS[what][k] else "**not met**"
            parts.append(f"{name} at least {least:.1f} (bar {BARS[what][k]}, {met})")
        lines.append(f"- {text}: {'; '.join(parts)}.")
    for title, bar in CHECKED_BARS.items():
        if title in ratios:
            least = min(ratios[title]["checked"])
            met = "met" if least >= bar else "**not met**"
            lines.append(f"- One checked call from Python, {title}: at least {least:.2f} (bar {bar:.2f}, {met}).")
    return "\n".join(lines)


# ---------------------------------------------------------------- large systems


def large_table() -> str:
    """Time a body, time to build and memory of chains and stars."""
    rows = []
    for shape in ("chain", "star"):
        for count in (1000, LARGE):
            parents = list(range(-1, count - 1)) if shape == "chain" else [-1] * count
            system = tree(parents, ["revolute"] * count)
            start = time.process_time()
            mechanism = Mechanism(system)
            raw = mechanism.raw
            built = time.process_time() - start
            tracemalloc.start()
            Mechanism(system).raw  # noqa: B018
            memory = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            rng = np.random.default_rng(3)
            q, v, a, result = *rng.normal(size=(3, count)), np.empty(count)
            times = best(
                {
                    "inverse": partial(raw.inverse_dynamics, q, 0.01 * v, 0.01 * a, result),
                    "forward": partial(raw.forward_dynamics, q, 0.01 * v, 0.01 * a, result),
                },
                inner=5,
            )
            numbers = [f"{times[name] / count * 1e9:.0f}" for name in ("inverse", "forward")]
            rows.append([f"{shape} of {count}", *numbers, f"{built:.2f}", f"{memory / 1e6:.0f}"])
    header = ["", "inverse dynamics [ns a body]", "forward dynamics [ns a body]", "build [s]", "memory to build [MB]"]
    return page.table(header, rows)


PEER_MEMORY = 8e9  # bytes that the process may have: beyond it a machine with less could end other processes
PEER_CHAIN = """
import resource
from pathlib import Path
import numpy as np
import pinocchio as pin

resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


model, parent = pin.Model(), 0
for k in range({count}):
    axis = np.array([0.6, 0.0, 0.8])
    parent = model.addJoint(parent, pin.JointModelRevoluteUnaligned(axis), pin.SE3.Random(), str(k))
    model.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
before = resident()
try:
    data = model.createData()
    print(f"{{(resident() - before) / 1e6:.0f}} MB")
except MemoryError as error:
    print(f"needs more than {{{limit} / 1e9:.0f}} GB: MemoryError ({{error}})")
"""


def peer_chain_table() -> str:
    """What Pinocchio needs for its working data of a chain, each size in a new process."""
    rows = []
    for count in (50, 100, 200, 400, 1000):
        done = subprocess.run(
            [sys.executable, "-c", PEER_CHAIN.format(count=count, limit=int(PEER_MEMORY))],
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout.strip() or f"the process ended with status {done.returncode}"
        rows.append([str(count), said])
    return page.table(["joints", "`model.createData()`"], rows)


# ---------------------------------------------------------------- first calls

FIRST_CALLS = {
    "one `inverse_dynamics`": "arm.inverse_dynamics(q, q, q)",
    "one `forward_dynamics`": "arm.forward_dynamics(q, q, q)",
    "one `mass_matrix`": "arm.mass_matrix(q)",
    "`inverse_dynamics` of a batch": "arm.inverse_dynamics(Q, Q, Q)",
    "`forward_dynamics` of a batch": "arm.forward_dynamics(Q, Q, Q)",
    "`mass_matrix` of a batch": "arm.mass_matrix(Q)",
    "`simulate`": "ch.simulate(arm, (0.0, 0.1))",
}
FIRST_CALL = """
import time
import numpy as np
import chasles as ch
bodies = [ch.Body(f"b{{k}}", 1.0, (0.1, 0, 0), (0.1, 0.1, 0.1)) for k in range(7)]
names = ["ground", *(body.name for body in bodies)]
joints = [ch.revolute(f"j{{k}}", names[k], names[k + 1], axis=(0, 1, k), at=(0, 0, 0.3)) for k in range(7)]
arm = ch.System(bodies, joints).compile()
q, Q = np.full(7, 0.1), np.full((8, 7), 0.1)
start = time.process_time()
{call}
print(time.process_time() - start)
"""


def first_call_table() -> str:
    """The first call in a new process, with an empty cache and with a filled one."""
    rows = []
    for title, call in FIRST_CALLS.items():
        program = FIRST_CALL.format(call=call)
        with tempfile.TemporaryDirectory() as cache:
            cold = start_time.run(program, cache)
            warm = min(start_time.run(program, cache) for _ in range(3))
        rows.append([title, f"{cold:.1f}", f"{warm:.2f}"])
    return page.table(["first call", "compiled [s]", "from the cache [s]"], rows)


def main() -> None:
    tables, ratios, deviations = speed_tables(MECHANISMS, BATCH)
    others, _, more = speed_tables(KINDS, 2000)
    agreement = page.table(
        ["largest deviation, relative", *NAMES, "forward dynamics from `aba`"],
        [[title, *(f"{off[name]:.0e}" for name in (*NAMES, "aba"))] for title, off in {**deviations, **more}.items()],
    )
    page.show(
        "trees.md",
        command=COMMAND,
        machine=page.machine(),
        tools=page.versions("chasles", "numba", "numpy", "pin"),
        verdict=verdict(ratios),
        loop=tables["loop"],
        batch=tables["batch"],
        checked_batch=tables["checked batch"],
        calls=tables["calls"],
        kinds_loop=others["loop"],
        kinds_batch=others["batch"],
        deviations=agreement,
        limit=f"{AGREEMENT:.0e}",
        large=large_table(),
        peer_chain=peer_chain_table(),
        first_calls=first_call_table(),
        loop_states=LOOP,
        cached=CACHED_NUMBERS,
        batch_states=BATCH,
        matrix_states=MATRIX_NUMBERS // 100**2,
        repetitions=REPETITIONS,
        load=page.load(),
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["calls"]:
        print(calls_table())
    else:
        main()
