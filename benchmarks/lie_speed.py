"""Measure the speed of the Lie group functions against other libraries; it prints a page.

Run: python -m benchmarks.lie_speed

Everything is measured in one process on one processor core. chasles is timed anew before every timing of another
library, and the medians are compared. A call that is not timed comes before every timed one, so that each function
finds caches and memory as it left them itself: JAX frees memory in a thread of its own after it has returned, and
memory that is new to the process can cost more than all the arithmetic.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import page, start_time

COMMAND = "python -m benchmarks.lie_speed"

ELEMENTS = 1_000_000
LOOP_ELEMENTS = 50_000  # for libraries that take one element a call
REPETITIONS = 9
BAR = 3.0
BARRED = ("so3.exp", "so3.log", "se3.exp", "se3.log", "so3.dexpinv", "se3.dexpinv")
NAMES = ("so3.exp", "so3.log", "s3.exp", "s3.log", "se3.exp", "se3.log", "pose.exp", "pose.log", *BARRED[4:])

BOUND = "the process is bound to one core; the clock is its processor time, of all threads together"

Call = Callable[[], Any]
Data = dict[str, np.ndarray]


def use_one_core() -> bool:
    """Bind the process to one core and keep XLA to one thread; whether the binding is possible here."""
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    os.environ["OMP_NUM_THREADS"] = "1"
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


def make_data(count: int) -> Data:
    """Rotation vectors `x` and twists `X` with standard normal entries, and their exponentials by group."""
    from chasles import lie

    rng = np.random.default_rng(0)
    x, twist = rng.normal(size=(count, 3)), rng.normal(size=(count, 6))
    elements = {"so3": lie.so3.exp(x), "s3": lie.s3.exp(x), "se3": lie.se3.exp(twist), "pose": lie.pose.exp(twist)}
    return {"x": x, "X": twist, **elements}


def argument(name: str, data: Data) -> np.ndarray:
    """The argument of a function of chasles."""
    group, function = name.split(".")
    if function == "log":
        return data[group]
    return data["x" if group in ("so3", "s3") else "X"]


# ---------------------------------------------------------------- libraries


@dataclass(frozen=True)
class Library:
    """A library with its calls by the name of the function in chasles, each on `count` elements."""

    label: str
    calls: Mapping[str, Call]
    count: int
    single: Mapping[str, Call]


def chasles_calls(data: Data) -> tuple[Mapping[str, Call], Mapping[str, Call]]:
    """Calls that return new arrays, and calls that fill an array given with `out=`."""
    from chasles import lie

    new, filled = {}, {}
    for name in NAMES:
        group, function = name.split(".")
        call = partial(getattr(getattr(lie, group), function), argument(name, data))
        new[name], filled[name] = call, partial(call, out=call())
    return new, filled


def scipy(data: Data) -> Library:
    """SciPy on arrays; `assume_valid` leaves out the orthogonalization of matrices."""
    from scipy.spatial.transform import RigidTransform, Rotation

    def so3_exp(x: np.ndarray) -> np.ndarray:
        return Rotation.from_rotvec(x).as_matrix()

    def se3_exp(x: np.ndarray) -> np.ndarray:
        return RigidTransform.from_exp_coords(x).as_matrix()

    calls: dict[str, Call] = {
        "so3.exp": lambda: so3_exp(data["x"]),
        "so3.log": lambda: Rotation.from_matrix(data["so3"], assume_valid=True).as_rotvec(),
        "s3.exp": lambda: Rotation.from_rotvec(data["x"]).as_quat(scalar_first=True),
        "s3.log": lambda: Rotation.from_quat(data["s3"], scalar_first=True).as_rotvec(),
        "se3.exp": lambda: se3_exp(data["X"]),
        "se3.log": lambda: RigidTransform.from_matrix(data["se3"]).as_exp_coords(),
    }
    x, twist = data["x"][0].copy(), data["X"][0].copy()
    single = {"so3.exp": partial(so3_exp, x), "se3.exp": partial(se3_exp, twist)}
    return Library(f"SciPy {page.version('scipy')}", calls, len(data["x"]), single)


def pinocchio(data: Data) -> Library:
    """Pinocchio in a Python loop over its own objects, made before; the results are kept in a list."""
    import pinocchio as pin

    x, twists = list(data["x"][:LOOP_ELEMENTS]), [pin.Motion(v[3:], v[:3]) for v in data["X"][:LOOP_ELEMENTS]]
    rotations = list(data["so3"][:LOOP_ELEMENTS])
    poses = [pin.SE3(g[:3, :3], g[:3, 3]) for g in data["se3"][:LOOP_ELEMENTS]]

    def loop(function: Callable, elements: list) -> Call:
        return lambda: [function(element) for element in elements]

    calls = {
        "so3.exp": loop(pin.exp3, x),
        "so3.log": loop(pin.log3, rotations),
        "se3.exp": loop(pin.exp6, twists),
        "se3.log": loop(pin.log6, poses),
        "so3.dexpinv": loop(pin.Jlog3, rotations),
        "se3.dexpinv": loop(pin.Jlog6, poses),
    }
    single = {"so3.exp": partial(pin.exp3, x[0].copy()), "se3.exp": partial(pin.exp6, twists[0])}
    return Library(f"Pinocchio {page.version('pin')}, loop", calls, LOOP_ELEMENTS, single)


def jaxlie(data: Data) -> Library:
    """jaxlie compiled by `jit` on arrays that are already JAX arrays; waits for the results."""
    import jax
    from jaxlie import SE3, SO3

    jax.config.update("jax_enable_x64", True)
    functions: dict[str, tuple[str, Callable]] = {
        "so3.exp": ("x", lambda x: SO3.exp(x).as_matrix()),
        "so3.log": ("so3", lambda r: SO3.from_matrix(r).log()),
        "s3.exp": ("x", lambda x: SO3.exp(x).wxyz),
        "s3.log": ("s3", lambda q: SO3(q).log()),
        "se3.exp": ("X", lambda x: SE3.exp(x).as_matrix()),
        "se3.log": ("se3", lambda g: SE3.from_matrix(g).log()),
        "pose.exp": ("X", lambda x: SE3.exp(x).wxyz_xyz),
        "pose.log": ("pose", lambda p: SE3(p).log()),
        "so3.dexpinv": ("s3", lambda q: SO3(q).jlog()),
        "se3.dexpinv": ("pose", lambda p: SE3(p).jlog()),
    }
    given = {**data, "X": np.roll(data["X"], 3, axis=1)}  # its twists have the linear part first
    arrays = {name: jax.numpy.asarray(array) for name, array in given.items()}

    def compiled(function: Callable, array: Any) -> Call:
        fast = jax.jit(function)
        return lambda: fast(array).block_until_ready()

    calls = {name: compiled(function, arrays[source]) for name, (source, function) in functions.items()}
    single = {name: compiled(functions[name][1], arrays[functions[name][0]][0]) for name in ("so3.exp", "se3.exp")}
    return Library(f"jaxlie {page.version('jaxlie')}, jit", calls, len(data["x"]), single)


def as_arrays(name: str, found: Any) -> np.ndarray:
    """What a library gave as chasles gives it: matrices, rotation vectors, twists with the angular part first."""
    if isinstance(found, list) and hasattr(found[0], "angular"):
        return np.array([np.concatenate([twist.angular, twist.linear]) for twist in found])
    if isinstance(found, list) and hasattr(found[0], "homogeneous"):
        return np.array([pose.homogeneous for pose in found])
    array = np.asarray(found)
    return np.roll(array, 3, axis=1) if name == "se3.log" and hasattr(found, "block_until_ready") else array


LIBRARIES: dict[str, Callable[[Data], Library]] = {"SciPy": scipy, "Pinocchio": pinocchio, "jaxlie": jaxlie}


def installed(data: Data) -> tuple[list[Library], list[str]]:
    """The libraries that can be imported, and the names of those that cannot."""
    found, missing = [], []
    for name, make in LIBRARIES.items():
        try:
            found.append(make(data))
        except ImportError:
            missing.append(name)
    return found, missing


# ---------------------------------------------------------------- timing


def clock() -> float:
    """Processor time of all threads: on one core, the elapsed time less that given to other processes."""
    return time.process_time() if hasattr(os, "sched_setaffinity") else time.perf_counter()


def seconds(call: Call) -> float:
    """Time of one call after one that is not timed; the results are freed while the clock stands."""
    call()
    start = clock()
    result = call()
    elapsed = clock() - start
    del result
    return elapsed


@dataclass(frozen=True)
class Row:
    """Median times in ns an element of one function."""

    name: str
    new: float
    filled: float
    peers: dict[str, float]

    @property
    def ratio(self) -> float:
        """Time of the fastest other library over that of chasles (new arrays); NaN if there is none."""
        return min(self.peers.values(), default=float("nan")) / self.new


def measure(name: str, new: Call, filled: Call, libraries: list[Library]) -> Row:
    """Time chasles and the libraries in turn."""
    peers = {library.label: (library.calls[name], library.count) for library in libraries if name in library.calls}
    times: dict[str, list[float]] = {label: [] for label in ("new", "filled", *peers)}
    for _ in range(REPETITIONS):
        for label in peers or [""]:
            times["new"].append(seconds(new) / ELEMENTS)
            times["filled"].append(seconds(filled) / ELEMENTS)
            if label:
                call, count = peers[label]
                times[label].append(seconds(call) / count)
    medians = {label: statistics.median(values) * 1e9 for label, values in times.items()}
    return Row(name, medians["new"], medians["filled"], {label: medians[label] for label in peers})


def single_call(call: Call, calls: int = 2000) -> float:
    """Median time of a call on one element in µs."""
    call()
    values = []
    for _ in range(REPETITIONS):
        start = clock()
        for _ in range(calls):
            call()
        values.append((clock() - start) / calls)
    return statistics.median(values) * 1e6


# ---------------------------------------------------------------- page


def verdict(row: Row) -> str:
    """Whether the bar is met, for functions that have one."""
    if row.name not in BARRED or not row.peers:
        return "—"
    return "yes" if row.ratio >= BAR else "no"


def speed_table(rows: list[Row], libraries: list[Library]) -> str:
    """ns an element, the ratio to the fastest other library and whether the bar is met."""
    labels = [library.label for library in libraries]
    header = ["Function", "chasles", "chasles, `out=`", *labels, "Ratio", f"At least {BAR:g}"]
    lines = [
        [
            f"`{row.name}`",
            f"{row.new:.1f}",
            f"{row.filled:.1f}",
            *(f"{row.peers[label]:.1f}" if label in row.peers else "—" for label in labels),
            f"{row.ratio:.1f}" if row.peers else "—",
            verdict(row),
        ]
        for row in rows
    ]
    return page.table(header, lines)


def single_table(libraries: list[Library], data: Data) -> str:
    """µs a call on one element."""
    from chasles import lie

    lines = []
    for name in ("so3.exp", "se3.exp"):
        group, function = name.split(".")
        own: Call = partial(getattr(getattr(lie, group), function), argument(name, data)[0].copy())
        times = [single_call(call) for call in (own, *(library.single[name] for library in libraries))]
        lines.append([f"`{name}`", *(f"{t:.2f}" for t in times)])
    return page.table(["Function", "chasles", *(library.label for library in libraries)], lines)


def main() -> None:
    """Measure everything and write the page."""
    bound = use_one_core()
    data = make_data(ELEMENTS)
    libraries, missing = installed(data)
    new, filled = chasles_calls(data)
    rows = []
    for name in NAMES:
        row = measure(name, new[name], filled[name], libraries)
        rows.append(row)
        print(f"{name:12} {row.new:7.1f} ns, with out= {row.filled:7.1f} ns, ratio {row.ratio:5.1f}", flush=True)
    page.show(
        "lie.md",
        command=COMMAND,
        machine=page.machine(),
        tools=page.versions("chasles", "numpy", "numba", "llvmlite", *(("jax",) if "jaxlie" not in missing else ())),
        core=BOUND if bound else "the process is not bound to a core; the clock is that of the wall",
        load=page.load(),
        missing=page.left_out(missing),
        elements=f"{ELEMENTS:,}".replace(",", " "),
        loop_elements=f"{LOOP_ELEMENTS:,}".replace(",", " "),
        repetitions=REPETITIONS,
        bar=BAR,
        speed=speed_table(rows, libraries),
        single=single_table(libraries, data),
        imports=start_time.import_table(),
        first_calls=start_time.first_call_table(),
    )


if __name__ == "__main__":
    main()
