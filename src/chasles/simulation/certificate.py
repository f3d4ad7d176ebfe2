"""The verdict on a run: what an exact motion would keep, measured, with an estimate of the error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.force.build import is_passive
from chasles.integrate.run import whole_or_nothing
from chasles.lie import pose as pose_group
from chasles.model import shown
from chasles.model.body import GROUND
from chasles.model.constraint import CustomConstraint, Drive
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
    """One line of a certificate. `value` is relative to a size that `note` tells, or a `count`; without a tolerance it
    is for information only."""

    name: str
    value: float
    tolerance: float | None
    note: str = ""
    count: bool = False

    @property
    def shown(self) -> str:
        """The value in print; a dash for one that there is not."""
        if self.count:
            return f"{self.value:.0f}"
        return f"{self.value:.2e}" if self.tolerance is not None or self.value == self.value else "-"

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
        width = max((len(finding.name) for finding in self.findings), default=0)
        lines = [self.title]
        for finding in self.findings:
            limit = "" if finding.tolerance is None else f"<= {finding.tolerance:.0e}"
            line = f"  {finding.name:<{width}}  {finding.shown:>9}  {limit:9} {_mark(finding):6}  {finding.note}"
            lines.append(line.rstrip())
        verdict = "passed" if self.passed else "NOT passed"
        return "\n".join([*lines, f"  {self.ended}", f"  verdict: {verdict}"])

    def _repr_html_(self) -> str:
        rows = [
            (f.name, f.shown, "" if f.tolerance is None else f"{f.tolerance:.0e}", _mark(f), f.note)
            for f in self.findings
        ]
        colours = ["" if finding.passed else "#b00020" for finding in self.findings]
        verdict = f"verdict: {'passed' if self.passed else 'NOT passed'}"
        head = ("", "found", "allowed", "", "")
        return shown.page(self.title, shown.table(head, rows, colours), shown.lines([self.ended, verdict]))


def _mark(finding: Finding) -> str:
    return "" if finding.tolerance is None else "ok" if finding.passed else "FAILED"


def certify(run: Run | BodyRun, tolerances: Mapping[str, float] | None = None) -> Certificate:
    """The certificate of a run; `tolerances` changes some of TOLERANCES."""
    unknown = set(tolerances or ()) - set(TOLERANCES)
    if unknown:
        raise ValueError(f"certify: unknown tolerance {sorted(unknown)[0]!r}; there are {', '.join(TOLERANCES)}")
    limits = {**TOLERANCES, **(tolerances or {})}
    solution = run.solution
    ended = f"{solution.message}; {solution.steps} steps, {solution.rejections} rejected"
    title = f"certificate of {run.mechanism.system.name!r}"
    if not len(run):
        return Certificate(title, (), f"no point was saved: {ended}", False)
    if isinstance(run, BodyRun):
        findings = [
            _energy(run, limits["energy"]),
            *_violations(run, limits),
            *_redundant(run),
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
    return Certificate(title, tuple(findings), ended, solution.success)


def _largest(run: Run | BodyRun, quantities: Callable[[Any], Iterable[np.ndarray]]) -> list[np.ndarray]:
    """The largest sizes during the run of quantities (times, ...) that are computed a part of the run at a time."""
    found: list[np.ndarray] = []
    for part in run.parts():
        here = [np.abs(values).max(axis=0) for values in quantities(part)]
        found = [np.maximum(*pair) for pair in zip(found, here, strict=True)] if found else here
    return found


def _relative(deviation: np.ndarray, *sizes: np.ndarray) -> float:
    """Largest deviation over the largest size."""
    scale = max(float(np.abs(size).max(initial=0.0)) for size in sizes)
    worst = float(np.abs(deviation).max(initial=0.0))
    return worst / scale if scale > 0 else worst


def _energy(run: Run | BodyRun, tolerance: float) -> Finding:
    start = run.part(slice(0, 1)).energy

    def quantities(part: Run | BodyRun) -> Iterable[np.ndarray]:
        energy = part.energy
        swing = energy.gravity - start.gravity[0]
        return energy.balance - start.balance[0], energy.kinetic, swing, energy.springs, energy.work

    value = _relative(*_largest(run, quantities))
    moving = [item.name for item in run.mechanism.system.constraints if isinstance(item, Drive | CustomConstraint)]
    if moving and isinstance(run, ClosedRun):  # which counts the work of forces only
        return Finding("energy balance", value, None, f"not judged: {moving[0]!r} may do work that is not counted")
    return Finding(
        "energy balance", value, tolerance, "largest change, of the largest energy or work; work is part of the state"
    )


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
    if not len(kept) or run.controls is not None or not run.mechanism.bodies:
        return []

    def momenta(part: Run) -> np.ndarray:
        return part.mechanism.momentum(part.q, part.v) @ kept.T

    start = momenta(run.part(slice(0, 1)))[0]
    off, size = _largest(run, lambda part: (momenta(part) - start, _momentum_of_parts(part)))
    parts = "all six components" if len(kept) == 6 else "about the vertical and along the horizontal"
    return [Finding("momentum", _relative(off, size), tolerance, parts)]


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
    position, speed, velocities = _largest(
        run, lambda part: (*part.violations, part.dynamics.split(part.solution.y)[1])
    )
    found = []
    for what, worst, limit in (("position", position, limits["position"]), ("velocity", speed, limits["velocity"])):
        size = 1.0 if what == "position" else 1.0 + float(velocities.max(initial=0.0))
        note = f"largest at joint {names[int(np.argmax(worst))]!r}"
        found.append(Finding(f"joints, {what}", float(worst.max()) / size, limit, note))
    return found


def _redundant(run: BodyRun) -> list[Finding]:
    """Constraint equations that depend on others."""
    names = run.mechanism.redundant
    if not names:
        return []
    note = f"reactions are not unique: {', '.join(map(repr, names[:4]))}{', ...' if len(names) > 4 else ''}"
    return [Finding("redundant equations", float(run.mechanism.redundant_equations), None, note, count=True)]


def _group(run: Run | BodyRun, starts: np.ndarray, tolerance: float) -> list[Finding]:
    if not len(starts):
        return []

    def off(part: Run | BodyRun) -> np.ndarray:
        squares = np.sum([part.solution.y[:, starts + k] ** 2 for k in range(4)], axis=0)
        return np.sqrt(squares) - 1

    worst = _largest(run, lambda part: (off(part),))[0]
    return [Finding("distance from group", float(worst.max()), tolerance, "quaternions")]


def _error(run: Run | BodyRun, tolerance: float) -> Finding:
    """Error of the first stretch, by doing it again more accurately."""
    options, solution = run.options, run.solution
    inputs = run.controls
    if inputs is not None and _largest(run, lambda part: (part.controls - inputs[0],))[0].any():
        return Finding("error estimate", np.nan, None, "none: the input of a sampled controller jumps")
    last = min(len(run.t) - 1, STRETCH)
    if last < 1:
        return Finding("error estimate", np.nan, None, "none: no step was saved")
    span = (run.t[0], run.t[last])
    finer: dict[str, Any] = {"save": "final", "progress": False}
    if options["step"] is not None:
        finer["step"] = min(options["step"] / 2, abs(span[1] - span[0]))
        factor = 2.0**solution.method.order / (2.0**solution.method.order - 1)
        note = f"over t = {span[0]:g} to {span[1]:g} s, by halving the step"
    else:
        finer |= {"rtol": options["rtol"] / 100, "atol": options["atol"] / 100}
        factor, note = 1.0, f"over t = {span[0]:g} to {span[1]:g} s, by tolerances 100 times tighter"
    try:
        with whole_or_nothing():
            again = solve_motion(
                run.dynamics, solution.method, span, solution.y[0], None if inputs is None else inputs[0], **finer
            )
    except ArithmeticError as error:
        return Finding("error estimate", np.nan, tolerance, f"none: the repetition failed: {error}")
    if not again.success:
        return Finding("error estimate", np.nan, tolerance, f"none: the repetition {again.message}")
    q, v, _ = run.dynamics.split(again.y[-1])
    there, speed, _ = run.dynamics.split(np.array(solution.y[last]))
    if isinstance(run, BodyRun):
        position = pose_group.log(pose_group.compose(pose_group.inverse(q), there))
    else:
        position = run.mechanism.difference(there, q)
    largest = _largest(run, lambda part: (part.dynamics.split(part.solution.y)[1],))[0]
    value = factor * max(_relative(position, np.ones(1)), _relative(speed - v, largest, np.ones(1)))
    return Finding("error estimate", value, tolerance, note)
