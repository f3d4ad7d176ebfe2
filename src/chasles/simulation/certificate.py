"""The verdict on a run: what an exact motion would keep, measured, with an estimate of the error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.force.build import is_passive
from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.force import Spring, Wrench
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.body_run import BodyRun
from chasles.simulation.closed.run import ClosedRun
from chasles.simulation.motion import solve_motion
from chasles.simulation.run import Run

# what a run may be off by; relative to the size of the quantity during the run
TOLERANCES: Mapping[str, float] = {
    "energy": 1e-6,
    "momentum": 1e-6,
    "group": 1e-9,
    "error": 1e-4,
    "position": 1e-9,
    "velocity": 1e-7,
}
STRETCH = 200  # steps that are repeated for the estimate of the error


@dataclass(frozen=True)
class Finding:
    """One line of a certificate. `value` is relative to `scale`; without a tolerance it is for information only."""

    name: str
    value: float
    tolerance: float | None
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.tolerance is None or bool(self.value <= self.tolerance)  # a NaN does not pass


@dataclass(frozen=True)
class Certificate:
    """All findings on a run. It prints as a table."""

    title: str
    findings: tuple[Finding, ...]
    ended: str
    success: bool

    @property
    def passed(self) -> bool:
        return self.success and all(finding.passed for finding in self.findings)

    def __getitem__(self, name: str) -> Finding:
        for finding in self.findings:
            if finding.name == name:
                return finding
        raise KeyError(f"certificate: no finding {name!r}; there are {', '.join(f.name for f in self.findings)}")

    def __str__(self) -> str:
        width = max(len(finding.name) for finding in self.findings)
        lines = [self.title]
        for finding in self.findings:
            limit = "" if finding.tolerance is None else f"<= {finding.tolerance:.0e}"
            mark = "" if finding.tolerance is None else "ok" if finding.passed else "FAILED"
            lines.append(
                f"  {finding.name:<{width}}  {finding.value:9.2e}  {limit:9} {mark:6}  {finding.note}".rstrip()
            )
        verdict = "passed" if self.passed else "NOT passed"
        return "\n".join([*lines, f"  {self.ended}", f"  verdict: {verdict}"])


def certify(run: Run | BodyRun, tolerances: Mapping[str, float] | None = None) -> Certificate:
    """The certificate of a run; `tolerances` changes some of TOLERANCES."""
    unknown = set(tolerances or ()) - set(TOLERANCES)
    if unknown:
        raise ValueError(f"certify: unknown tolerance {sorted(unknown)[0]!r}; there are {', '.join(TOLERANCES)}")
    limits = {**TOLERANCES, **(tolerances or {})}
    solution = run.solution
    if isinstance(run, BodyRun):
        findings = [
            _energy(run, limits["energy"]),
            *_violations(run, limits),
            *_group(run, np.arange(0, 7 * run.dynamics.n, 7), limits["group"]),
            _error(run, limits["error"]),
        ]
    else:
        findings = [
            _energy(run, limits["energy"]),
            *(_violations(run, limits) if isinstance(run, ClosedRun) else []),
            *_momenta(run, limits["momentum"]),
            *_group(run, run.mechanism.quaternions, limits["group"]),
            _error(run, limits["error"]),
        ]
    ended = f"{solution.message}; {solution.steps} steps, {solution.rejections} rejected"
    return Certificate(f"certificate of {run.mechanism.system.name!r}", tuple(findings), ended, solution.success)


def _relative(deviation: np.ndarray, *sizes: np.ndarray) -> float:
    """Largest deviation over the largest size."""
    scale = max(float(np.abs(size).max(initial=0.0)) for size in sizes)
    worst = float(np.abs(deviation).max(initial=0.0))
    return worst / scale if scale > 0 else worst


def _energy(run: Run | BodyRun, tolerance: float) -> Finding:
    energy = run.energy
    off = energy.balance - energy.balance[0]
    swing = energy.gravity - energy.gravity[0]
    value = _relative(off, energy.kinetic, swing, energy.springs, energy.work)
    return Finding("energy balance", value, tolerance, "of the largest energy or work; work is part of the state")


def kept_momenta(mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
    """Directions (k, 6) in which the spatial momentum of a system is kept: none if the ground holds or pushes it."""
    system = mechanism.system
    for joint in mechanism.tree.joints:
        if joint.parent == GROUND and (joint.kind != "free" or is_passive(joint)):
            return np.empty((0, 6))
    if isinstance(mechanism, ClosedMechanism):
        held = [joint.parent for joint in mechanism.split.cut]
        for constraint in system.constraints:
            held += getattr(constraint, "bodies", ())
        if GROUND in held:
            return np.empty((0, 6))
    for force in system.forces:
        if isinstance(force, Wrench) or (isinstance(force, Spring) and GROUND in force.bodies):
            return np.empty((0, 6))
        if not isinstance(force, Spring | Wrench) and system.joint(force.joint).parent == GROUND:
            return np.empty((0, 6))
    g = np.array(system.gravity)
    if not g.any():
        return np.eye(6)
    down = g / np.linalg.norm(g)
    across = np.linalg.svd(down[None])[2][1:]
    return np.concatenate([np.pad(down[None], ((0, 0), (0, 3))), np.pad(across, ((0, 0), (3, 0)))])


def _momenta(run: Run, tolerance: float) -> list[Finding]:
    kept = kept_momenta(run.mechanism)
    if not len(kept) or run.controls is not None:
        return []
    found = run.mechanism.momentum(run.q, run.v) @ kept.T
    parts = "all six components" if len(kept) == 6 else "about the vertical and along the horizontal"
    return [Finding("momentum", _relative(found - found[0], _momentum_of_parts(run)), tolerance, parts)]


def _momentum_of_parts(run: Run) -> np.ndarray:
    """Momenta of the bodies in space, their sizes added: what the total is the sum of, and may cancel to nothing."""
    poses, twists = run.mechanism.poses(run.q), run.mechanism.twists(run.q, run.v)
    inertia = np.array([body.spatial for body in run.mechanism.system.bodies])
    own = np.einsum("bij,...bj->...bi", inertia, twists)
    return np.abs(pose_group.AdT_apply(pose_group.inverse(poses), own)).sum(axis=-2)


def _violations(run: BodyRun | ClosedRun, limits: Mapping[str, float]) -> list[Finding]:
    """The joint that is violated most, at each level."""
    names = run.mechanism.constraint_names
    if not names:
        return []
    velocities = run.dynamics.split(run.solution.y)[1]
    position, speed = run.violations
    found = []
    for what, rows, limit in (("position", position, limits["position"]), ("velocity", speed, limits["velocity"])):
        worst = rows.max(axis=0)
        size = 1.0 if what == "position" else 1.0 + float(np.abs(velocities).max())
        note = f"largest at joint {names[int(np.argmax(worst))]!r}"
        found.append(Finding(f"joints, {what}", float(worst.max()) / size, limit, note))
    return found


def _group(run: Run | BodyRun, starts: np.ndarray, tolerance: float) -> list[Finding]:
    if not len(starts):
        return []
    squares = np.sum([run.solution.y[:, starts + k] ** 2 for k in range(4)], axis=0)
    return [Finding("distance from group", float(np.abs(np.sqrt(squares) - 1).max()), tolerance, "quaternions")]


def _error(run: Run | BodyRun, tolerance: float) -> Finding:
    """Error of the first stretch, by doing it again more accurately."""
    options, solution = run.options, run.solution
    inputs = run.controls
    if inputs is not None and not (inputs == inputs[0]).all():
        return Finding("error estimate", 0.0, None, "none: the input of a sampled controller jumps")
    last = min(len(run.t) - 1, STRETCH)
    if last < 1:
        return Finding("error estimate", 0.0, None, "none: no step was saved")
    span = (run.t[0], run.t[last])
    finer: dict[str, Any] = {"save": "final", "progress": False}
    if options["step"] is not None:
        finer["step"] = min(options["step"] / 2, abs(span[1] - span[0]))
        factor = 2.0**solution.method.order / (2.0**solution.method.order - 1)
        note = f"over t = {span[0]:g} to {span[1]:g} s, by halving the step"
    else:
        finer |= {"rtol": options["rtol"] / 100, "atol": options["atol"] / 100}
        factor, note = 1.0, f"over t = {span[0]:g} to {span[1]:g} s, by tolerances 100 times tighter"
    again = solve_motion(
        run.dynamics, solution.method, span, solution.y[0], None if inputs is None else inputs[0], **finer
    )
    q, v, _ = run.dynamics.split(again.y[-1])
    if isinstance(run, BodyRun):
        poses, velocities, _ = run.dynamics.split(solution.y)
        position = pose_group.log(pose_group.compose(pose_group.inverse(q), poses[last]))
    else:
        position, velocities = run.mechanism.difference(run.q[last], q), run.v
    value = factor * max(_relative(position, np.ones(1)), _relative(velocities[last] - v, velocities, np.ones(1)))
    return Finding("error estimate", value, tolerance, note)
