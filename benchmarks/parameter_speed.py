"""Derivatives with respect to parameters: time; regressors compared with Pinocchio.

Run: python -m benchmarks.parameter_speed. Prints the table of docs/parameters.md.

One process, one thread, processor time, the best of several repetitions in turn. Pinocchio's regressor is its Python
call, which takes about a microsecond more than the computation; ours are batches of states through the checked
functions, each state with a matrix of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from benchmarks import page
from chasles.relative.mechanism import Mechanism
from chasles.validation.pinocchio_tree import PinocchioTree
from tests.relative.zoo import state, tree

REPETITIONS = 7
NUMBERS = 3_000_000  # of all matrices of a batch
AGREEMENT = 1e-9


def best(*calls: Callable[[], object]) -> list[float]:
    """Processor time of calls that take turns [s], the least of all repetitions."""
    found = [np.inf] * len(calls)
    for call in calls:
        call()
    for _ in range(REPETITIONS):
        for k, call in enumerate(calls):
            start = time.process_time()
            call()
            found[k] = min(found[k], time.process_time() - start)
    return found


def row(joints: int) -> list[str]:
    """A chain of revolute joints with arbitrary axes."""
    mechanism = Mechanism(tree(1, ("revolute",) * joints, chain=True))
    peer, places = PinocchioTree(mechanism), mechanism.parameters.places()
    count = max(8, min(1000, NUMBERS // (12 * joints * joints)))
    q, v, a = state(mechanism, 0, (count,))
    theirs = [(peer.q(x), peer.v(y), peer.v(z)) for x, y, z in zip(q, v, a, strict=True)]

    def pinocchio() -> None:
        for x, y, z in theirs:
            peer.pin.computeJointTorqueRegressor(peer.model, peer.data, x, y, z)

    pinocchio()
    found = mechanism.parameters.regressor(q[-1], v[-1], a[-1]) @ mechanism.parameters.inertial()
    expected = np.array(peer.data.jointTorqueRegressor) @ np.concatenate(
        [inertia.toDynamicParameters() for inertia in list(peer.model.inertias)[1:]]
    )
    assert np.abs(found - expected).max() < AGREEMENT * np.abs(expected).max()
    times = best(
        pinocchio,
        lambda: mechanism.parameters.regressor(q, v, a),
        lambda: mechanism.parameters.inverse_dynamics_derivatives(q, v, a, places),
        lambda: mechanism.parameters.pose_derivatives(q, "tool", places),
    )
    peer_time, *ours = (1e6 * t / count for t in times)
    return [
        f"chain of {joints}",
        f"{ours[0]:.2f} / {peer_time:.2f} = **{peer_time / ours[0]:.1f}**",
        f"{ours[1]:.2f}",
        f"{ours[2]:.2f}",
    ]


def measured() -> str:
    """The table of docs/parameters.md."""
    header = [
        "µs a state",
        "regressor, chasles / Pinocchio = ratio",
        "inverse dynamics by 12 n parameters",
        "tool pose by 12 n parameters",
    ]
    return page.table(header, [row(joints) for joints in (7, 30, 100, 300)])


def main() -> None:
    print(page.machine(), page.versions("chasles", "numba", "pin"), measured(), sep="\n")


if __name__ == "__main__":
    main()
